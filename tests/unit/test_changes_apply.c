/* Applying changes: what is refused, what is done, by whom it is then owned, and what a race does. */
#include <sys/file.h>

#include "changes_tree.h"
#include "tap.h"

static const struct tree_item lower_items[] = {
    {"bytes", TREE_FILE, "old\n", 0},  {"mode", TREE_FILE, "mode", 0},
    {"gone", TREE_FILE, "gone", 0},    {"dir", TREE_DIR, NULL, 0},
    {"dir/in", TREE_FILE, "in", 0},    {"dir/out", TREE_FILE, "out", 0},
    {"all", TREE_DIR, NULL, 0},        {"all/a", TREE_FILE, "a", 0},
    {"all/b", TREE_HARD, "all/a", 0},  {"all/c", TREE_DIR, NULL, 0},
    {"all/c/d", TREE_LINK, "x", 0},    {"to_file", TREE_DIR, NULL, 0},
    {"to_file/a", TREE_FILE, "a", 0},  {"to_dir", TREE_FILE, "text", 0},
    {"to_link", TREE_DIR, NULL, 0},    {"to_link/a", TREE_FILE, "a", 0},
    {"link", TREE_LINK, "bytes", 0},   {"chmod", TREE_DIR, NULL, 0},
    {"untouched", TREE_FILE, "me", 0}, {NULL, 0, NULL, 0},
};

static const struct tree_item upper_items[] = {
    {"bytes", TREE_FILE, "new\n", 0},
    {"mode", TREE_FILE, "mode", 0755},
    {"gone", TREE_WHITEOUT, NULL, 0},
    {"dir", TREE_DIR, NULL, 0},
    {"dir/out", TREE_WHITEOUT, NULL, 0},
    {"dir/new", TREE_FILE, "new", 0600},
    {"all", TREE_WHITEOUT, NULL, 0},
    {"to_file", TREE_FILE, "file", 0},
    {"to_dir", TREE_DIR, NULL, 0},
    {"to_dir/sub", TREE_DIR, NULL, 0},
    {"to_dir/sub/in", TREE_FILE, "in", 0},
    {"to_link", TREE_LINK, "dir", 0},
    {"link", TREE_LINK, "dir/in", 0},
    {"chmod", TREE_DIR, NULL, 0700},
    {"new", TREE_DIR, NULL, 0},
    {"new/dir", TREE_DIR, NULL, 0700},
    {"new/dir/file", TREE_FILE, "x", 0755},
    {"new/link", TREE_LINK, "../bytes", 0},
    {NULL, 0, NULL, 0},
};

/* What the host then has. */
static const struct tree_item result_items[] = {
    {"bytes", TREE_FILE, "new\n", 0},
    {"mode", TREE_FILE, "mode", 0755},
    {"dir", TREE_DIR, NULL, 0},
    {"dir/in", TREE_FILE, "in", 0},
    {"dir/new", TREE_FILE, "new", 0600},
    {"to_file", TREE_FILE, "file", 0},
    {"to_dir", TREE_DIR, NULL, 0},
    {"to_dir/sub", TREE_DIR, NULL, 0},
    {"to_dir/sub/in", TREE_FILE, "in", 0},
    {"to_link", TREE_LINK, "dir", 0},
    {"link", TREE_LINK, "dir/in", 0},
    {"chmod", TREE_DIR, NULL, 0700},
    {"untouched", TREE_FILE, "me", 0},
    {"new", TREE_DIR, NULL, 0},
    {"new/dir", TREE_DIR, NULL, 0700},
    {"new/dir/file", TREE_FILE, "x", 0755},
    {"new/link", TREE_LINK, "../bytes", 0},
    {NULL, 0, NULL, 0},
};

/* Trees are made and changes kept; true if so. */
static bool prepare(struct ground *ground, const struct tree_item *lower,
                    const struct tree_item *upper)
{
    struct changes changes;
    struct err err = {0};

    return ok(ground_init(ground, lower) && make_tree(ground->upper, upper) &&
                  keep(ground, NULL, &changes, &err) == 0 && changes.kept,
              "changes are kept%s", err.message);
}

