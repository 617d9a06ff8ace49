#include "tap.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "plan/request.h"

/* What a request grants, in short: "host>guest:ro host>guest+.:rw". */
static const char *const access_words[] = {
    [ACCESS_RO] = "ro", [ACCESS_RW] = "rw", [ACCESS_OVERLAY] = "overlay"};

static void describe(const struct request *request, struct buf *into)
{
    for (size_t i = 0; i < request->n_dirs; i++) {
        const struct request_dir *dir = &request->dirs[i];
        if (buf_printf(into, "%s%s>%s%s:%s", i ? " " : "", dir->host, dir->guest,
                       dir->also_dot ? "+." : "", access_words[dir->access]) < 0)
            abort();
    }
}

#define MAX_TEXTS 4

struct dir_row {
    const char *texts[MAX_TEXTS];
    const char *granted; /* NULL: the last one is refused */
    const char *message; /* part of the refusal */
    const char *sentence;
};

static const struct dir_row dir_rows[] = {
    {{"ws"}, "ws>ws+.:rw", NULL, "a plain directory is read-write, found as given and as '.'"},
    {{"/a/b"}, "/a/b>/a/b+.:rw", NULL, "an absolute one likewise"},
    {{"ws", "data"}, "ws>ws+.:rw data>data:rw", NULL, "only the first plain one is '.'"},
    {{"a::/x", "ws"}, "a>/x:rw ws>ws+.:rw", NULL, "one with a guest path does not count as first"},
    {{"."}, ".>.:rw", NULL, "the working directory is '.' once"},
    {{"./"}, "./>./:rw", NULL, "and so with a slash"},
    {{".", "ws"}, ".>.:rw ws>ws:rw", NULL, "a later plain one leaves '.' alone"},
    {{"a::/x:ro", "b::/y:rw"}, "a>/x:ro b>/y:rw", NULL, "access is said after the guest path"},
    {{"a::/x"}, "a>/x:rw", NULL, "without a word it is read-write"},
    {{"a:b"}, "a:b>a:b+.:rw", NULL, "a single colon is part of a plain path"},
    {{"a:b::/x"}, "a:b>/x:rw", NULL, "and of a host path"},
    {{"a::.:ro"}, "a>.:ro", NULL, "a guest path can be '.'"},
    {{"a::x", "b::/x"}, "a>x:rw b>/x:rw", NULL, "a relative and an absolute guest path differ"},
    {{"/::/host:ro"}, "/>/host:ro", NULL, "the whole host can be granted read-only by name"},
    {{"a b::/c d:ro"}, "a b>/c d:ro", NULL, "blanks are no matter"},
    {{""}, NULL, "the host path of a directory is empty", "an empty path is refused"},
    {{"::/x"}, NULL, "the host path of a directory is empty", "an empty host path is refused"},
    {{"a::"}, NULL, "the guest path of a directory is empty", "an empty guest path is refused"},
    {{"a:::ro"}, NULL, "more than one '::'", "an empty guest path with access is refused"},
    {{"a::b::c"}, NULL, "goes into a manifest", "'::' inside a path is sent to a manifest"},
    {{"a:::b"}, NULL, "goes into a manifest", "so are three colons"},
    {{"a::/x:overlay"}, NULL, "'overlay' is not there for wasm", "overlay is refused"},
    {{"a::/x:r"}, NULL, "'r' is no access", "a misspelt access is refused, not granted"},
    {{"a::/x:RO"}, NULL, "'RO' is no access", "access is written in lower case"},
    {{"a::/x:"}, NULL, "'' is no access", "an empty access is refused"},
    {{"a::/x:y:ro"}, NULL, "'y:ro' is no access", "a colon inside a guest path is refused"},
    {{"a::/x:ro:rw"}, NULL, "'ro:rw' is no access", "two accesses are refused"},
    {{"/"}, NULL, "the whole host", "a plain '/' is refused"},
    {{"//./"}, NULL, "the whole host", "'/' in other words is refused"},
    {{"/tmp/.."}, NULL, "the whole host", "'/' by way of '..' is refused"},
    {{"/../.."}, NULL, "the whole host", "'..' above '/' is '/'"},
    {{"/::/host"}, NULL, "the whole host", "'/' with write access is refused"},
    {{"/::/host:rw"}, NULL, "the whole host", "also when that is written out"},
    {{"a", "a"}, NULL, "'a' is given twice", "the same path twice is refused"},
    {{"a", "./a/"}, NULL, "'./a/' is given twice", "dots and slashes do not make it another"},
    {{"a::/x", "b::/x//"}, NULL, "'/x//' is given twice", "the same guest path twice is refused"},
    {{"a::/x/y", "b::/x/./y"}, NULL, "is given twice", "also with a dot in the middle"},
    {{"a::.", "b"}, NULL, "'.' is given twice", "'.' cannot be given and be the first plain one"},
    {{"b", "a::."}, NULL, "'.' is given twice", "in either order"},
    {{"b", "a::./"}, NULL, "'./' is given twice", "however '.' is written"},
    {{"ws", "."}, NULL, "'.' is given twice", "a plain '.' must come first"},
};

