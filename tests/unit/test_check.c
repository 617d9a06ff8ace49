/* What holds between the parts of a request (request_check). */
#include <string.h>

#include "base/cleanup.h"
#include "front/run_options.h"
#include "tap.h"

#define MAX_WORDS 8

/* The words of `wasp exec` or `wasp run` that lead there, and why they are refused. */
struct row {
    const char *words[MAX_WORDS];
    const char *says; /* NULL: taken */
};

static const struct row native_rows[] = {
    {{NULL}, NULL},
    {{"--allow-dir", "ws"}, NULL},
    {{"--disk", "1MiB"}, NULL},
    {{"--disk", "1MiB", "--allow-dir", "a::/a:ro"}, NULL},
    {{"--disk", "1MiB", "--allow-dir", "a::/a:overlay"}, NULL},
    {{"--disk", "1MiB", "--allow-dir", "a"}, "a disk limit cannot be held"},
    {{"--allow-dir", "a::/a:ro", "--allow-dir", "b", "--disk=1MiB"}, "a disk limit cannot be"},
    {{"--apply", "auto", "--allow-dir", "a::/a:overlay"}, NULL},
    {{"--diff", "--allow-dir", "a::/a:overlay"}, NULL},
    {{"--apply", "never"}, NULL}, /* which is so anyway */
    {{"--apply", "auto"}, "no directory is an overlay"},
    {{"--apply", "ask", "--allow-dir", "a"}, "no directory is an overlay"},
    {{"--diff", "--allow-dir", "a"}, "no directory is an overlay"},
    {{"--unprotect", ".envrc", "--allow-dir", "a"}, NULL},
    {{"--unprotect", ".envrc", "--allow-dir", "a::/a:overlay"}, NULL},
    {{"--unprotect", ".envrc"}, "no directory can be changed"},
    {{"--unprotect", ".envrc", "--allow-dir", "a::/a:ro"}, "no directory can be changed"},
    {{"--rootfs", "r", "--tty", "--loopback", "--proc", "none", "--processes", "5"}, NULL},
    {{"--isolation", "landlock"}, NULL},
    {{"--isolation", "landlock", "--allow-dir", "a", "--memory", "1MiB"}, NULL},
    {{"--isolation", "landlock", "--allow-dir", "/a::/a:ro"}, NULL},
    {{"--isolation", "landlock", "--allow-dir", "a::/b"}, "where it is on the host"},
    {{"--isolation", "landlock", "--allow-dir", "a::/a:overlay"}, "no overlay directories"},
    {{"--isolation", "landlock", "--rootfs", "r"}, "no root of its own"},
    {{"--isolation", "landlock", "--tty"}, "no terminals"},
    {{"--isolation", "landlock", "--loopback"}, "no loopback of its own"},
    {{"--isolation", "landlock", "--proc", "none"}, "no /proc of its own"},
    {{"--isolation", "landlock", "--proc", "own"}, "no /proc of its own"},
    {{"--isolation", "landlock", "--disk", "1MiB"}, "no scratch space"},
    {{"--isolation", "landlock", "--processes", "5"}, "cannot count the processes"},
};

static const struct row wasm_rows[] = {
    {{NULL}, NULL},
    {{"--disk", "1MiB", "--allow-dir", "a"}, NULL},
    {{"--isolation", "landlock", "--disk", "1MiB", "--processes", "1"}, NULL},
    {{"--unprotect", ".envrc", "--allow-dir", "a"}, NULL},
    {{"--unprotect", ".envrc"}, "no directory can be changed"},
    {{"--capability", "fs_read", "--allow-dir", "a::/a:ro"}, NULL},
    {{"--capability", "fs_read=a"}, NULL},
    {{"--capability", "fs_write", "--allow-dir", "a"}, NULL},
    {{"--capability", "exec_run", "--command", "ls"}, NULL},
    {{"--capability", "fs_read"}, "no directory is granted for that"},
    {{"--capability", "fs_write", "--allow-dir", "a::/a:ro"}, "no directory is granted for that"},
    {{"--capability", "exec_run"}, "but no command"},
    {{"--command", "ls"}, "'exec_run' is not asked for"},
    {{"--capability", "fs_read=a", "--command", "ls"}, "'exec_run' is not asked for"},
};

/* A native guest's verbs have no such options; a manifest's keys are judged here. */
static void test_door(struct arena *arena)
{
    struct request request;
    struct err err = {0};

    request_init(&request, BACKEND_NATIVE);
    ok(request_add_capability(&request, arena, NULL, "fs_read=/a", &err) == 0 &&
           request_check(&request, &err) == -1 && strstr(err.message, "no door"),
       "a native guest with a capability is refused: %s", err.message);
    request_init(&request, BACKEND_WASM);
    ok(request_add_capability(&request, arena, NULL, "fs_read=/a", &err) == 0 &&
           request_check(&request, &err) == 0,
       "a wasm guest with the same is taken");
}

static void test_row(const struct row *row, const struct syntax *syntax, enum backend backend,
                     struct arena *arena)
{
    const char *const *words = row->words;
    const char *says = row->says;
    const char *all[MAX_WORDS + 3] = {NULL};
    struct run_options options;
    struct err err = {0};
    size_t n = 0;

    for (; n < MAX_WORDS && words[n]; n++)
        all[n] = words[n];
    if (backend == BACKEND_NATIVE)
        all[n++] = "--";
    all[n] = "guest";
    run_options_init(&options, backend);
    int rc = options_parse(syntax, all, &options, arena, &err);
    if (rc == 0)
        rc = request_check(&options.request, &err);
    if (says)
        ok(rc == -1 && err.code == ERR_REQUEST && strstr(err.message, says) && err.hint[0],
           "%s %s is refused: %s; %s", words[0], words[1] ? words[1] : "", err.message, err.hint);
    else
        ok(rc == 0, "%s %s is taken%s", words[0] ? words[0] : "nothing",
           words[0] && words[1] ? words[1] : "", err.message);
}

int main(void)
{
    struct arena *arena = arena_new();

    if (!arena)
        return 1;
    for (size_t i = 0; i < ARRAY_SIZE(native_rows); i++)
        test_row(&native_rows[i], &exec_syntax, BACKEND_NATIVE, arena);
    for (size_t i = 0; i < ARRAY_SIZE(wasm_rows); i++)
        test_row(&wasm_rows[i], &run_syntax, BACKEND_WASM, arena);
    test_door(arena);
    arena_free(arena);
    return done();
}
