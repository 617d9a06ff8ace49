/* Runtimes: a record as text, and the folder they are kept in. */
#include "store/runtimes.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/folder.h"
#include "tap.h"

#define SHA "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define TIME "2026-01-31T12:00:00.000Z"
#define BEFORE_NAME "{\"schema\":\"wasp.runtime/1\",\"name\":"
#define BEFORE_SHA BEFORE_NAME "\"py\",\"sha256\":"
#define BEFORE_BYTES BEFORE_SHA "\"" SHA "\",\"bytes\":"
#define BEFORE_DIRS BEFORE_BYTES "99,\"dirs\":"
#define BEFORE_ARGS BEFORE_DIRS "[{\"host\":\"/h\",\"guest\":\"/g\"}],\"entry_args\":"
#define BEFORE_TIME BEFORE_ARGS "[\"-c\",\"\"],\"added_at\":"
#define RECORD BEFORE_TIME "\"" TIME "\"}"

static bool same(const char *a, const char *b)
{
    return a && b && strcmp(a, b) == 0;
}

static void test_names(void)
{
    static const char *const good[] = {"a", "0", "python", "cpython-3.12_x", "a..", "a.wasm"};
    static const char *const bad[] = {"",    ".",   "..",  ".a",  "-a",    "_a",
                                      "A",   "pY",  "a b", "a/b", "../a",  "a\n",
                                      "a\t", "a\"", "ä",   "a*",  "a\xff", "a:b"};
    char longest[RUNTIME_NAME_MAX + 2] = {0};
    struct err err = {0};

    for (size_t i = 0; i < ARRAY_SIZE(good); i++)
        ok(runtime_check_name(good[i], &err) == 0, "'%s' is a name", good[i]);
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        ok(runtime_check_name(bad[i], &err) < 0 && err.code == ERR_REQUEST, "it is none: %s",
           err.message);
    memset(longest, 'a', RUNTIME_NAME_MAX);
    ok(runtime_check_name(longest, &err) == 0, "a name may have %d characters", RUNTIME_NAME_MAX);
    longest[RUNTIME_NAME_MAX] = 'a';
    ok(runtime_check_name(longest, &err) < 0, "and no more");
}

static int parse(const char *text, struct arena *arena, struct runtime *runtime, struct err *err)
{
    return runtime_parse(text, strlen(text), "py", arena, runtime, err);
}

static void test_record(struct arena *arena)
{
    _cleanup_(buf_release) struct buf text = BUF_INIT(4096);
    struct json_writer json;
    struct runtime runtime = {0};
    struct err err = {0};

    if (!ok(parse(RECORD, arena, &runtime, &err) == 0, "a record is read%s", err.message))
        return;
    const struct request *given = &runtime.given;
    ok(same(runtime.name, "py") && runtime.bytes == 99 && same(runtime.added_at, TIME) &&
           runtime.digest.bytes[1] == 0x11 && !runtime.module,
       "with name, size, time and digest");
    ok(given->n_dirs == 1 && same(given->dirs[0].host, "/h") && same(given->dirs[0].guest, "/g") &&
           given->dirs[0].access == ACCESS_RO && !given->dirs[0].also_dot,
       "its directories are read-only");
    ok(given->n_args == 2 && same(given->args[0], "-c") && same(given->args[1], ""),
       "its arguments are in order");
    json_writer_init_buf(&json, &text);
    runtime_write(&json, &runtime);
    ok(json_finish(&json) == 0 && same(text.data, RECORD "\n"), "what is written is what was read");
}

