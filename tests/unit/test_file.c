#include "base/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "tap.h"

static int replace(const char *path, const char *text, bool no_clobber, struct err *err)
{
    *err = (struct err){0};
    return file_replace(path, text, strlen(text), no_clobber, err);
}

static bool holds(const char *path, const char *text)
{
    char bytes[64];
    _cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : fd_read_full(fd, bytes, sizeof(bytes));

    return n == (ssize_t) strlen(text) && memcmp(bytes, text, (size_t) n) == 0;
}

/* How many names there are in the folder we work in. */
static int count_names(void)
{
    DIR *dir = opendir(".");
    int count = 0;

    while (dir && readdir(dir))
        count++;
    if (dir)
        (void) closedir(dir); /* only read */
    return count - 2;         /* "." and ".." */
}

static void test_replace(void)
{
    struct err err;
    struct stat st = {0};

    ok(replace("a", "one", false, &err) == 0 && holds("a", "one"), "a file is made");
    ok(stat("a", &st) == 0 && (st.st_mode & 07777) == 0640, "its mode is what the umask leaves");
    ino_t before = st.st_ino;
    ok(replace("./a", "two", false, &err) == 0 && holds("a", "two"), "a file is replaced");
    ok(stat("a", &st) == 0 && st.st_ino != before, "by another, not written over");
    ok(replace("a", "", false, &err) == 0 && holds("a", ""), "no bytes are a file, too");
    ok(count_names() == 1, "nothing else is left");
}

static void test_no_clobber(void)
{
    struct err err;

    ok(replace("a", "three", true, &err) < 0 && err.code == ERR_REQUEST && holds("a", ""),
       "no_clobber refuses to replace: %s", err.message);
    ok(replace("b", "four", true, &err) == 0 && holds("b", "four"), "no_clobber makes what is new");
    ok(symlink("nowhere", "dangling") == 0 && replace("dangling", "x", true, &err) < 0,
       "a dangling symlink is something, too");
    ok(count_names() == 3, "nothing else is left");
}

static void test_links(void)
{
    struct err err;
    struct stat st = {0};

    ok(symlink("a", "link") == 0 && replace("link", "five", false, &err) == 0 &&
           holds("link", "five") && holds("a", ""),
       "a symlink is replaced, not followed");
    ok(lstat("link", &st) == 0 && S_ISREG(st.st_mode), "and is a file then");
}

static void test_refused(void)
{
    static const char *const bad[] = {"", "/", "sub/", "nowhere/a", "a/b", "sub", "/proc/a"};
    int before;

    ok(mkdir("sub", 0700) == 0, "there is a folder");
    before = count_names();
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct err err;
        ok(replace(bad[i], "x", false, &err) < 0 && err.message[0] && count_names() == before,
           "'%s' is refused and leaves nothing: %s", bad[i], err.message);
    }
}

int main(void)
{
    char folder[] = "/tmp/test_file.XXXXXX";

    (void) umask(027); /* the old one is of no interest */
    if (!mkdtemp(folder) || chdir(folder) < 0)
        return 1;
    test_replace();
    test_no_clobber();
    test_links();
    test_refused();
    static const char *const names[] = {"a", "b", "dangling", "link"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        (void) unlink(names[i]); /* what is not there was told above */
    (void) rmdir("sub");
    ok(chdir("/") == 0 && rmdir(folder) == 0, "the folder is empty in the end");
    return done();
}