#define TAKEN "is the system's own place"

static const struct dir_row native_dir_rows[] = {
    {{"ws"}, "ws>ws:rw", NULL, "a plain directory of a native guest is no '.'"},
    {{"/a/b"}, "/a/b>/a/b:rw", NULL, "nor is an absolute one"},
    {{".", "ws"}, ".>.:rw ws>ws:rw", NULL, "plain ones in any order"},
    {{"ws", "."}, "ws>ws:rw .>.:rw", NULL, "'.' need not come first"},
    {{"../up"}, "../up>../up:rw", NULL, "'..' in a plain path is the host's matter"},
    {{"a::/x:overlay"}, "a>/x:overlay", NULL, "a native guest has overlays"},
    {{"a::/x", "b::/x/y:ro"}, "a>/x:rw b>/x/y:ro", NULL, "one may lie in another"},
    {{"a::/etc/app:ro"}, "a>/etc/app:ro", NULL, "below /etc there is room"},
    {{"a::/usr/local/x"}, "a>/usr/local/x:rw", NULL, "and below /usr, as far as its text tells"},
    {{"a::/tmp"}, "a>/tmp:rw", NULL, "scratch space can be replaced"},
    {{"a::/library"}, "a>/library:rw", NULL, "/library is not /lib"},
    {{"a::/developer"}, "a>/developer:rw", NULL, "/developer is not /dev"},
    {{"a::/x/dev"}, "a>/x/dev:rw", NULL, "names deeper down are free"},
    {{"/::/host:ro"}, "/>/host:ro", NULL, "the whole host can be granted read-only by name"},
    {{"a::x"}, NULL, "not absolute", "a relative guest path is refused"},
    {{"a::."}, NULL, "not absolute", "so is '.'"},
    {{"a::/x/../y"}, NULL, "without '..'", "'..' in a guest path is refused"},
    {{"a::/"}, NULL, "the guest's root", "the guest's root is refused"},
    {{"a:://.//"}, NULL, "the guest's root", "and in other words"},
    {{"a::/./"}, NULL, "the guest's root", "with dots too"},
    {{"a::/proc"}, NULL, TAKEN, "/proc is refused"},
    {{"a::/proc/x"}, NULL, TAKEN, "and what is below it"},
    {{"a::/dev"}, NULL, TAKEN, "/dev is refused"},
    {{"a::/dev/shm"}, NULL, TAKEN, "and what is below it"},
    {{"a::/sys/x"}, NULL, TAKEN, "/sys is refused"},
    {{"a::/code"}, NULL, TAKEN, "/code is refused"},
    {{"a::/code/x"}, NULL, TAKEN, "and what is below it"},
    {{"a::/usr"}, NULL, TAKEN, "/usr itself is refused"},
    {{"a::/.//usr/."}, NULL, TAKEN, "however it is written"},
    {{"a::/etc"}, NULL, TAKEN, "/etc itself is refused"},
    {{"a::/bin"}, NULL, TAKEN, "/bin is refused"},
    {{"a::/sbin"}, NULL, TAKEN, "/sbin is refused"},
    {{"a::/lib"}, NULL, TAKEN, "/lib is refused"},
    {{"a::/lib64"}, NULL, TAKEN, "/lib64 is refused"},
    {{"/usr"}, NULL, TAKEN, "a plain path that is such a place is refused"},
    {{"/proc/self"}, NULL, TAKEN, "and one below it"},
    {{"/"}, NULL, "the whole host", "a plain '/' is refused"},
    {{"/::/host:overlay"}, NULL, "the whole host", "the whole host as overlay is refused"},
    {{"a::/x", "b::/./x"}, NULL, "is given twice", "the same guest path twice is refused"},
    {{"/a", "b::/a"}, NULL, "is given twice", "also where one of them is plain"},
    {{"a::/x:over"}, NULL, "'over' is no access", "a misspelt access is refused, not granted"},
};