static void test_damaged(struct arena *arena)
{
    static const struct {
        const char *text, *says;
    } rows[] = {
        {"", "record"},
        {"{}", "schema: is missing"},
        {"[]", "must be an object"},
        {"null", "must be an object"},
        {RECORD RECORD, "record"},
        {"\xef\xbb\xbf" RECORD, "record"},
        {"{\"schema\":\"wasp.runtime/2\",\"name\":\"py\"}", "wasp.runtime/2"},
        {BEFORE_NAME "\"other\"}", "name: is 'other'"},
        {BEFORE_NAME "1}", "name: must be a string"},
        {BEFORE_SHA "\"abc\"}", "sha256: must be 64 hex digits"},
        {BEFORE_SHA "\"../../../../../../../../../../../../../../../../../../../../../x\"}",
         "sha256"},
        {BEFORE_BYTES "0}", "bytes"},
        {BEFORE_BYTES "-1}", "bytes"},
        {BEFORE_BYTES "268435457}", "bytes"},
        {BEFORE_BYTES "\"9\"}", "bytes: must be an integer"},
        {BEFORE_DIRS "{}}", "dirs: must be an array"},
        {BEFORE_DIRS "[1]}", "dirs[0]: must be an object"},
        {BEFORE_DIRS "[{\"host\":\"/h\"}]}", "dirs[0].guest: is missing"},
        {BEFORE_DIRS "[{\"host\":\"h\",\"guest\":\"/g\"}]}", "dirs[0]: the host path 'h'"},
        {BEFORE_DIRS "[{\"host\":\"/h\",\"guest\":\"\"}]}", "dirs[0]"},
        {BEFORE_DIRS "[{\"host\":\"/h\",\"guest\":\"g\",\"access\":\"rw\"}]}",
         "dirs[0].access: unknown key"},
        {BEFORE_DIRS "[{\"host\":\"/a\",\"guest\":\"/g\"},{\"host\":\"/b\",\"guest\":\"/g/\"}]}",
         "dirs[1]: guest path '/g/' is given twice"},
        {BEFORE_ARGS "[1]}", "entry_args[0]: must be a string"},
        {BEFORE_ARGS "[\"a\\u0000b\"]}", "record"},
        {BEFORE_TIME "\"yesterday\"}", "added_at"},
        {BEFORE_TIME "\"" TIME "\",\"x\":1}", "x: unknown key"},
        {BEFORE_TIME "\"" TIME "\",\"bytes\":1}", "record"},
        {BEFORE_TIME "\"" TIME "\"", "record"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct runtime runtime = {.bytes = 77};
        struct err err = {0};
        /* Keys that a row leaves out come after the one it is about. */
        bool refused = parse(rows[i].text, arena, &runtime, &err) < 0;
        ok(refused && strstr(err.message, rows[i].says) && runtime.bytes == 77,
           "a damaged record is refused: %s", err.message);
    }
}

static void test_given(struct arena *arena)
{
    static const char *const bad[] = {
        "",         "lib",    "lib:/g",    "::/g",      "lib::",     "a::/b::/c",   "a::/b:ro",
        "a::/b:rw", "a::/b:", "a\xff::/b", "a::/b\xff", "/h2::/lib", "/h2::/lib/.",
    };
    struct runtime runtime;
    struct err err = {0};

    runtime_init(&runtime);
    ok(runtime_give_dir(&runtime, arena, "/base", "lib::/lib", &err) == 0 &&
           same(runtime.given.dirs[0].host, "/base/lib"),
       "a relative directory counts from the base");
    ok(runtime_give_dir(&runtime, arena, "/base", "/::/host", &err) == 0 &&
           runtime.given.dirs[1].access == ACCESS_RO,
       "the whole host may be given, as it is read-only");
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct runtime copy = runtime;
        ok(runtime_give_dir(&copy, arena, "/base", bad[i], &err) < 0 && err.code == ERR_REQUEST,
           "a bad directory is refused: %s", err.message);
    }
    ok(runtime_give_dir(&runtime, arena, "/b\xff", "lib::/x", &err) < 0,
       "a folder whose name JSON cannot hold is refused");
    ok(runtime_give_arg(&runtime, arena, "\xff", &err) < 0 && err.code == ERR_REQUEST,
       "an argument that JSON cannot hold is refused");
}

static void test_put(struct arena *arena)
{
    static const char upper[] = "00112233445566778899AABBCCDDEEFF00112233445566778899AABBCCDDEEFF";
    struct runtime runtime = {0};
    struct request request;
    struct err err = {0};

    if (!ok(parse(RECORD, arena, &runtime, &err) == 0, "there is a runtime"))
        return;
    runtime.module = "/state/copy.wasm";
    request_init(&request, BACKEND_WASM);
    ok(request_add_arg(&request, arena, "mine", &err) == 0 &&
           request_add_dir_text(&request, arena, "here", &err) == 0 &&
           request_set_pin(&request, arena, upper, &err) == 0 &&
           runtime_put(&runtime, arena, &request, &err) == 0,
       "it is put into a request%s", err.message);
    ok(same(request.module, "/state/copy.wasm") && same(request.argv0, "py") &&
           same(request.module_sha256, SHA),
       "which runs its copy, by its name, pinned");
    ok(request.n_args == 3 && same(request.args[0], "-c") && same(request.args[2], "mine") &&
           !request.args[3],
       "its arguments come before the caller's");
    ok(request.n_dirs == 2 && request.dirs[0].also_dot && request.dirs[0].access == ACCESS_RW &&
           same(request.dirs[1].guest, "/g") && request.dirs[1].access == ACCESS_RO,
       "the caller's directory is still '.', the runtime's is read-only");

    request_init(&request, BACKEND_WASM);
    ok(request_add_dir_text(&request, arena, "here::/g/", &err) == 0 &&
           runtime_put(&runtime, arena, &request, &err) < 0 && err.code == ERR_REQUEST &&
           strstr(err.message, "runtime 'py': guest path '/g' is given twice"),
       "a directory of the caller's in the same place is refused: %s", err.message);
    request_init(&request, BACKEND_WASM);
    request.module_sha256 = "ff112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
    ok(runtime_put(&runtime, arena, &request, &err) < 0 && err.code == ERR_PIN,
       "another pin of the caller's is refused: %s", err.message);
}