static bool is_result(struct ground *ground, const struct tree_item *items)
{
    _cleanup_(buf_release) struct buf expected;
    char path[80];

    (void) snprintf(path, sizeof(path), "%s/expected", ground->base);
    if (mkdir(path, 0755) < 0 || !make_tree(path, items))
        return false;
    tree_text(path, &expected);
    remove_tree(AT_FDCWD, path);
    return same_tree(ground->lower, &expected);
}

static bool refuses(const struct changes_outcome *outcome, const char *path,
                    enum change_refusal why)
{
    for (size_t i = 0; i < outcome->n_listed; i++)
        if (strcmp(outcome->refused[i].change.path, path) == 0)
            return outcome->refused[i].why == why;
    return false;
}

static enum changes_state state_of(struct ground *ground)
{
    struct changes changes = {.state = CHANGES_STATES};
    struct err err;

    (void) changes_load(ground->state, RUN_ID, ground->arena, &changes, &err); /* then it is none */
    return changes.state;
}

static void test_all(void)
{
    _cleanup_(ground_release) struct ground ground;
    struct changes_outcome outcome = {0};
    struct err err = {0};
    char path[256];
    struct stat st;

    if (!prepare(&ground, lower_items, upper_items))
        return;
    ok(apply(&ground, NULL, &outcome, &err) == 0 && outcome.done && outcome.n_refused == 0,
       "changes of every kind are applied%s", err.message);
    ok(is_result(&ground, result_items), "and the host has what the guest had");
    ok(state_of(&ground) == CHANGES_APPLIED, "that they are applied is on record");
    (void) snprintf(path, sizeof(path), "%s/changes/" RUN_ID "/files", ground.state);
    ok(stat(path, &st) < 0, "and the copy is gone");
    uint64_t applied = outcome.n_applied;
    ok(apply(&ground, NULL, &outcome, &err) == 0 && outcome.done && outcome.n_applied == 0 &&
           outcome.n_already == applied,
       "who asks again is told so");
}

/* ---- refused --------------------------------------------------------------------------------- */

static const struct tree_item bad_lower[] = {{"d", TREE_DIR, NULL, 0},
                                             {"d/a", TREE_FILE, "a", 0},
                                             {".git", TREE_DIR, NULL, 0},
                                             {".git/hooks", TREE_DIR, NULL, 0},
                                             {".git/hooks/a", TREE_FILE, "a", 0},
                                             {".git/HEAD", TREE_FILE, "a", 0},
                                             {NULL, 0, NULL, 0}};
static const struct tree_item bad_upper[] = {{"good", TREE_FILE, "good", 0},
                                             {"fifo", TREE_FIFO, NULL, 0},
                                             {"setuid", TREE_FILE, "x", 04755},
                                             {"out", TREE_LINK, "/etc/passwd", 0},
                                             {".envrc", TREE_FILE, "x", 0},
                                             {".vscode", TREE_DIR, NULL, 0},
                                             {".vscode/tasks.json", TREE_FILE, "{}", 0},
                                             {".git", TREE_WHITEOUT, NULL, 0},
                                             {NULL, 0, NULL, 0}};

static void check_refusals(const struct changes_outcome *outcome)
{
    ok(refuses(outcome, "fifo", REFUSAL_SPECIAL), "a fifo is refused");
    ok(refuses(outcome, "setuid", REFUSAL_SETUID), "a setuid file is refused");
    ok(refuses(outcome, "out", REFUSAL_SYMLINK), "a symlink that leads out is refused");
    ok(refuses(outcome, ".envrc", REFUSAL_PROTECTED), "a protected name is refused");
    ok(refuses(outcome, ".vscode/tasks.json", REFUSAL_PROTECTED), "and all in it");
    ok(refuses(outcome, ".git/hooks/a", REFUSAL_PROTECTED), "and taking it away");
    ok(refuses(outcome, ".git", REFUSAL_PROTECTED), "and what would take it along");
}

