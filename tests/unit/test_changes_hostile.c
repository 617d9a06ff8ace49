/* Keeping changes: any name, mode, depth, size and number that a guest can leave. */
#include "tap.h"

#include "changes_words.h"

static void test_names(void)
{
    static const struct tree_item upper[] = {
        {"new\nline", TREE_FILE, "a", 0},
        {"\xff\xfe", TREE_FILE, "b", 0},
        {"\x1b[31m", TREE_FILE, "c", 0},
        {"\"quoted\" \\", TREE_FILE, "d", 0},
        {"-rf", TREE_FILE, "e", 0},
        {"link", TREE_LINK, "\xff\x1b", 0},
        {NULL, 0, NULL, 0},
    };

    test_table("any name is kept, and read again", NULL, upper,
               "added file \"\\033[31m\" 0644 content\n"
               "added file \"\\\"quoted\\\" \\\\\" 0644 content\n"
               "added file -rf 0644 content\n"
               "added symlink link -> \xff\x1b\n"
               "added file \"new\\nline\" 0644 content\n"
               "added file \"\\377\\376\" 0644 content\n");
}

static void test_modes(void)
{
    static const struct tree_item lower[] = {{"same", TREE_FILE, "text", 0400}, {NULL, 0, NULL, 0}};
    static const struct tree_item upper[] = {
        {"d", TREE_DIR, NULL, 0},        {"d/e", TREE_DIR, NULL, 0},
        {"d/e/f", TREE_FILE, "deep", 0}, {"d/e/g", TREE_HARD, "d/e/f", 0},
        {"same", TREE_FILE, "text", 0},  {NULL, 0, NULL, 0},
    };
    static const char *const shut[] = {"d/e/f", "d/e", "d", "same", "."};
    _cleanup_(ground_release) struct ground ground;
    struct changes changes;
    struct err err = {0};

    if (!ok(ground_init(&ground, lower) && make_tree(ground.upper, upper), "the trees are made"))
        return;
    _cleanup_fd_ int root = open(ground.upper, O_PATH | O_DIRECTORY | O_CLOEXEC);
    for (size_t i = 0; i < ARRAY_SIZE(shut); i++)
        if (fchmodat(root, shut[i], 0, 0) < 0)
            ok(false, "%s is shut", shut[i]);
    ok(keep_layer(&ground, root, NULL, &changes, &err) == 0 &&
           is_described(&changes, ground.arena,
                        "added directory d 0700\n"
                        "added directory d/e 0700\n"
                        "added file d/e/f 0000 content\n"
                        "added file d/e/g 0000 content\n"
                        "changed file same 0000\n"),
       "what the guest shut is read, with the modes it gave%s", err.message);
}

/* Returns how deep it came. */
static int dig(int root, const char *name, int levels)
{
    int fd = dup(root), depth = 0;

    for (; fd >= 0 && depth < levels; depth++) {
        int next = mkdirat(fd, name, 0755) < 0 ? -1 : openat(fd, name, O_RDONLY | O_DIRECTORY);
        (void) close(fd); /* only entered */
        fd = next;
    }
    if (fd >= 0)
        (void) close(fd); /* as above */
    return depth;
}

static void test_depth(const char *sentence, const char *name, int levels, bool in_lower)
{
    static const struct tree_item whiteout[] = {{"a", TREE_WHITEOUT, NULL, 0}, {NULL, 0, NULL, 0}};
    _cleanup_(ground_release) struct ground ground;
    struct changes changes;
    struct err err = {0};

    if (!ok(ground_init(&ground, NULL), "the trees are made"))
        return;
    _cleanup_fd_ int root = open(in_lower ? ground.lower : ground.upper, O_RDONLY | O_DIRECTORY);
    ok(dig(root, name, levels) == levels, "%d directories lie in each other", levels);
    if (in_lower)
        ok(make_tree(ground.upper, whiteout), "and the guest removes them all");
    ground_start(&ground);
    ok(keep(&ground, NULL, &changes, &err) == 0 && changes.n_refused == 1 &&
           changes_total(&changes) < (uint64_t) levels &&
           changes.entries[in_lower ? 0 : changes.n_entries - 1].refused == REFUSAL_DEPTH,
       "%s%s", sentence, err.message);
}