/* ---- the folder ------------------------------------------------------------------------------ */

static const char module_bytes[] = "\0asm\1\0\0";

static int add(const struct runtimes *runtimes, const char *name, uint8_t digest, bool replace,
               struct arena *arena, struct err *err)
{
    struct digest fake = {{digest}}; /* the folder goes by what it is told */
    struct runtime runtime;
    _cleanup_fd_ int module = -1;

    runtime_init(&runtime);
    runtime.name = name;
    if (fd_sealed("test", module_bytes, sizeof(module_bytes), &module, err) < 0)
        return -1;
    return runtimes_add(runtimes, &runtime, module, &fake, replace, arena, err);
}

static size_t count_modules(const struct runtimes *runtimes, struct arena *arena)
{
    struct folder_names names;

    return folder_list(runtimes->folder, ".wasm", arena, &names) < 0 ? 99 : names.count;
}

static void test_folder(const struct runtimes *runtimes, struct arena *arena)
{
    struct runtime found;
    struct err err = {0};
    int hold = -1;

    ok(add(runtimes, "b", 1, false, arena, &err) == 0 &&
           add(runtimes, "a", 1, false, arena, &err) == 0 && count_modules(runtimes, arena) == 1,
       "two names with the same content share one module%s", err.message);
    ok(add(runtimes, "a", 2, false, arena, &err) < 0 && err.code == ERR_REQUEST && err.hint[0] &&
           count_modules(runtimes, arena) == 1,
       "a name that is taken is refused: %s", err.message);
    ok(add(runtimes, "a", 2, true, arena, &err) == 0 && count_modules(runtimes, arena) == 2,
       "it is replaced if asked");
    ok(add(runtimes, "b", 2, true, arena, &err) == 0 && count_modules(runtimes, arena) == 1,
       "the last name that used a module takes it along");
    ok(runtimes_find(runtimes, "a", arena, &found, &hold, &err) == 0 && same(found.name, "a") &&
           found.bytes == sizeof(module_bytes) && access(found.module, R_OK) == 0,
       "a runtime is found, with its module");
    ok(runtimes_remove(runtimes, "a", arena, &err) == 0 &&
           runtimes_remove(runtimes, "b", arena, &err) == 0 && access(found.module, R_OK) == 0,
       "a module that a run holds stays");
    cleanup_fd(&hold);
    ok(runtimes_sweep(runtimes, arena, &err) == 1 && count_modules(runtimes, arena) == 0,
       "and goes with the next sweep");
    ok(runtimes_find(runtimes, "a", arena, &found, &hold, &err) < 0 && err.code == ERR_NOT_FOUND &&
           runtimes_remove(runtimes, "a", arena, &err) < 0 && err.code == ERR_NOT_FOUND,
       "what was removed is not found: %s", err.message);
}