static void test_refusals(void)
{
    static const struct changes_options skip_them = {.skip_refused = true};
    static const char *const names[] = {".envrc", ".vscode", NULL};
    static const struct changes_options named = {.unprotected = names, .skip_refused = true};
    _cleanup_(ground_release) struct ground ground, again;
    _cleanup_(buf_release) struct buf before;
    struct changes_outcome outcome = {0};
    struct err err = {0};
    struct stat st;
    char path[128];

    if (!prepare(&ground, bad_lower, bad_upper))
        return;
    tree_text(ground.lower, &before);
    ok(apply(&ground, NULL, &outcome, &err) == 0 && !outcome.done && outcome.n_refused > 0,
       "what is refused is no failure%s", err.message);
    check_refusals(&outcome);
    ok(same_tree(ground.lower, &before), "with it, nothing is applied");
    ok(state_of(&ground) == CHANGES_KEPT, "and all is kept");
    ok(apply(&ground, &skip_them, &outcome, &err) == 0 && outcome.done && outcome.n_refused > 0,
       "the rest is, if asked for%s", err.message);
    (void) snprintf(path, sizeof(path), "%s/good", ground.lower);
    ok(stat(path, &st) == 0, "what is good is there");
    (void) snprintf(path, sizeof(path), "%s/.envrc", ground.lower);
    ok(stat(path, &st) < 0, "what is refused is not");
    (void) snprintf(path, sizeof(path), "%s/.git/hooks/a", ground.lower);
    ok(stat(path, &st) == 0, "nor is removed what is protected");
    if (!prepare(&again, bad_lower, bad_upper))
        return;
    ok(apply(&again, &named, &outcome, &err) == 0 && outcome.done &&
           !refuses(&outcome, ".envrc", REFUSAL_PROTECTED) &&
           refuses(&outcome, ".git/hooks/a", REFUSAL_PROTECTED),
       "a protected name is applied if it is named, and no other%s", err.message);
    (void) snprintf(path, sizeof(path), "%s/.vscode/tasks.json", again.lower);
    ok(stat(path, &st) == 0, "and so is what lies in it");
}

/* ---- the host changes ------------------------------------------------------------------------ */

static bool change_host(struct ground *ground, const char *command)
{
    char text[256];

    (void) snprintf(text, sizeof(text), "cd %s && %s", ground->lower, command);
    return system(text) == 0; /* NOLINT(cert-env33-c): a command of the test's own */
}