static void test_depths(void)
{
    char name[201] = "";

    memset(name, 'n', sizeof(name) - 1);
    test_depth("a walk ends before it is too deep, and says so", "a", 2000, false);
    test_depth("a walk ends before its path is too long, and says so", name, 100, false);
    test_depth("so it does in the host's directory", "a", 2000, true);
}

static bool make_sparse(const char *folder, const char *name, off_t size)
{
    _cleanup_fd_ int root = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _cleanup_fd_ int fd = openat(root, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

    return fd >= 0 && ftruncate(fd, size) == 0 && pwrite(fd, "end", 3, size - 3) == 3 &&
           pwrite(fd, "mid", 3, size / 2) == 3;
}

static void test_sparse(void)
{
    const off_t size = (off_t) 1 << 30;
    _cleanup_(ground_release) struct ground ground;
    struct changes changes;
    struct err err = {0};
    char path[256];
    struct stat st = {0};

    if (!ok(ground_init(&ground, NULL) && make_sparse(ground.upper, "big", size),
            "the guest leaves a file of holes"))
        return;
    ok(keep(&ground, NULL, &changes, &err) == 0 && changes.bytes == (uint64_t) size,
       "its size counts%s", err.message);
    (void) snprintf(path, sizeof(path), "%s/changes/" RUN_ID "/files/0", ground.state);
    ok(stat(path, &st) == 0 && st.st_size == size && st.st_blocks * 512 < 1024 * 1024,
       "and its holes take no room");
}

static void test_limits(void)
{
    static const struct tree_item upper[] = {{"a", TREE_FILE, "1234567890", 0},
                                             {"b", TREE_HARD, "a", 0},
                                             {"c", TREE_HARD, "a", 0},
                                             {NULL, 0, NULL, 0}};
    struct changes_limits limits = changes_default_limits;
    _cleanup_(ground_release) struct ground ground;
    struct changes changes;
    struct err err = {0};
    char path[256];
    struct stat st;

    if (!ok(ground_init(&ground, NULL) && make_tree(ground.upper, upper), "the trees are made"))
        return;
    limits.max_entries = 2;
    ok(keep(&ground, &limits, &changes, &err) < 0 && err.code == ERR_TOO_LARGE,
       "too many changes are not kept: %s", err.message);
    limits.max_entries = 3;
    limits.max_bytes = 29;
    ok(keep(&ground, &limits, &changes, &err) < 0 && err.code == ERR_TOO_LARGE,
       "nor too many bytes, and each name of a file counts: %s", err.message);
    (void) snprintf(path, sizeof(path), "%s/changes/" RUN_ID, ground.state);
    ok(stat(path, &st) < 0, "nothing is left of either");
    (void) snprintf(path, sizeof(path), "%s/changes/tmp", ground.state);
    ok(rmdir(path) == 0, "nor where they are written");
    limits.max_bytes = 30;
    err = (struct err){0};
    ok(keep(&ground, &limits, &changes, &err) == 0 && changes.kept, "up to the limits they are%s",
       err.message);
    ok(keep(&ground, NULL, &changes, &err) < 0, "a run's are kept once: %s", err.message);
}

static void test_nowhere(void)
{
    static const struct tree_item upper[] = {{"a", TREE_FILE, "a", 0}, {NULL, 0, NULL, 0}};
    _cleanup_(ground_release) struct ground ground;
    struct changes changes;
    struct err err = {0};

    if (!ok(ground_init(&ground, NULL) && make_tree(ground.upper, upper), "the trees are made"))
        return;
    _cleanup_fd_ int fd = open(ground.upper, O_PATH | O_DIRECTORY | O_CLOEXEC);
    _cleanup_fd_ int lower = open(ground.lower, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct changes_source source = {fd, lower, ground.lower, "/ws"};
    ok(changes_keep(NULL, RUN_ID, &source, 1, 0, NULL, ground.arena, &changes, &err) < 0 &&
           strstr(err.hint, "WASP_STATE_DIR"),
       "without a state folder the error says what to set: %s", err.hint);
    ok(changes_keep(ground.state, "../../etc", &source, 1, 0, NULL, ground.arena, &changes, &err) <
               0 &&
           err.code == ERR_REQUEST,
       "a run id that is none is refused: %s", err.message);
}

int main(void)
{
    (void) umask(022); /* cannot fail */
    test_names();
    test_modes();
    test_depths();
    test_sparse();
    test_limits();
    test_nowhere();
    return done();
}