static int make_file(const struct runtimes *runtimes, const char *name, const char *text)
{
    _cleanup_fd_ int fd =
        openat(runtimes->folder, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    return fd < 0 ? -1 : fd_write_all(fd, text, strlen(text));
}

static void test_problems(const struct runtimes *runtimes, struct arena *arena)
{
    static const char gone[] =
        BEFORE_NAME "\"gone\",\"sha256\":\"" SHA "\",\"bytes\":1,"
                    "\"dirs\":[],\"entry_args\":[],\"added_at\":\"" TIME "\"}";
    static const char *const bad[] = {"fifo", "gone", "link", "torn"};
    static const char *const others[] = {".json", "Bad.json", "notes.txt"};
    struct runtime_list list = {0};
    struct err err = {0};

    ok(add(runtimes, "good", 1, false, arena, &err) == 0 &&
           make_file(runtimes, "gone.json", gone) == 0 &&
           make_file(runtimes, "torn.json", "{\"schema\":") == 0 &&
           mkfifoat(runtimes->folder, "fifo.json", 0600) == 0 &&
           symlinkat("good.json", runtimes->folder, "link.json") == 0,
       "there are a good record and bad ones");
    for (size_t i = 0; i < ARRAY_SIZE(others); i++)
        ok(make_file(runtimes, others[i], "{") == 0, "and a file of somebody else's");
    if (!ok(runtimes_list(runtimes, arena, &list, &err) == 0, "they are listed%s", err.message))
        return;
    ok(list.n_runtimes == 1 && same(list.runtimes[0].name, "good"), "the good one is a runtime");
    ok(list.n_problems == ARRAY_SIZE(bad), "each bad one is a problem, and nothing else");
    for (size_t i = 0; i < list.n_problems && i < ARRAY_SIZE(bad); i++)
        ok(same(list.problems[i].name, bad[i]), "told by its name: %s", list.problems[i].error);

    static const char orphan[] = SHA "0.wasm";
    ok(make_file(runtimes, orphan, "") == 0 && runtimes_sweep(runtimes, arena, &err) == 0 &&
           faccessat(runtimes->folder, orphan, F_OK, 0) == 0,
       "while a record cannot be read, no module goes");
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        ok(runtimes_remove(runtimes, bad[i], arena, &err) == 0, "a damaged one can be removed%s",
           err.message);
    ok(count_modules(runtimes, arena) == 1 && faccessat(runtimes->folder, orphan, F_OK, 0) < 0,
       "then what nobody names goes, and what is named stays");
    ok(runtimes_remove(runtimes, "good", arena, &err) == 0 && count_modules(runtimes, arena) == 0,
       "until its name goes, too");
    for (size_t i = 0; i < ARRAY_SIZE(others); i++)
        ok(unlinkat(runtimes->folder, others[i], 0) == 0, "'%s' was left alone", others[i]);
}

/* A record of a size that could not be read back must not be written. */
static void test_large(const struct runtimes *runtimes, struct arena *arena)
{
    _cleanup_fd_ int module = -1;
    struct digest digest = {{7}};
    struct runtime runtime;
    struct err err = {0};
    char *large = arena_alloc(arena, JSON_MAX_BYTES + 1);

    runtime_init(&runtime);
    runtime.name = "large";
    if (!large || fd_sealed("test", module_bytes, sizeof(module_bytes), &module, &err) < 0)
        return;
    memset(large, 'x', JSON_MAX_BYTES);
    ok(runtime_give_arg(&runtime, arena, large, &err) == 0 &&
           runtimes_add(runtimes, &runtime, module, &digest, false, arena, &err) < 0 &&
           err.code == ERR_REQUEST && count_modules(runtimes, arena) == 0,
       "a record that is too large is refused: %s", err.message);
}

static void test_places(const char *folder, struct arena *arena)
{
    struct runtimes runtimes;
    struct err err = {0};

    ok(runtimes_open(NULL, arena, &runtimes, &err) < 0 && err.code == ERR_HOST && err.hint[0],
       "without a state folder there are none: %s", err.message);
    runtimes_release(&runtimes);
    ok(runtimes_open("/proc/nowhere", arena, &runtimes, &err) < 0 && err.code == ERR_HOST,
       "nor where none can be made: %s", err.message);
    runtimes_release(&runtimes);
    ok(chmod(folder, 0755) == 0 && runtimes_open(folder, arena, &runtimes, &err) < 0 &&
           err.code == ERR_HOST && chmod(folder, 0700) == 0,
       "nor where others can look: %s", err.message);
    runtimes_release(&runtimes);
}

int main(void)
{
    char folder[] = "/tmp/test_runtimes.XXXXXX";
    struct arena *arena = arena_new();
    struct runtimes runtimes = RUNTIMES_NONE;
    struct err err = {0};

    if (!arena || !mkdtemp(folder))
        return 1;
    test_names();
    test_record(arena);
    test_damaged(arena);
    test_given(arena);
    test_put(arena);
    test_places(folder, arena);
    if (ok(runtimes_open(folder, arena, &runtimes, &err) == 0, "the folder is made%s",
           err.message)) {
        test_folder(&runtimes, arena);
        test_problems(&runtimes, arena);
        test_large(&runtimes, arena);
    }
    ok(unlinkat(runtimes.folder, "tmp", AT_REMOVEDIR) == 0 && rmdir(runtimes.path) == 0 &&
           rmdir(folder) == 0,
       "nothing is left in the end, of temporary files either");
    runtimes_release(&runtimes);
    arena_free(arena);
    return done();
}