static void test_dir_row(const struct dir_row *row, enum backend backend)
{
    _cleanup_(buf_release) struct buf granted = BUF_INIT(4096);
    struct arena *arena = arena_new();
    struct request request;
    struct err err = {0};
    int rc = 0;
    size_t added = 0;

    request_init(&request, backend);
    for (; added < MAX_TEXTS && row->texts[added] && rc == 0; added++)
        rc = request_add_dir_text(&request, arena, row->texts[added], &err);
    describe(&request, &granted);
    bool holds = row->granted
                     ? rc == 0 && strcmp(granted.data, row->granted) == 0
                     : rc == -1 && err.code == ERR_REQUEST && request.n_dirs == added - 1 &&
                           strstr(err.message, row->message);
    if (!ok(holds, "%s", row->sentence))
        printf("# %s, %s\n", granted.data ? granted.data : "", err.message);
    arena_free(arena);
}

static void test_dirs(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(dir_rows); i++)
        test_dir_row(&dir_rows[i], BACKEND_WASM);
    for (size_t i = 0; i < ARRAY_SIZE(native_dir_rows); i++)
        test_dir_row(&native_dir_rows[i], BACKEND_NATIVE);
}

static void test_dir_parts(struct arena *arena)
{
    struct request request;
    struct err err;

    request_init(&request, BACKEND_WASM);
    ok(request_add_dir(&request, arena, "m", "ws", NULL, ACCESS_RO, &err) == 0 &&
           strcmp(request.dirs[0].host, "m/ws") == 0 && strcmp(request.dirs[0].guest, "ws") == 0 &&
           request.dirs[0].also_dot && request.dirs[0].access == ACCESS_RO,
       "a path from a manifest counts from its folder and is found as written");
    ok(request_add_dir(&request, arena, "m", "/abs::x", "a:b", ACCESS_RW, &err) == 0 &&
           strcmp(request.dirs[1].host, "/abs::x") == 0 &&
           strcmp(request.dirs[1].guest, "a:b") == 0,
       "an absolute path stays, and colons are no matter in parts");
    ok(request_add_dir(&request, arena, "/", ".", NULL, ACCESS_RW, &err) == -1 &&
           strstr(err.message, "the whole host"),
       "the whole host is seen behind its base");
    ok(request_add_dir(&request, arena, "m", "", NULL, ACCESS_RW, &err) == -1,
       "an empty path is not its base");

    request_init(&request, BACKEND_WASM);
    ok(request_add_workspace(&request, arena, "m/", "ws", &err) == 0 &&
           strcmp(request.dirs[0].host, "m/ws") == 0 && strcmp(request.dirs[0].guest, ".") == 0 &&
           request.dirs[0].access == ACCESS_RW && !request.dirs[0].also_dot,
       "a workspace is '.', read-write");
    ok(request_add_dir(&request, arena, NULL, "data", NULL, ACCESS_RO, &err) == 0 &&
           !request.dirs[1].also_dot,
       "a directory beside a workspace is found as written alone");
}

