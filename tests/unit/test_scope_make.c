/* Scopes as a person writes them become what is meant now. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "front/scope_make.h"
#include "tap.h"

static struct arena *arena;

static const char *make(enum capability capability, const char *text)
{
    const char *scope = NULL;
    struct err err = {0};

    if (scope_make(capability, text, arena, &scope, &err) == 0)
        return scope;
    return arena_printf(arena, "%s: %s", err_kind(err.code)->name, err.message);
}

static void check(enum capability capability, const char *text, const char *wanted,
                  const char *what)
{
    const char *got = make(capability, text);

    ok(strcmp(got, wanted) == 0, "%s: '%s' is '%s'", what, text, got);
}

static void check_refused(enum capability capability, const char *text, const char *what)
{
    const char *got = make(capability, text);

    ok(strncmp(got, "request: ", 9) == 0, "%s: '%s': %s", what, text, got);
}

static void test_paths(const char *base)
{
    check(CAPABILITY_FS_READ, base, base, "an absolute path stays");
    check(CAPABILITY_FS_WRITE, ".", base, "a relative one counts from the working directory");
    check(CAPABILITY_FS_READ, "link", arena_printf(arena, "%s/dir", base), "a link is followed");
    check(CAPABILITY_FS_READ, "./dir//../dir/.", arena_printf(arena, "%s/dir", base),
          "dots and slashes go");
    check(CAPABILITY_FS_READ, "dir/tool", arena_printf(arena, "%s/dir/tool", base),
          "a file is a path, too");
    check(CAPABILITY_FS_READ, "link/new/file", arena_printf(arena, "%s/dir/new/file", base),
          "what is not there yet is where it would lie");
    check_refused(CAPABILITY_FS_READ, "new/../../x", "unless nobody can tell where");
    check_refused(CAPABILITY_FS_READ, "", "nothing is no path");
    check_refused(CAPABILITY_FS_READ, "*", "a star is no path");
    check_refused(CAPABILITY_FS_READ, "~", "nor is what a shell would make one of");
}

static void test_programs(const char *base)
{
    char real[PATH_MAX];
    const char *shell = realpath("/bin/sh", real);

    check(CAPABILITY_EXEC_RUN, "sh", shell, "a bare name is found where cells find it");
    check(CAPABILITY_EXEC_RUN, "sh -c 'a b'  \"c\"", arena_printf(arena, "%s -c 'a b' c", shell),
          "its arguments stay, quoted where they must be");
    check(CAPABILITY_EXEC_RUN, "sh -c *", arena_printf(arena, "%s -c '*'", shell), "a star is one");
    check(CAPABILITY_EXEC_RUN, "/bin/sh", shell, "a path is followed");
    check(CAPABILITY_EXEC_RUN, "./link/tool x", arena_printf(arena, "%s/dir/tool x", base),
          "a relative one, too");
    check_refused(CAPABILITY_EXEC_RUN, "tool", "the working directory is not searched");
    check_refused(CAPABILITY_EXEC_RUN, "./dir", "a folder is no program");
    check_refused(CAPABILITY_EXEC_RUN, "./plain", "nor is a file that nobody may run");
    check_refused(CAPABILITY_EXEC_RUN, "", "nor is nothing");
    check(CAPABILITY_EXEC_RUN, "'sh' x", arena_printf(arena, "%s x", shell), "it may be quoted");
    check_refused(CAPABILITY_EXEC_RUN, "*", "so is a star");
    check_refused(CAPABILITY_EXEC_RUN, "sh; rm", "no shell is involved");
    check_refused(CAPABILITY_EXEC_RUN, "sh $(x)", "neither in the arguments");
    check_refused(CAPABILITY_EXEC_RUN, "sh 'x", "a quote that does not end is refused");
}

static void test_names(const char *base)
{
    check(CAPABILITY_ENV_SET, "TASK_ID", "TASK_ID", "a variable is a name");
    check_refused(CAPABILITY_ENV_SET, "A=b", "without a value");
    check_refused(CAPABILITY_ENV_SET, "A*", "and no pattern");
    check_refused(CAPABILITY_ENV_SET, "", "nor nothing");
    check(CAPABILITY_CODE_RUN, "python", "python", "a language is one there is");
    check_refused(CAPABILITY_CODE_RUN, "cobol", "and no other");
    check(CAPABILITY_CODE_RUN, "module:link/tool", arena_printf(arena, "module:%s/dir/tool", base),
          "a module is a file");
    check_refused(CAPABILITY_CODE_RUN, "module:~/x", "that has a place");
    check(CAPABILITY_NET_HTTP, "loopback", "loopback", "loopback is a place");
    check(CAPABILITY_NET_HTTP, "GET https://example.com:443/v1/", "GET https://example.com:443/v1/",
          "so is a URL's beginning, with its method");
    static const char *const bad[] = {
        "https://example.com/",
        "get https://example.com/",
        "GET ftp://example.com/",
        "GET https://",
        "GET https://Example.com/",
        "GET https://a@example.com/",
        "GET https://example.com:0x1/",
        "GET https://example.com:/",
        "GET https://example.com/?q=1",
        "GET https://example.com/a b",
        "GET https://example.com/#x",
        "*",
        "",
        "GET https://exa mple.com/",
        "GET  https://example.com/",
    };
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        check_refused(CAPABILITY_NET_HTTP, bad[i], "what is none is refused");
}

int main(void)
{
    char base[] = "/tmp/wasp-scope-XXXXXX";

    arena = arena_new();
    if (!arena || !mkdtemp(base) || chdir(base) < 0 || mkdir("dir", 0700) < 0 ||
        symlink("dir", "link") < 0) {
        printf("Bail out! no place to work in\n");
        return 1;
    }
    FILE *tool = fopen("dir/tool", "w"), *plain = fopen("plain", "w");
    ok(tool && plain && fclose(tool) == 0 && fclose(plain) == 0 && chmod("dir/tool", 0755) == 0 &&
           chmod("plain", 0644) == 0,
       "a program and what is none");
    test_paths(base);
    test_programs(base);
    test_names(base);
    (void) unlink("dir/tool"); /* what is left is a few bytes */
    (void) unlink("plain");
    (void) unlink("link");
    (void) rmdir("dir");
    (void) rmdir(base);
    arena_free(arena);
    return done();
}
