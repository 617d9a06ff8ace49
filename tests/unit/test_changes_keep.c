/* Keeping changes: what a guest left in its layer against what the host has. */
#include "tap.h"

#include "changes_words.h"

/* ---- what is a change ------------------------------------------------------------------------ */

static void test_plain(void)
{
    static const struct tree_item lower[] = {
        {"same", TREE_FILE, "same", 0},      {"bytes", TREE_FILE, "old", 0},
        {"longer", TREE_FILE, "old", 0},     {"mode", TREE_FILE, "mode", 0},
        {"gone", TREE_FILE, "gone", 0},      {"gone2", TREE_FILE, "gone", 0},
        {"link", TREE_LINK, "same", 0},      {"link2", TREE_LINK, "same", 0},
        {"dir", TREE_DIR, NULL, 0},          {"dir/in", TREE_FILE, "in", 0},
        {"dir/out", TREE_FILE, "out", 0},    {"chmod", TREE_DIR, NULL, 0},
        {"hard", TREE_FILE, "hard", 0},      {"hard2", TREE_HARD, "hard", 0},
        {"untouched", TREE_FILE, "text", 0}, {NULL, 0, NULL, 0},
    };
    static const struct tree_item upper[] = {
        {"same", TREE_FILE, "same", 0},      {"bytes", TREE_FILE, "new", 0},
        {"longer", TREE_FILE, "longer", 0},  {"mode", TREE_FILE, "mode", 0755},
        {"gone", TREE_WHITEOUT, NULL, 0},    {"gone2", TREE_MARKED, NULL, 0},
        {"never", TREE_WHITEOUT, NULL, 0},   {"link", TREE_LINK, "same", 0},
        {"link2", TREE_LINK, "dir/in", 0},   {"dir", TREE_DIR, NULL, 0},
        {"dir/out", TREE_WHITEOUT, NULL, 0}, {"dir/new", TREE_FILE, "new", 0600},
        {"chmod", TREE_DIR, NULL, 0700},     {"hard", TREE_FILE, "hard", 0755},
        {"new", TREE_DIR, NULL, 0},          {"new/link", TREE_LINK, "../same", 0},
        {"new/empty", TREE_FILE, "", 0},     {NULL, 0, NULL, 0},
    };

    test_table("added, changed and deleted are told apart, and what is the same is left out", lower,
               upper,
               "changed file bytes 0644 content\n"
               "changed directory chmod 0700\n"
               "added file dir/new 0600 content\n"
               "deleted file dir/out\n"
               "deleted file gone\n"
               "deleted file gone2\n"
               "changed file hard 0755 content\n"
               "changed symlink link2 -> dir/in\n"
               "changed file longer 0644 content\n"
               "changed file mode 0755\n"
               "added directory new 0755\n"
               "added file new/empty 0644 content\n"
               "added symlink new/link -> ../same\n");
}

static void test_directories(void)
{
    static const struct tree_item lower[] = {
        {"all", TREE_DIR, NULL, 0},
        {"all/a", TREE_FILE, "a", 0},
        {"all/b", TREE_DIR, NULL, 0},
        {"all/b/c", TREE_FILE, "c", 0},
        {"opaque", TREE_DIR, NULL, 0},
        {"opaque/a", TREE_FILE, "a", 0},
        {"opaque/b", TREE_FILE, "b", 0},
        {"opaque/c", TREE_DIR, NULL, 0},
        {"opaque/c/d", TREE_FILE, "d", 0},
        {"to_file", TREE_DIR, NULL, 0},
        {"to_file/a", TREE_FILE, "a", 0},
        {"to_dir", TREE_FILE, "text", 0},
        {"to_link", TREE_DIR, NULL, 0},
        {"file_to_link", TREE_FILE, "text", 0},
        {NULL, 0, NULL, 0},
    };
    static const struct tree_item upper[] = {
        {"all", TREE_WHITEOUT, NULL, 0},
        {"opaque", TREE_DIR, NULL, 0},
        {"opaque", TREE_OPAQUE, NULL, 0},
        {"opaque/a", TREE_FILE, "a", 0},
        {"opaque/new", TREE_FILE, "new", 0},
        {"to_file", TREE_FILE, "now a file", 0},
        {"to_dir", TREE_DIR, NULL, 0},
        {"to_dir/in", TREE_FILE, "in", 0},
        {"to_link", TREE_LINK, "to_dir", 0},
        {"file_to_link", TREE_LINK, "to_dir", 0},
        {NULL, 0, NULL, 0},
    };

    test_table("a directory that goes is told with all in it, innermost first", lower, upper,
               "deleted file all/a\n"
               "deleted file all/b/c\n"
               "deleted directory all/b\n"
               "deleted directory all\n"
               "changed symlink file_to_link -> to_dir\n"
               "added file opaque/new 0644 content\n"
               "deleted file opaque/b\n"
               "deleted file opaque/c/d\n"
               "deleted directory opaque/c\n"
               "changed directory to_dir 0755\n"
               "added file to_dir/in 0644 content\n"
               "deleted file to_file/a\n"
               "changed file to_file 0644 content\n"
               "changed symlink to_link -> to_dir\n");
}