static void test_dir_caps(struct arena *arena)
{
    char path[PATH_MAX + 1];
    struct request request;
    struct err err;
    int rc = 0;

    request_init(&request, BACKEND_WASM);
    for (int i = 0; i < REQUEST_MAX_DIRS && rc == 0; i++) {
        (void) snprintf(path, sizeof(path), "d%d", i); /* fits */
        rc = request_add_dir_text(&request, arena, path, &err);
    }
    ok(rc == 0 && request_add_dir_text(&request, arena, "more", &err) == -1 &&
           strstr(err.message, "more than 64"),
       "64 directories are taken and no more");
    request_init(&request, BACKEND_WASM);
    memset(path, 'x', PATH_MAX);
    path[PATH_MAX] = '\0';
    ok(request_add_dir_text(&request, arena, path, &err) == -1 &&
           strstr(err.message, "longer than"),
       "a path longer than the kernel takes is refused");
    path[PATH_MAX - 1] = '\0';
    ok(request_add_dir_text(&request, arena, path, &err) == 0,
       "the longest that it takes is taken");
}

static void test_env(struct arena *arena)
{
    static const struct {
        const char *text, *message, *sentence;
    } rows[] = {
        {"A=1", NULL, "an assignment is taken"},
        {"B=", NULL, "an empty value is taken"},
        {"C=x=y", NULL, "'=' in a value is taken"},
        {"AA=1", NULL, "a name that begins like another is taken"},
        {"a=1", NULL, "names differ by case"},
        {"A=2", "'A' is given twice", "a name twice is refused"},
        {"B", "'B' has no value", "a name without a value is refused, not inherited"},
        {"", "has no value", "nothing is refused"},
        {"=x", "without a name", "an empty name is refused"},
    };
    struct request request;

    request_init(&request, BACKEND_WASM);
    ok(request.env[0] == NULL && request.args[0] == NULL && request.n_dirs == 0,
       "an empty request holds nothing");
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct err err = {0};
        size_t before = request.n_env;
        int rc = request_add_env(&request, arena, rows[i].text, false, &err);
        if (rows[i].message)
            ok(rc == -1 && err.code == ERR_REQUEST && strstr(err.message, rows[i].message) &&
                   request.n_env == before,
               "%s", rows[i].sentence);
        else
            ok(rc == 0 && strcmp(request.env[before], rows[i].text) == 0 &&
                   !request.env[before + 1],
               "%s", rows[i].sentence);
    }
    struct err err;
    (void) request_add_env(&request, arena, "A=hunter2", false, &err); /* looked at below */
    ok(!strstr(err.message, "hunter2"), "a message does not show a value");
}

static void test_caps(struct arena *arena)
{
    struct request request;
    struct err err;
    char text[32];
    int rc = 0;

    request_init(&request, BACKEND_WASM);
    for (int i = 0; i < REQUEST_MAX_ARGS && rc == 0; i++) {
        (void) snprintf(text, sizeof(text), "%d", i); /* fits */
        rc = request_add_arg(&request, arena, text, &err);
    }
    ok(rc == 0 && request.n_args == REQUEST_MAX_ARGS && strcmp(request.args[65535], "65535") == 0 &&
           strcmp(request.args[1023], "1023") == 0 && !request.args[65536],
       "65536 arguments are kept in order");
    ok(request_add_arg(&request, arena, "x", &err) == -1 && strstr(err.message, "more than 65536"),
       "and one more is refused");

    for (int i = 0; i < REQUEST_MAX_ENV && rc == 0; i++) {
        (void) snprintf(text, sizeof(text), "V%d=", i); /* fits */
        rc = request_add_env(&request, arena, text, false, &err);
    }
    ok(rc == 0 && request_add_env(&request, arena, "X=", false, &err) == -1,
       "4096 variables are taken and no more");

    _cleanup_free_ char *large = calloc(1, REQUEST_MAX_STRINGS_BYTES + 1);
    if (!large)
        abort();
    request_init(&request, BACKEND_WASM);
    memset(large, 'x', REQUEST_MAX_STRINGS_BYTES - 3);
    ok(request_add_arg(&request, arena, large, &err) == 0, "nearly 4 MiB of arguments are taken");
    ok(request_add_env(&request, arena, "A=", false, &err) == -1 && strstr(err.message, "4 MiB") &&
           request_add_arg(&request, arena, "", &err) == 0 && request.n_args == 2,
       "but all strings together are bounded, with their NULs");
}

