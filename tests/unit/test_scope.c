/* Scopes of grants that people write (plan/scope.h): what is one, and what it covers. */
#include "plan/scope.h"

#include <string.h>

#include "base/cleanup.h"
#include "tap.h"

static const struct {
    enum capability capability;
    const char *scope;
    bool is_one;
} rows[] = {
    {CAPABILITY_FS_READ, "/", true},
    {CAPABILITY_FS_READ, "/home/u", true},
    {CAPABILITY_FS_WRITE, "/home//u/", true},
    {CAPABILITY_FS_WRITE, "/home/..u/...", true},
    {CAPABILITY_FS_READ, "", false},
    {CAPABILITY_FS_READ, "*", false},
    {CAPABILITY_FS_READ, "home", false},
    {CAPABILITY_FS_READ, "~/x", false},
    {CAPABILITY_FS_READ, "/home/../etc", false},
    {CAPABILITY_FS_READ, "/home/.", false},
    {CAPABILITY_FS_READ, "/..", false},
    {CAPABILITY_ENV_SET, "A", true},
    {CAPABILITY_ENV_SET, "", false},
    {CAPABILITY_ENV_SET, "A=b", false},
    {CAPABILITY_ENV_SET, "A*", false},
    {CAPABILITY_CODE_RUN, "python", true},
    {CAPABILITY_CODE_RUN, "module:/m.wasm", true},
    {CAPABILITY_CODE_RUN, "ruby", false},
    {CAPABILITY_CODE_RUN, "", false},
    {CAPABILITY_CODE_RUN, "module:m.wasm", false},
    {CAPABILITY_CODE_RUN, "module:/a/../m.wasm", false},
    {CAPABILITY_EXEC_RUN, "/bin/ls", true},
    {CAPABILITY_EXEC_RUN, "/bin/ls *", true},
    {CAPABILITY_EXEC_RUN, "/bin/ls -l 'a b' x*", true},
    {CAPABILITY_EXEC_RUN, "'/opt/a b'", true},
    {CAPABILITY_EXEC_RUN, "", false},
    {CAPABILITY_EXEC_RUN, "ls", false},
    {CAPABILITY_EXEC_RUN, "/bin/*", false},
    {CAPABILITY_EXEC_RUN, "/bin/../bin/ls", false},
    {CAPABILITY_EXEC_RUN, "/bin/ls | sh", false},
    {CAPABILITY_EXEC_RUN, "/bin/ls 'x", false},
    {CAPABILITY_NET_HTTP, "loopback", true},
    {CAPABILITY_NET_HTTP, "GET https://example.com", true},
    {CAPABILITY_NET_HTTP, "GET https://example.com/", true},
    {CAPABILITY_NET_HTTP, "POST http://example.com:8080/a/b", true},
    {CAPABILITY_NET_HTTP, "GET https://127.0.0.1:1/", true},
    {CAPABILITY_NET_HTTP, "", false},
    {CAPABILITY_NET_HTTP, "*", false},
    {CAPABILITY_NET_HTTP, "GET *", false},
    {CAPABILITY_NET_HTTP, "https://example.com/", false},
    {CAPABILITY_NET_HTTP, "get https://example.com/", false},
    {CAPABILITY_NET_HTTP, "GET  https://example.com/", false},
    {CAPABILITY_NET_HTTP, "GET ftp://example.com/", false},
    {CAPABILITY_NET_HTTP, "GET https:///x", false},
    {CAPABILITY_NET_HTTP, "GET https://Example.com/", false},
    {CAPABILITY_NET_HTTP, "GET https://*.example.com/", false},
    {CAPABILITY_NET_HTTP, "GET https://example.com./", false},
    {CAPABILITY_NET_HTTP, "GET https://u@example.com/", false},
    {CAPABILITY_NET_HTTP, "GET https://example.com:/", false},
    {CAPABILITY_NET_HTTP, "GET https://example.com:0/", false},
    {CAPABILITY_NET_HTTP, "GET https://example.com:65536/", false},
    {CAPABILITY_NET_HTTP, "GET https://example.com:443x/", false},
    {CAPABILITY_NET_HTTP, "GET https://example.com?x", false},
    {CAPABILITY_NET_HTTP, "GET https://example.com/?x", false},
    {CAPABILITY_NET_HTTP, "GET https://example.com/a b", false},
    {CAPABILITY_NET_HTTP, "GETGETGETGETGETGETGET https://example.com/", false},
};

/* By components, whatever the slashes. */
static const struct {
    const char *above, *path;
    bool covers;
} path_rows[] = {
    {"/", "/", true},
    {"/", "/a", true},
    {"/a", "/a", true},
    {"/a", "/a/b/c", true},
    {"/a/", "/a/b", true},
    {"//a//b", "/a/b/c", true},
    {"/a", "/a//b", true},
    {"/a", "/", false},
    {"/a", "/ab", false},
    {"/a/b", "/a", false},
    {"/a/b", "/a/c", false},
    {"/a", "/A", false},
    {"a", "a/b", false},
    {"/a", "a/b", false},
    {"", "/a", false},
    {"/a", "", false},
    {"/a/.", "/a/b", false},
    {"/a", "/a/../b", false},
    {"/a/..", "/a/../b", false},
    {"/a", "/a/..b", true},
};

/* Every need of one capability, so that a scope that should be none has something to cover. */
static const struct need needs[] = {
    {CAPABILITY_FS_READ, .path = "/etc"},
    {CAPABILITY_FS_WRITE, .path = "/home/u"},
    {CAPABILITY_ENV_SET, .name = "A"},
    {CAPABILITY_CODE_RUN, .name = "python"},
    {CAPABILITY_CODE_RUN, .path = "/m.wasm"},
    {CAPABILITY_EXEC_RUN, .program = "/bin/ls"},
    {CAPABILITY_EXEC_RUN, .program = "ls"},
    {CAPABILITY_NET_HTTP, .host = "example.com", .port = 443, .method = "GET", .url_path = "/"},
};

static void test_row(size_t i)
{
    struct err err = {0};
    int rc = scope_check(rows[i].capability, rows[i].scope, &err);
    bool covers = false;

    if (rows[i].is_one) {
        ok(rc == 0, "'%s' is a scope of %s%s", rows[i].scope,
           capability_rows[rows[i].capability].name, err.message);
        return;
    }
    for (size_t k = 0; k < ARRAY_SIZE(needs); k++)
        covers |= scope_covers(rows[i].capability, rows[i].scope, &needs[k]);
    ok(rc == -1 && err.code == ERR_REQUEST && !covers, "'%s' is no scope and covers nothing: %s",
       rows[i].scope, err.message);
}

int main(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        test_row(i);
    for (size_t i = 0; i < ARRAY_SIZE(path_rows); i++)
        ok(scope_path_covers(path_rows[i].above, path_rows[i].path) == path_rows[i].covers,
           "'%s' is %s '%s'", path_rows[i].path, path_rows[i].covers ? "beneath" : "not beneath",
           path_rows[i].above);
    ok(!scope_covers(CAPABILITY_FS_READ, "/home/u", &needs[1]),
       "leave to read is no leave to write");
    ok(scope_covers(CAPABILITY_FS_WRITE, "/etc", &needs[0]), "leave to write is leave to read");
    ok(scope_covers(CAPABILITY_CODE_RUN, "module:/m.wasm", &needs[4]) &&
           !scope_covers(CAPABILITY_CODE_RUN, "module:/etc", &needs[0]),
       "leave to run a module is no leave to read");
    ok(!scope_covers(CAPABILITY_FS_READ, NULL, &needs[0]), "no scope covers nothing");
    return done();
}