static void test_nothing(void)
{
    static const struct tree_item lower[] = {{"a", TREE_FILE, "a", 0}, {NULL, 0, NULL, 0}};
    static const struct tree_item upper[] = {
        {"a", TREE_FILE, "a", 0}, {"x", TREE_WHITEOUT, NULL, 0}, {NULL, 0, NULL, 0}};
    _cleanup_(ground_release) struct ground ground;
    struct changes changes;
    struct err err = {0};
    struct stat st;

    if (!ok(ground_init(&ground, lower) && make_tree(ground.upper, upper), "the trees are made"))
        return;
    ok(keep(&ground, NULL, &changes, &err) == 0 && !changes.kept && changes_total(&changes) == 0,
       "a copy that is the same is no change%s", err.message);
    ok(stat(ground.state, &st) < 0 && errno == ENOENT, "and leaves no trace");
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void test_refused(void)
{
    static const struct tree_item lower[] = {
        {"d", TREE_DIR, NULL, 0}, {".git", TREE_DIR, NULL, 0}, {NULL, 0, NULL, 0}};
    static const struct tree_item upper[] = {
        {"d", TREE_DIR, NULL, 0},
        {"d/abs", TREE_LINK, "/etc/passwd", 0},
        {"d/up", TREE_LINK, "../..", 0},
        {"d/behind", TREE_LINK, "x/../y", 0},
        {"d/in", TREE_LINK, "../d/./in", 0},
        {"d/root", TREE_LINK, "..", 0},
        {"fifo", TREE_FIFO, NULL, 0},
        {"socket", TREE_SOCKET, NULL, 0},
        {"setuid", TREE_FILE, "#!", 04755},
        {"setgid", TREE_FILE, "#!", 02755},
        {"setgid_dir", TREE_DIR, NULL, 02755},
        {".wasp-1", TREE_FILE, "", 0},
        {".git", TREE_DIR, NULL, 0},
        {".git/hooks", TREE_DIR, NULL, 0},
        {".git/hooks/pre-commit", TREE_FILE, "#!/bin/sh\n", 0755},
        {".git/index", TREE_FILE, "", 0},
        {".envrc", TREE_FILE, "", 0},
        {NULL, 0, NULL, 0},
    };

    test_table("what apply will refuse is said", lower, upper,
               "added file .envrc 0644 content (.envrc)\n"
               "added directory .git/hooks 0755 (.git/hooks)\n"
               "added file .git/hooks/pre-commit 0755 content (.git/hooks)\n"
               "added file .git/index 0644 content\n"
               "added file .wasp-1 0644 content !reserved\n"
               "added symlink d/abs -> /etc/passwd !symlink\n"
               "added symlink d/behind -> x/../y !symlink\n"
               "added symlink d/in -> ../d/./in\n"
               "added symlink d/root -> ..\n"
               "added symlink d/up -> ../.. !symlink\n"
               "added fifo fifo 0644 !special\n"
               "added file setgid 2755 content !setuid\n"
               "added directory setgid_dir 0755\n"
               "added file setuid 4755 content !setuid\n"
               "added socket socket 0644 !special\n");
}

static void test_changed_since(void)
{
    static const struct tree_item lower[] = {{"a", TREE_FILE, "old", 0}, {"b", TREE_FILE, "old", 0},
                                             {"c", TREE_FILE, "old", 0}, {"d", TREE_DIR, NULL, 0},
                                             {"e", TREE_DIR, NULL, 0},   {NULL, 0, NULL, 0}};
    static const struct tree_item upper[] = {
        {"a", TREE_FILE, "new", 0},    {"b", TREE_FILE, "new", 0},  {"c", TREE_WHITEOUT, NULL, 0},
        {"d", TREE_WHITEOUT, NULL, 0}, {"e", TREE_DIR, NULL, 0700}, {NULL, 0, NULL, 0}};
    static const struct tree_item meanwhile[] = {{"b", TREE_FILE, "other", 0},
                                                 {"c", TREE_FILE, "old", 0},
                                                 {"d/new", TREE_FILE, "", 0},
                                                 {"e/new", TREE_FILE, "", 0},
                                                 {NULL, 0, NULL, 0}};
    _cleanup_(ground_release) struct ground ground;
    struct changes changes;
    struct err err = {0};

    if (!ok(ground_init(&ground, lower) && make_tree(ground.upper, upper) &&
                (ground_start(&ground), true) && make_tree(ground.lower, meanwhile),
            "the host's files change while the guest runs"))
        return;
    ok(keep(&ground, NULL, &changes, &err) == 0 &&
           is_described(&changes, ground.arena,
                        "changed file a 0644 content\n"
                        "changed file b 0644 content !changed_since\n"
                        "deleted file c !changed_since\n"
                        "deleted file d/new !changed_since\n"
                        "deleted directory d !changed_since\n"
                        "changed directory e 0700\n"),
       "and those that the guest changed too are refused%s", err.message);
}

static void test_umask(void)
{
    static const struct tree_item lower[] = {
        {"had", TREE_FILE, "a", 0666}, {"had_not", TREE_FILE, "a", 0}, {NULL, 0, NULL, 0}};
    static const struct tree_item upper[] = {
        {"dir", TREE_DIR, NULL, 01777},    {"none", TREE_DIR, NULL, 0500},
        {"file", TREE_FILE, "", 0777},     {"had", TREE_FILE, "b", 0666},
        {"had_not", TREE_FILE, "b", 0666}, {NULL, 0, NULL, 0},
    };
    mode_t before = umask(027);

    test_table("new bits of a mode pass the umask, and a directory stays its owner's", lower, upper,
               "added directory dir 1750\n"
               "added file file 0750 content\n"
               "changed file had 0666 content\n"
               "changed file had_not 0644 content\n"
               "added directory none 0700\n");
    (void) umask(before); /* cannot fail */
}

/* ---- a real overlay -------------------------------------------------------------------------- */

static int failed_acts;

#define ACT(call)                                                    \
    do {                                                             \
        if ((call) < 0) {                                            \
            printf("# the guest: " #call ": %s\n", strerror(errno)); \
            failed_acts++;                                           \
        }                                                            \
    } while (0)

static void act(void)
{
    int fd;

    ACT(fd = open("edit", O_WRONLY | O_APPEND));
    ACT(write(fd, "more", 4));
    ACT(close(fd));
    ACT(fd = open("same", O_WRONLY)); /* copied up, not changed */
    ACT(close(fd));
    ACT(chmod("mode", 0755));
    ACT(unlink("gone"));
    ACT(unlink("dir/a"));
    ACT(unlink("dir/b/c"));
    ACT(rmdir("dir/b"));
    ACT(rmdir("dir"));
    ACT(mkdir("dir", 0755)); /* opaque from here on */
    ACT(fd = open("dir/new", O_WRONLY | O_CREAT, 0644));
    ACT(close(fd));
    ACT(rename("moved", "moved2"));
    ACT(symlink("moved2", "link"));
    ACT(unlink("file"));
    ACT(mkdir("file", 0755));
    ACT(mkdir("sub/deep", 0755));
    ACT(mknod("sub/fifo", S_IFIFO | 0600, 0));
    if (failed_acts > 0)
        _exit(1);
}

static void test_overlay(void)
{
    static const struct tree_item lower[] = {
        {"edit", TREE_FILE, "text", 0},   {"same", TREE_FILE, "same", 0},
        {"mode", TREE_FILE, "mode", 0},   {"gone", TREE_FILE, "gone", 0},
        {"dir", TREE_DIR, NULL, 0},       {"dir/a", TREE_FILE, "a", 0},
        {"dir/b", TREE_DIR, NULL, 0},     {"dir/b/c", TREE_FILE, "c", 0},
        {"moved", TREE_FILE, "moved", 0}, {"file", TREE_FILE, "file", 0},
        {"sub", TREE_DIR, NULL, 0},       {NULL, 0, NULL, 0},
    };
    _cleanup_(ground_release) struct ground ground;
    struct changes changes;
    struct err err = {0};

    if (!ok(ground_init(&ground, lower), "the host's tree is made"))
        return;
    _cleanup_fd_ int upper = run_guest(&ground, act);
    if (upper < 0) {
        skip("no overlay in a user namespace here");
        return;
    }
    ok(keep_layer(&ground, upper, NULL, &changes, &err) == 0 &&
           is_described(&changes, ground.arena,
                        "added file dir/new 0644 content\n"
                        "deleted file dir/a\n"
                        "deleted file dir/b/c\n"
                        "deleted directory dir/b\n"
                        "changed file edit 0644 content\n"
                        "changed directory file 0755\n"
                        "deleted file gone\n"
                        "added symlink link -> moved2\n"
                        "changed file mode 0755\n"
                        "deleted file moved\n"
                        "added file moved2 0644 content\n"
                        "added directory sub/deep 0755\n"
                        "added fifo sub/fifo 0600 !special\n"),
       "what a guest does in a real overlay is what is found%s", err.message);
}

/* For system/changes.py: --keep STATE RUN_ID UPPER LOWER. What it keeps began this moment. */
static int keep_for_others(char **words)
{
    _cleanup_fd_ int upper = open(words[2], O_PATH | O_DIRECTORY | O_CLOEXEC);
    _cleanup_fd_ int lower = open(words[3], O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct changes_source source = {upper, lower, words[3], "/ws"};
    struct arena *arena = arena_new();
    struct changes changes;
    struct err err = {0};
    int rc = changes_keep(words[0], words[1], &source, 1, clock_realtime_ns(), NULL, arena,
                          &changes, &err);

    if (rc < 0)
        (void) fprintf(stderr, "%s\n", err.message); /* a stderr that is gone leaves nobody */
    arena_free(arena);
    return rc < 0;
}

int main(int argc, char **argv)
{
    if (argc == 6 && strcmp(argv[1], "--keep") == 0)
        return keep_for_others(argv + 2);
    (void) umask(022); /* cannot fail */
    test_plain();
    test_directories();
    test_nothing();
    test_refused();
    test_changed_since();
    test_umask();
    test_overlay();
    return done();
}