static void test_labels(struct arena *arena)
{
    struct request request;
    struct err err;
    char name[16];
    int rc = 0;

    request_init(&request, BACKEND_WASM);
    ok(request_add_label(&request, arena, "job", "7", &err) == 0 && request.n_labels == 1 &&
           strcmp(request.labels[0].name, "job") == 0 && strcmp(request.labels[0].value, "7") == 0,
       "a label is kept");
    ok(request_add_label(&request, arena, "job", "8", &err) == -1, "a label twice is refused");
    ok(request_add_label(&request, arena, "", "8", &err) == -1, "a label needs a name");
    for (int i = 1; i < REQUEST_MAX_LABELS && rc == 0; i++) {
        (void) snprintf(name, sizeof(name), "l%d", i); /* fits */
        rc = request_add_label(&request, arena, name, "", &err);
    }
    ok(rc == 0 && request_add_label(&request, arena, "x", "", &err) == -1 && request.n_labels == 64,
       "64 labels are taken and no more");
}

static void test_settings(struct arena *arena)
{
    static const char pin[] = "00112233445566778899aabbccddeeff00112233445566778899AABBCCDDEEFF";
    struct request request;
    struct err err;

    request_init(&request, BACKEND_WASM);
    ok(request.isolation == ISOLATION_FULL &&
           request_set_isolation(&request, "landlock", &err) == 0 &&
           request.isolation == ISOLATION_LANDLOCK,
       "isolation is full unless the weaker rung is named");
    ok(request_set_isolation(&request, "none", &err) == -1 && strstr(err.message, "'full'"),
       "another name is refused with the ones there are");
    ok(request_set_pin(&request, arena, pin, &err) == 0 && strcmp(request.module_sha256, pin) == 0,
       "a pin of 64 hex digits is taken");
    ok(request_set_pin(&request, arena, pin + 1, &err) == -1, "one of 63 is refused");
}

typedef int set_text(struct request *request, const char *name, struct err *err);

static void test_choices(void)
{
    static const struct {
        set_text *set;
        const char *const *names;
    } rows[] = {
        {request_set_isolation, request_isolation_names},
        {request_set_network, request_network_names},
        {request_set_proc, request_proc_names},
        {request_set_apply, request_apply_names},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct request request;
        struct err err = {0};
        bool taken = true;
        request_init(&request, BACKEND_NATIVE);
        for (size_t k = 0; rows[i].names[k]; k++)
            taken = taken && rows[i].set(&request, rows[i].names[k], &err) == 0;
        ok(taken, "every choice of which '%s' is one is taken", rows[i].names[0]);
        ok(rows[i].set(&request, "bogus", &err) == -1 && err.code == ERR_REQUEST &&
               strstr(err.message, "'bogus'") && strstr(err.message, rows[i].names[1]),
           "another is refused, with those there are: %s", err.message);
        ok(rows[i].set(&request, "", &err) == -1, "so is none");
    }
}

