/* Changes as a unified diff: the exact text. That git and patch take it is in system/changes.py. */
#include "changes_tree.h"
#include "tap.h"

#define TEN "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"

static bool diff(struct ground *ground, struct buf *into, bool *ret_cut, struct err *err)
{
    struct changes_text text = {.fd = -1, .into = into};
    int rc = changes_diff(ground->state, RUN_ID, &text, ground->arena, err);

    *ret_cut = text.cut;
    return rc == 0;
}

static void test_text(const char *sentence, const struct tree_item *lower,
                      const struct tree_item *upper, const char *expected)
{
    _cleanup_(ground_release) struct ground ground;
    _cleanup_(buf_release) struct buf text = BUF_INIT(65536);
    struct changes changes;
    struct err err = {0};
    bool cut = false;

    if (!ground_init(&ground, lower) || !make_tree(ground.upper, upper) ||
        keep(&ground, NULL, &changes, &err) < 0 || !diff(&ground, &text, &cut, &err)) {
        ok(false, "%s%s", sentence, err.message);
        return;
    }
    bool same = !cut && strcmp(text.data, expected) == 0;
    if (!same)
        printf("# expected:\n%s# is:\n%s", expected, text.data);
    ok(same, "%s", sentence);
}

static void test_lines(void)
{
    static const struct tree_item lower[] = {{"f", TREE_FILE, TEN, 0}, {NULL, 0, NULL, 0}};
    static const struct tree_item first[] = {{"f", TREE_FILE, "0\n" TEN, 0}, {NULL, 0, NULL, 0}};
    static const struct tree_item two[] = {{"f", TREE_FILE, "1\nX\n3\n4\n5\n6\n7\n8\n9\n10", 0},
                                           {NULL, 0, NULL, 0}};
    static const struct tree_item empty[] = {{"f", TREE_FILE, "", 0}, {NULL, 0, NULL, 0}};

    test_text("a line more is a hunk with three lines around", lower, first,
              "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,3 +1,4 @@\n+0\n 1\n 2\n 3\n");
    test_text("two changes far apart are two hunks, and a missing newline is said", lower, two,
              "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,5 +1,5 @@\n 1\n-2\n+X\n 3\n 4\n 5\n"
              "@@ -7,4 +7,4 @@\n 7\n 8\n 9\n-10\n+10\n\\ No newline at end of file\n");
    test_text("a file that becomes empty has a range without lines", lower, empty,
              "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,10 +0,0 @@\n-1\n-2\n-3\n-4\n-5\n-6\n-7\n"
              "-8\n-9\n-10\n");
}

static void test_files(void)
{
    static const struct tree_item lower[] = {
        {"gone", TREE_FILE, "a\n", 0755}, {"mode", TREE_FILE, "a\n", 0}, {"nul", TREE_FILE, "a", 0},
        {"link", TREE_LINK, "mode", 0},   {"turn", TREE_FILE, "a\n", 0}, {NULL, 0, NULL, 0}};
    static const struct tree_item upper[] = {
        {"gone", TREE_WHITEOUT, NULL, 0}, {"mode", TREE_FILE, "a\n", 0755},
        {"link", TREE_LINK, "gone", 0},   {"turn", TREE_LINK, "mode", 0},
        {"new", TREE_FILE, "b\n", 0755},  {"none", TREE_FILE, "", 0},
        {"dir", TREE_DIR, NULL, 0},       {NULL, 0, NULL, 0}};

    test_text("files that come, go, or change their mode or kind are so in git's words", lower,
              upper,
              "# dir is a directory, added\n"
              "diff --git a/gone b/gone\ndeleted file mode 100755\n--- a/gone\n+++ /dev/null\n"
              "@@ -1,1 +0,0 @@\n-a\n"
              "diff --git a/link b/link\n--- a/link\n+++ b/link\n@@ -1,1 +1,1 @@\n-mode\n"
              "\\ No newline at end of file\n+gone\n\\ No newline at end of file\n"
              "# mode gets the mode 0755, and had 0644\n"
              "diff --git a/mode b/mode\nold mode 100644\nnew mode 100755\n"
              "diff --git a/new b/new\nnew file mode 100755\n--- /dev/null\n+++ b/new\n"
              "@@ -0,0 +1,1 @@\n+b\n"
              "diff --git a/none b/none\nnew file mode 100644\n"
              "diff --git a/turn b/turn\ndeleted file mode 100644\n--- a/turn\n+++ /dev/null\n"
              "@@ -1,1 +0,0 @@\n-a\n"
              "diff --git a/turn b/turn\nnew file mode 120000\n--- /dev/null\n+++ b/turn\n"
              "@@ -0,0 +1,1 @@\n+mode\n\\ No newline at end of file\n");
}