static void test_races(void)
{
    static const struct {
        const char *sentence, *command, *path;
    } races[] = {
        {"a file that got other bytes is refused", "echo x > bytes", "bytes"},
        {"a file that got another mode is refused", "chmod 600 bytes", "bytes"},
        {"a file that was touched is refused", "touch mode", "mode"},
        {"a file that was replaced is refused", "cp bytes b2 && mv b2 bytes", "bytes"},
        {"a file to delete that was written to is refused", "echo x > gone", "gone"},
        {"a file in a directory to delete that was written to is refused", "echo x >> all/a",
         "all/a"},
        {"a directory to delete that has something new is refused", "touch all/c/new", "all/c"},
        {"a directory to replace that has something new is refused", "touch to_file/n", "to_file"},
        {"a name that is taken meanwhile is refused", "mkdir new && touch new/dir", "new/dir"},
        {"a directory that was made meanwhile, with another mode, is refused", "mkdir -m 711 new",
         "new"},
        {"a file that is gone is refused", "rm bytes", "bytes"},
        {"a directory that is gone is refused", "rm -r dir", "dir/new"},
        {"a directory that became a symlink is refused",
         "mv dir /tmp/x$$ && ln -s /tmp dir; rm -r "
         "/tmp/x$$",
         "dir/new"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(races); i++) {
        _cleanup_(ground_release) struct ground ground;
        _cleanup_(buf_release) struct buf before;
        struct changes_outcome outcome = {0};
        struct err err = {0};
        if (!prepare(&ground, lower_items, upper_items))
            return;
        bool changed = change_host(&ground, races[i].command);
        tree_text(ground.lower, &before);
        ok(changed && apply(&ground, NULL, &outcome, &err) == 0 && !outcome.done &&
               refuses(&outcome, races[i].path, REFUSAL_CHANGED) &&
               same_tree(ground.lower, &before),
           "%s%s", races[i].sentence, err.message);
    }
}

static void test_already(void)
{
    _cleanup_(ground_release) struct ground ground;
    struct changes_outcome outcome = {0};
    struct err err = {0};

    if (!prepare(&ground, lower_items, upper_items))
        return;
    ok(change_host(&ground, "echo new > bytes && rm gone && chmod 755 mode && mkdir -m 755 new && "
                            "ln -s ../bytes new/link && rm -r all"),
       "the host does the same by itself");
    ok(apply(&ground, NULL, &outcome, &err) == 0 && outcome.done && outcome.n_already == 10,
       "what is so already is no conflict%s", err.message);
    ok(is_result(&ground, result_items), "and the rest is applied");
}

static void test_other_directory(void)
{
    _cleanup_(ground_release) struct ground ground;
    struct changes_outcome outcome = {0};
    struct err err = {0};
    char away[128];

    if (!prepare(&ground, lower_items, upper_items))
        return;
    (void) snprintf(away, sizeof(away), "%s/away", ground.base);
    ok(rename(ground.lower, away) == 0 && mkdir(ground.lower, 0755) == 0 &&
           apply(&ground, NULL, &outcome, &err) < 0 && err.code == ERR_DENIED,
       "another directory in its place gets nothing: %s", err.message);
    ok(rmdir(ground.lower) == 0 && symlink("away", ground.lower) == 0 &&
           apply(&ground, NULL, &outcome, &err) == 0 && outcome.done,
       "the same one behind the owner's symlink does");
    (void) snprintf(ground.lower, sizeof(ground.lower), "%s/away", ground.base); /* fits */
    ok(is_result(&ground, result_items), "as it is found there");
}

static void test_symlink_inside(void)
{
    static const struct tree_item lower[] = {{"d", TREE_DIR, NULL, 0}, {NULL, 0, NULL, 0}};
    static const struct tree_item upper[] = {
        {"d", TREE_DIR, NULL, 0}, {"d/file", TREE_FILE, "x", 0}, {NULL, 0, NULL, 0}};
    static const struct changes_options skip_them = {.skip_refused = true};
    _cleanup_(ground_release) struct ground ground;
    struct changes_outcome outcome = {0};
    struct err err = {0};
    char path[128];
    struct stat st;

    if (!prepare(&ground, lower, upper))
        return;
    ok(change_host(&ground, "rmdir d && mkdir ../outside && ln -s ../outside d"),
       "the directory becomes a symlink that leads out");
    ok(apply(&ground, &skip_them, &outcome, &err) == 0 && outcome.n_refused == 1,
       "nothing is written through it%s", err.message);
    (void) snprintf(path, sizeof(path), "%s/outside/file", ground.base);
    ok(stat(path, &st) < 0, "and so outside is as it was");
}

/* ---- skipping -------------------------------------------------------------------------------- */

static void test_skip_around(void)
{
    static const struct changes_options skip_them = {.skip_refused = true};
    _cleanup_(ground_release) struct ground ground;
    struct changes_outcome outcome = {0};
    struct err err = {0};

    if (!prepare(&ground, lower_items, upper_items))
        return;
    ok(change_host(&ground, "echo x >> all/c/../a && mkdir -m 711 new"), "the host changes");
    ok(apply(&ground, &skip_them, &outcome, &err) == 0 && outcome.done &&
           refuses(&outcome, "all/a", REFUSAL_CHANGED),
       "a file in a directory to delete is left out%s", err.message);
    ok(refuses(&outcome, "all", REFUSAL_BELOW), "and so is the directory, for it");
    ok(refuses(&outcome, "new", REFUSAL_CHANGED) &&
           refuses(&outcome, "new/dir/file", REFUSAL_ABOVE),
       "what lies in a directory that is left out is left out, too");
    ok(change_host(&ground, "test ! -e all/c && test -e all/a && test ! -e new/dir"),
       "the rest of it is done");
}

/* ---- as it should be ------------------------------------------------------------------------- */

static void test_times(void)
{
    static const struct tree_item upper[] = {
        {"old", TREE_FILE, "x", 0}, {"new", TREE_FILE, "x", 0}, {NULL, 0, NULL, 0}};
    const struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    _cleanup_(ground_release) struct ground ground;
    struct changes_outcome outcome = {0};
    struct changes changes;
    struct err err = {0};
    struct stat old, before, after;
    char path[128];

    if (!ok(ground_init(&ground, NULL) && make_tree(ground.upper, upper), "the trees are made"))
        return;
    (void) snprintf(path, sizeof(path), "%s/old", ground.upper);
    ok(utimensat(AT_FDCWD, path, times, 0) == 0, "the guest sets a time long ago");
    (void) snprintf(path, sizeof(path), "%s/new", ground.upper);
    bool seen = stat(path, &before) == 0 && keep(&ground, NULL, &changes, &err) == 0 &&
                apply(&ground, NULL, &outcome, &err) == 0;
    (void) snprintf(path, sizeof(path), "%s/new", ground.lower);
    ok(seen && stat(path, &after) == 0 && after.st_mtim.tv_sec == before.st_mtim.tv_sec &&
           after.st_mtim.tv_nsec == before.st_mtim.tv_nsec,
       "a file has the time that the guest gave it%s", err.message);
    (void) snprintf(path, sizeof(path), "%s/old", ground.lower);
    ok(stat(path, &old) == 0 && (uint64_t) old.st_mtim.tv_sec == ground.started_ns / NS_PER_S,
       "but none from before its run");
}

static void test_links(void)
{
    static const struct tree_item lower[] = {{"a", TREE_FILE, "text", 0},
                                             {"b", TREE_HARD, "a", 0},
                                             {"c", TREE_HARD, "a", 0},
                                             {NULL, 0, NULL, 0}};
    static const struct tree_item upper[] = {{"a", TREE_FILE, "text", 0755},
                                             {"d", TREE_FILE, "new", 0},
                                             {"e", TREE_HARD, "d", 0},
                                             {NULL, 0, NULL, 0}};
    static const struct tree_item result[] = {
        {"a", TREE_FILE, "text", 0755}, {"b", TREE_FILE, "text", 0}, {"c", TREE_FILE, "text", 0},
        {"d", TREE_FILE, "new", 0},     {"e", TREE_FILE, "new", 0},  {NULL, 0, NULL, 0}};
    _cleanup_(ground_release) struct ground ground;
    struct changes_outcome outcome = {0};
    struct err err = {0};

    if (!prepare(&ground, lower, upper))
        return;
    ok(apply(&ground, NULL, &outcome, &err) == 0 && outcome.done && is_result(&ground, result),
       "a mode that one name of a file got is not that of its other names%s", err.message);
}

static bool stop_at(void *data)
{
    return --*(int *) data < 0;
}

static void test_cancel(void)
{
    _cleanup_(ground_release) struct ground ground;
    _cleanup_(buf_release) struct buf before;
    struct changes_outcome outcome = {0};
    bool as_it_was = true, done = false;

    if (!prepare(&ground, lower_items, upper_items))
        return;
    tree_text(ground.lower, &before);
    for (int step = 0; step < 1000 && as_it_was && !done; step++) {
        int left = step;
        struct err err = {0};
        struct changes_options options = {.is_cancelled = stop_at, .data = &left};
        done = apply(&ground, &options, &outcome, &err) == 0;
        as_it_was = done || (same_tree(ground.lower, &before) && state_of(&ground) == CHANGES_KEPT);
    }
    ok(done && as_it_was, "wherever it is cancelled, the host is as it was");
    ok(is_result(&ground, result_items), "until it is not cancelled");
}

static void test_at_once(void)
{
    _cleanup_(ground_release) struct ground ground;
    struct changes_outcome outcome = {0};
    enum changes_state was;
    struct err err = {0};
    char path[256];

    if (!prepare(&ground, lower_items, upper_items))
        return;
    (void) snprintf(path, sizeof(path), "%s/changes/" RUN_ID, ground.state);
    _cleanup_fd_ int other = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ok(flock(other, LOCK_EX) == 0 && apply(&ground, NULL, &outcome, &err) < 0 &&
           err.code == ERR_HOST,
       "while another one applies them, they are not applied: %s", err.message);
    ok(changes_discard(ground.state, RUN_ID, ground.arena, &was, &err) < 0, "nor discarded: %s",
       err.message);
    ok(flock(other, LOCK_UN) == 0 && apply(&ground, NULL, &outcome, &err) == 0 && outcome.done,
       "afterwards they are");
}

static void test_owner(void)
{
    static const struct tree_item lower[] = {{"d", TREE_DIR, NULL, 02775},
                                             {"d/mine", TREE_FILE, "x", 0},
                                             {"d/yours", TREE_FILE, "x", 0},
                                             {NULL, 0, NULL, 0}};
    static const struct tree_item upper[] = {{"d", TREE_DIR, NULL, 02775},
                                             {"d/mine", TREE_FILE, "y", 0},
                                             {"d/yours", TREE_FILE, "y", 0},
                                             {"d/new", TREE_DIR, NULL, 0},
                                             {"d/new/file", TREE_FILE, "", 0},
                                             {"d/new/link", TREE_LINK, "file", 0},
                                             {NULL, 0, NULL, 0}};
    static const struct {
        const char *path;
        uid_t uid;
    } owners[] = {{"d/mine", 4242},
                  {"d/yours", 4343},
                  {"d/new", 4242},
                  {"d/new/file", 4242},
                  {"d/new/link", 4242}};
    _cleanup_(ground_release) struct ground ground;
    struct changes_outcome outcome = {0};
    struct changes changes;
    struct err err = {0};
    struct stat st;

    if (geteuid() != 0) {
        skip("only root gives files away");
        return;
    }
    if (!ok(ground_init(&ground, lower) && make_tree(ground.upper, upper), "the trees are made"))
        return;
    _cleanup_fd_ int root = open(ground.lower, O_PATH | O_DIRECTORY | O_CLOEXEC);
    ok(fchownat(root, "d", 4242, 4242, 0) == 0 && fchownat(root, "d/mine", 4242, 4242, 0) == 0 &&
           fchownat(root, "d/yours", 4343, 4343, 0) == 0 && fchmodat(root, "d", 02775, 0) == 0,
       "the host's directory is somebody else's");
    ground_start(&ground);
    ok(keep(&ground, NULL, &changes, &err) == 0 && apply(&ground, NULL, &outcome, &err) == 0 &&
           outcome.done,
       "root applies to it%s", err.message);
    for (size_t i = 0; i < ARRAY_SIZE(owners); i++)
        ok(fstatat(root, owners[i].path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
               st.st_uid == owners[i].uid && st.st_gid == owners[i].uid,
           "%s belongs to %u", owners[i].path, owners[i].uid);
    ok(fstatat(root, "d/new", &st, 0) == 0 && (st.st_mode & 07777) == 02755,
       "a new directory has the setgid bit of the one above");
}

static void test_full_disk(void)
{
    static const struct tree_item lower[] = {{"a", TREE_FILE, "old", 0}, {NULL, 0, NULL, 0}};
    static const struct tree_item upper[] = {{"a", TREE_FILE, "new", 0},
                                             {"b", TREE_DIR, NULL, 0},
                                             {"b/c", TREE_DIR, NULL, 0},
                                             {NULL, 0, NULL, 0}};
    _cleanup_(ground_release) struct ground ground;
    _cleanup_(buf_release) struct buf before;
    struct changes_outcome outcome = {0};
    struct changes changes;
    struct err err = {0};
    char path[128], big[65536];

    memset(big, 'x', sizeof(big) - 1);
    big[sizeof(big) - 1] = '\0';
    if (!ok(ground_init(&ground, NULL) && make_tree(ground.upper, upper), "the trees are made"))
        return;
    (void) snprintf(path, sizeof(path), "%s/b/c/big", ground.upper);
    ok(make_file(AT_FDCWD, path, big, 0), "the guest writes a large file");
    if (!(geteuid() == 0 ? unshare(CLONE_NEWNS) == 0 : enter_namespaces()) ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("tmpfs", ground.lower, "tmpfs", 0, "size=32k,mode=0755") < 0) {
        skip("no small file system can be mounted here");
        return;
    }
    ok(make_tree(ground.lower, lower), "the host's directory is nearly full");
    ground_start(&ground);
    tree_text(ground.lower, &before);
    ok(keep(&ground, NULL, &changes, &err) == 0 && apply(&ground, NULL, &outcome, &err) < 0 &&
           err.errnum == ENOSPC,
       "what does not fit is not applied: %s", err.message);
    ok(same_tree(ground.lower, &before) && state_of(&ground) == CHANGES_KEPT,
       "the host is as it was");
    ok(mount(NULL, ground.lower, NULL, MS_REMOUNT, "size=1m") == 0 &&
           apply(&ground, NULL, &outcome, &err) == 0 && outcome.done,
       "with more room it is");
    (void) umount2(ground.lower, MNT_DETACH); /* or the namespace's end does it */
}

int main(void)
{
    (void) umask(022); /* cannot fail */
    test_all();
    test_refusals();
    test_races();
    test_already();
    test_other_directory();
    test_symlink_inside();
    test_skip_around();
    test_times();
    test_links();
    test_cancel();
    test_at_once();
    test_owner();
    test_full_disk(); /* last: it is in a mount namespace from there on */
    return done();
}