static void test_native_parts(struct arena *arena)
{
    static char large[SOURCE_MAX_BYTES + 1];
    struct request request;
    struct err err;

    request_init(&request, BACKEND_NATIVE);
    ok(request_set_program(&request, arena, "", &err) == -1 && !request.program &&
           request_set_program(&request, arena, "python3", &err) == 0 &&
           strcmp(request.program, "python3") == 0,
       "a program has a name");
    ok(request_set_cwd(&request, arena, "ws", &err) == -1 && strstr(err.message, "not absolute") &&
           request_set_cwd(&request, arena, "", &err) == -1 && !request.cwd &&
           request_set_cwd(&request, arena, "/ws", &err) == 0 && strcmp(request.cwd, "/ws") == 0,
       "a working directory is absolute");
    ok(request_set_rootfs(&request, arena, NULL, "/", &err) == -1 &&
           strstr(err.message, "whole host") &&
           request_set_rootfs(&request, arena, "/m", "..", &err) == -1 &&
           request_set_rootfs(&request, arena, NULL, "", &err) == -1 && !request.rootfs &&
           request_set_rootfs(&request, arena, "m", "tree", &err) == 0 &&
           strcmp(request.rootfs, "m/tree") == 0,
       "a root is any folder but the host's own root");
    memset(large, 'x', sizeof(large));
    ok(request_set_source(&request, arena, large, sizeof(large), &err) == -1 &&
           request_set_source(&request, arena, "", 0, &err) == -1 &&
           request_set_source(&request, arena, "a\0b", 3, &err) == -1 && !request.source,
       "source that is too large, empty or no text is refused");
    ok(request_set_source(&request, arena, large, sizeof(large) - 1, &err) == 0 &&
           request.source_len == SOURCE_MAX_BYTES && request.strings_bytes == SOURCE_MAX_BYTES + 1,
       "1 MiB of source is taken, and counts");
    ok(request_add_unprotected(&request, arena, "src", &err) == -1 &&
           strstr(err.message, "'src' is no protected name") && request.n_unprotected == 0,
       "what is not protected cannot be unprotected");
    ok(request_add_unprotected(&request, arena, ".envrc", &err) == 0 &&
           request_add_unprotected(&request, arena, ".envrc", &err) == 0 &&
           request_add_unprotected(&request, arena, ".git/hooks", &err) == 0 &&
           request.n_unprotected == 2 && strcmp(request.unprotected[1], ".git/hooks") == 0 &&
           !request.unprotected[2],
       "protected names are kept, each once");
}

static void test_prepend(struct arena *arena)
{
    static const char *const first[] = {"a", "", "c"};
    struct request request;
    struct err err;
    int rc = 0;

    request_init(&request, BACKEND_WASM);
    ok(request_prepend_args(&request, arena, NULL, 0, &err) == 0 && request.n_args == 0 &&
           !request.args[0],
       "nothing before nothing is nothing");
    ok(request_add_arg(&request, arena, "x", &err) == 0 &&
           request_prepend_args(&request, arena, first, 3, &err) == 0 && request.n_args == 4 &&
           strcmp(request.args[0], "a") == 0 && strcmp(request.args[3], "x") == 0 &&
           !request.args[4],
       "arguments are put before those there are");
    ok(request.strings_bytes == sizeof("a") + sizeof("") + sizeof("c") + sizeof("x"),
       "and each is counted once");
    while (rc == 0 && request.n_args < REQUEST_MAX_ARGS - 2)
        rc = request_add_arg(&request, arena, "", &err);
    ok(rc == 0 && request_prepend_args(&request, arena, first, 3, &err) == -1 &&
           err.code == ERR_REQUEST,
       "more than all may be are refused");
}

int main(void)
{
    struct arena *arena = arena_new();

    test_dirs();
    test_dir_parts(arena);
    test_dir_caps(arena);
    test_env(arena);
    test_caps(arena);
    test_labels(arena);
    test_settings(arena);
    test_choices();
    test_native_parts(arena);
    test_prepend(arena);
    arena_free(arena);
    return done();
}