static void test_names(void)
{
    static const struct tree_item upper[] = {
        {"a b", TREE_FILE, "x\n", 0}, {"\x1b\xc3\xa9\n", TREE_FILE, "x\n", 0}, {NULL, 0, NULL, 0}};

    test_text("names that are not plain are quoted, and have no byte that a terminal obeys", NULL,
              upper,
              "diff --git \"a/\\033\\303\\251\\n\" \"b/\\033\\303\\251\\n\"\nnew file mode 100644\n"
              "--- /dev/null\n+++ \"b/\\033\\303\\251\\n\"\n@@ -0,0 +1,1 @@\n+x\n"
              "diff --git \"a/a b\" \"b/a b\"\nnew file mode 100644\n"
              "--- /dev/null\n+++ \"b/a b\"\n@@ -0,0 +1,1 @@\n+x\n");
}

static void test_refused(void)
{
    static const struct tree_item upper[] = {{".envrc", TREE_FILE, "", 0},
                                             {"fifo", TREE_FIFO, NULL, 0},
                                             {"out", TREE_LINK, "/etc", 0},
                                             {NULL, 0, NULL, 0}};

    test_text("what apply refuses is said", NULL, upper,
              "# .envrc is protected by the rule .envrc\n"
              "diff --git a/.envrc b/.envrc\nnew file mode 100644\n"
              "# fifo is a fifo\n# fifo is a device, a fifo or a socket: refused\n"
              "# out is a symlink that leads out of the directory: refused\n"
              "diff --git a/out b/out\nnew file mode 120000\n--- /dev/null\n+++ b/out\n"
              "@@ -0,0 +1,1 @@\n+/etc\n\\ No newline at end of file\n");
}

static bool write_bytes(const char *folder, const char *name, const char *bytes, size_t len)
{
    char path[128];

    (void) snprintf(path, sizeof(path), "%s/%s", folder, name); /* fits */
    _cleanup_fd_ int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    return fd >= 0 && fd_write_all(fd, bytes, len) == 0;
}

static void test_unshown(void)
{
    _cleanup_(ground_release) struct ground ground;
    _cleanup_(buf_release) struct buf text = BUF_INIT(65536);
    _cleanup_free_ char *large = calloc(5, 1024 * 1024);
    struct changes changes;
    struct err err = {0};
    bool cut;

    if (!large || !ground_init(&ground, NULL))
        return;
    memset(large, 'x', (size_t) 5 * 1024 * 1024);
    ok(write_bytes(ground.upper, "nul", "a\0b", 3) &&
           write_bytes(ground.upper, "large", large, (size_t) 5 * 1024 * 1024) &&
           keep(&ground, NULL, &changes, &err) == 0 && diff(&ground, &text, &cut, &err),
       "binary and large files have a diff%s", err.message);
    ok(strstr(text.data, "Binary files /dev/null and b/nul differ\n"), "that says no more of one");
    ok(strstr(text.data, "Binary files /dev/null and b/large differ\n# large is too large"),
       "than of the other");
}

static void test_cut(void)
{
    static const struct tree_item upper[] = {
        {"a", TREE_FILE, TEN TEN TEN TEN, 0}, {"b", TREE_FILE, TEN, 0}, {NULL, 0, NULL, 0}};
    _cleanup_(ground_release) struct ground ground;
    _cleanup_(buf_release) struct buf text = BUF_INIT(100);
    struct changes changes;
    struct err err = {0};
    bool cut;

    ok(ground_init(&ground, NULL) && make_tree(ground.upper, upper) &&
           keep(&ground, NULL, &changes, &err) == 0 && diff(&ground, &text, &cut, &err) && cut &&
           text.len == 100,
       "a diff ends where its room ends, and says so%s", err.message);
}

static void test_terminal(void)
{
    static const struct tree_item upper[] = {
        {"a", TREE_FILE, "\x1b[2J\r\xc2\x9b \xe2\x80\xae \xff \xc3\xa9\tb\n", 0},
        {NULL, 0, NULL, 0}};
    _cleanup_(ground_release) struct ground ground;
    struct changes changes;
    struct err err = {0};
    char bytes[1024] = "";
    int ends[2];

    if (pipe(ends) < 0)
        return;
    struct changes_text text = {.fd = ends[1], .escape = true};
    ok(ground_init(&ground, NULL) && make_tree(ground.upper, upper) &&
           keep(&ground, NULL, &changes, &err) == 0 &&
           changes_diff(ground.state, RUN_ID, &text, ground.arena, &err) == 0 &&
           read(ends[0], bytes, sizeof(bytes) - 1) > 0 &&
           strstr(bytes, "+\\x1b[2J\\x0d\\xc2\\x9b \\xe2\\x80\\xae \\xff \xc3\xa9\tb\n"),
       "what a terminal would obey is shown to it, not sent%s", err.message);
    (void) close(ends[0]); /* it was read from */
    (void) close(ends[1]); /* all was read */
}

int main(void)
{
    (void) umask(022); /* cannot fail */
    test_lines();
    test_files();
    test_names();
    test_refused();
    test_unshown();
    test_cut();
    test_terminal();
    return done();
}
