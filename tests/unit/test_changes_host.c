/* Applying changes: times, links and owners on the host, and when it cannot be done, or not now. */
#include "tap.h"

#include <sys/file.h>

#include "changes_items.h"

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
    test_times();
    test_links();
    test_cancel();
    test_at_once();
    test_owner();
    test_full_disk(); /* last: it is in a mount namespace from there on */
    return done();
}
