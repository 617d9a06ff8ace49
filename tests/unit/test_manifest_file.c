#include "front/manifest_file.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/json.h"
#include "front/samples.h"
#include "tap.h"

#define WASM "{\"kind\":\"wasm-run\",\"module\":\"m.wasm\"}"
#define SAMPLE(name) "{\"kind\":\"sample\",\"workspace\":\"w\",\"sample\":\"" name "\"}"

static void put_file(const char *path, const char *text, size_t len)
{
    _cleanup_fd_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    if (fd < 0 || fd_write_all(fd, text, len) < 0)
        printf("# cannot write %s\n", path);
}

static int load(const char *path, struct arena *arena, struct manifest *manifest, struct err *err)
{
    int signal = 0;

    *err = (struct err){0};
    return manifest_file_read(path, NULL, NULL, arena, manifest, &signal, err);
}

/* The folder is where the name is, not where a link leads. */
static void test_folders(struct arena *arena, const char *top)
{
    char absolute[256], link_in[256], expected[256];
    struct manifest manifest;
    struct err err;

    put_file("m.json", WASM, strlen(WASM));
    ok(mkdir("sub", 0700) == 0 && symlink("../m.json", "sub/link.json") == 0, "there is a link");
    (void) snprintf(absolute, sizeof(absolute), "%s/m.json", top);      /* fits */
    (void) snprintf(link_in, sizeof(link_in), "%s/sub/link.json", top); /* fits */
    const char *const rows[][2] = {
        {"m.json", "m.wasm"},
        {"./m.json", "./m.wasm"},
        {"sub/../m.json", "sub/../m.wasm"},
        {"sub/link.json", "sub/m.wasm"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        ok(load(rows[i][0], arena, &manifest, &err) == 0 &&
               strcmp(manifest.request.module, rows[i][1]) == 0,
           "in '%s' the module is '%s'%s", rows[i][0], rows[i][1], err.message);
    (void) snprintf(expected, sizeof(expected), "%s/m.wasm", top); /* fits */
    ok(load(absolute, arena, &manifest, &err) == 0 &&
           strcmp(manifest.request.module, expected) == 0,
       "an absolute path gives absolute ones");
    (void) snprintf(expected, sizeof(expected), "%s/sub/m.wasm", top); /* fits */
    ok(load(link_in, arena, &manifest, &err) == 0 && strcmp(manifest.request.module, expected) == 0,
       "a symlinked manifest is taken, and counts from where the link is");
    (void) unlink("sub/link.json");
    (void) rmdir("sub");
}

static void test_samples(struct arena *arena)
{
    static const char good[] = SAMPLE("env-report"), bad[] = SAMPLE("nope");
    struct manifest manifest;
    struct err err;

    put_file("m.json", good, strlen(good));
    ok(load("m.json", arena, &manifest, &err) == 0 && manifest.request.module_bytes &&
           strcmp(manifest.request.module, "env-report") == 0,
       "a sample becomes its module");
    put_file("m.json", bad, strlen(bad));
    ok(load("m.json", arena, &manifest, &err) < 0 && err.code == ERR_REQUEST &&
           strncmp(err.message, "sample: ", 8) == 0 && strstr(err.message, "env-report"),
       "an unknown one is refused with its key and all there are: %s", err.message);
}

static void test_refused(struct arena *arena)
{
    struct manifest manifest;
    struct err err;

    ok(load("nothing", arena, &manifest, &err) < 0 && err.code == ERR_REQUEST &&
           strstr(err.message, "'nothing'"),
       "one that is not there is refused by name: %s", err.message);
    ok(load(".", arena, &manifest, &err) < 0 && err.code == ERR_REQUEST, "a directory is refused");
    ok(mkfifo("fifo", 0600) == 0 && load("fifo", arena, &manifest, &err) < 0 &&
           strstr(err.hint, "standard input"),
       "a FIFO is refused and keeps nobody waiting");
    ok(load("/dev/zero", arena, &manifest, &err) < 0, "an endless device is refused");
    put_file("m.json", "", 0);
    ok(load("m.json", arena, &manifest, &err) < 0 && err.code == ERR_REQUEST,
       "an empty file is refused: %s", err.message);
    (void) unlink("fifo");
}

/* Just as large as may be, and one byte more: white space behind a good one. */
static void test_size(struct arena *arena)
{
    _cleanup_free_ char *text = malloc(JSON_MAX_BYTES + 1);
    struct manifest manifest;
    struct err err;

    if (!text)
        return;
    memset(text, ' ', JSON_MAX_BYTES + 1);
    memcpy(text, WASM, sizeof(WASM) - 1); /* without its NUL */
    put_file("m.json", text, JSON_MAX_BYTES);
    ok(load("m.json", arena, &manifest, &err) == 0, "1 MiB is taken%s", err.message);
    put_file("m.json", text, JSON_MAX_BYTES + 1);
    ok(load("m.json", arena, &manifest, &err) < 0 && err.code == ERR_REQUEST,
       "1 MiB and a byte is not: %s", err.message);
}

static void test_stdin(struct arena *arena)
{
    struct manifest manifest;
    struct err err;
    int pair[2], signal_seen = 0;

    if (!ok(pipe2(pair, O_CLOEXEC) == 0 && dup2(pair[0], STDIN_FILENO) == STDIN_FILENO,
            "stdin is a pipe"))
        return;
    (void) fd_write_all(pair[1], WASM, strlen(WASM)); /* the test would see it */
    (void) kill(getpid(), SIGTERM);                   /* it is blocked, so it waits for us */
    err = (struct err){0};
    ok(manifest_file_read("-", NULL, NULL, arena, &manifest, &signal_seen, &err) < 0 &&
           signal_seen == SIGTERM,
       "a signal ends the wait for standard input");
    (void) close(pair[1]); /* the end of it */
    ok(load("-", arena, &manifest, &err) == 0 && strcmp(manifest.request.module, "m.wasm") == 0,
       "from standard input paths count from the working directory%s", err.message);
    ok(load("-", arena, &manifest, &err) < 0, "and then there is nothing more: %s", err.message);
    (void) close(pair[0]); /* only read from */
}

int main(void)
{
    char top[] = "/tmp/test_manifest_file.XXXXXX";
    struct arena *arena = arena_new();
    sigset_t held;

    (void) sigemptyset(&held);
    (void) sigaddset(&held, SIGTERM);
    if (!arena || sigprocmask(SIG_BLOCK, &held, NULL) < 0 || !mkdtemp(top) || chdir(top) < 0)
        return 1;
    test_folders(arena, top);
    test_samples(arena);
    test_refused(arena);
    test_size(arena);
    test_stdin(arena);
    (void) unlink("m.json");
    ok(chdir("/") == 0 && rmdir(top) == 0, "nothing is left");
    arena_free(arena);
    return done();
}
