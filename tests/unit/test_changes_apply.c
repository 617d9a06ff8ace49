/* Applying changes: what is refused, what is done, and what a race does. */
#include "tap.h"

#include "changes_items.h"

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
    return done();
}
