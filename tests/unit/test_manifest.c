#include "tap.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "plan/manifest.h"

#define WASM "{\"kind\":\"wasm-run\",\"module\":\"m.wasm\""
#define SAMPLE "{\"kind\":\"sample\",\"sample\":\"s\",\"workspace\":\"w\""
#define PIN "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

static int parse(const char *text, struct arena *arena, struct manifest *manifest, struct err *err)
{
    return manifest_parse(text, strlen(text), "dir", NULL, NULL, arena, manifest, err);
}

static bool same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static void test_sample(struct arena *arena)
{
    static const char text[] = "{\"kind\":\"sample\",\"sample\":\"workspace-probe\","
                               "\"workspace\":\"workspace\",\"env\":{\"TASK_ID\":\"abc123\"}}";
    struct manifest manifest;
    struct err err;

    if (!ok(parse(text, arena, &manifest, &err) == 0, "the sample of CONTRACT is taken"))
        return;
    const struct request *request = &manifest.request;
    ok(manifest.kind == MANIFEST_SAMPLE && same(manifest.sample, "workspace-probe") &&
           same(manifest.workspace, "dir/workspace") && !request->module,
       "it has its name and its workspace, from the manifest's folder");
    ok(request->n_dirs == 1 && same(request->dirs[0].host, "dir/workspace") &&
           same(request->dirs[0].guest, ".") && request->dirs[0].access == ACCESS_RW,
       "the workspace is '.', read-write");
    ok(request->n_env == 1 && same(request->env[0], "TASK_ID=abc123"), "the environment is set");

    static const char reversed[] = "{\"allow_dirs\":[{\"path\":\"d\"}],\"workspace\":\"/w\","
                                   "\"sample\":\"s\",\"kind\":\"sample\"}";
    ok(parse(reversed, arena, &manifest, &err) == 0 && manifest.request.n_dirs == 2 &&
           same(manifest.request.dirs[0].host, "/w") && same(manifest.request.dirs[1].guest, "d") &&
           !manifest.request.dirs[1].also_dot,
       "the workspace is '.' wherever its key stands");
}

static const char everything[] =
    "{\"kind\":\"wasm-run\",\"module\":\"m.wasm\",\"module_sha256\":\"" PIN "\","
    "\"args\":[\"-c\",\"\",\"x y\"],\"stdin\":{\"base64\":\"AP8=\"},"
    "\"env\":{\"B\":\"2\",\"A\":\"x=y\",\"E\":\"\"},"
    "\"allow_dirs\":[{\"path\":\"in\"},{\"path\":\"/out\",\"access\":\"read-write\",\"guest\":\"/"
    "o\"}],"
    "\"limits\":{\"timeout_ms\":1500,\"memory_bytes\":1048576,\"fuel\":5,\"disk_bytes\":"
    "\"unlimited\","
    "\"processes\":1,\"stack_bytes\":65536},"
    "\"isolation\":\"landlock\",\"labels\":{\"team\":\"a\",\"job\":\"7\"},"
    "\"network\":{\"mode\":\"none\",\"allow\":[]},\"backend\":\"wasm\",\"lifecycle\":\"call\","
    "\"capabilities\":[],\"commands\":[],\"secrets\":[],\"grants\":[\"g\"],"
    "\"secret_env\":[\"K\",\"L\"],"
    "\"tier\":\"medium\",\"policy\":\"p.yaml\""
    "}";

static void test_everything(struct arena *arena)
{
    struct manifest manifest;
    struct err err = {0};

    if (!ok(parse(everything, arena, &manifest, &err) == 0, "a manifest with every key is taken")) {
        printf("# %s\n", err.message);
        return;
    }
    ok(manifest.tier == TIER_MEDIUM && same(manifest.policy, "dir/p.yaml") &&
           manifest.n_grants == 1 && same(manifest.grants[0], "g"),
       "tier, policy and grants are taken");
    const struct request *request = &manifest.request;
    const uint64_t *limits = request->limits.value;
    ok(manifest.kind == MANIFEST_WASM_RUN && !manifest.sample && !manifest.workspace &&
           same(request->module, "dir/m.wasm") && same(request->module_sha256, PIN),
       "module and pin are kept");
    ok(request->n_args == 3 && same(request->args[1], "") && same(request->args[2], "x y") &&
           request->n_secret_env == 2 && same(request->secret_env[1], "L") && !request->secrets &&
           request->n_env == 3 && same(request->env[0], "B=2") && same(request->env[1], "A=x=y") &&
           same(request->env[2], "E="),
       "arguments and environment are kept in order");
    ok(request->stdin_kind == STDIN_BYTES && request->stdin_len == 2 &&
           memcmp(request->stdin_bytes, "\0\xff", 2) == 0,
       "stdin is decoded");
    ok(request->n_dirs == 2 && same(request->dirs[0].host, "dir/in") &&
           same(request->dirs[0].guest, "in") && request->dirs[0].also_dot &&
           request->dirs[0].access == ACCESS_RO && same(request->dirs[1].host, "/out") &&
           same(request->dirs[1].guest, "/o") && request->dirs[1].access == ACCESS_RW,
       "directories are read-only unless said, and found as written");
    ok(limits[LIMIT_WALL] == 1500 * NS_PER_MS && limits[LIMIT_MEMORY] == 1 << 20 &&
           limits[LIMIT_FUEL] == 5 && limits[LIMIT_DISK] == UNITS_UNLIMITED &&
           limits[LIMIT_STACK] == 65536 && limits[LIMIT_CPU] == 30 * NS_PER_S,
       "limits are set, the others keep their default");
    ok(request->isolation == ISOLATION_LANDLOCK && request->n_labels == 2 &&
           same(request->labels[0].name, "team") && same(request->labels[1].value, "7"),
       "isolation and labels are kept");
}

static void test_bases(struct arena *arena)
{
    static const struct {
        const char *base, *path;
    } rows[] = {{NULL, "m.wasm"},      {"", "m.wasm"},     {".", "./m.wasm"},
                {"a/b", "a/b/m.wasm"}, {"a/", "a/m.wasm"}, {"/", "/m.wasm"}};
    static const char text[] = WASM "}";
    static const char file[] = WASM ",\"stdin\":{\"file\":\"in.txt\"}}";
    static const char words[] = WASM ",\"stdin\":{\"text\":\"h\\u00e9\"}}";
    struct manifest manifest;
    struct err err;

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        ok(manifest_parse(text, strlen(text), rows[i].base, NULL, NULL, arena, &manifest, &err) ==
                   0 &&
               same(manifest.request.module, rows[i].path),
           "from the folder '%s' a module is %s", rows[i].base ? rows[i].base : "none",
           rows[i].path);
    ok(parse(file, arena, &manifest, &err) == 0 && manifest.request.stdin_kind == STDIN_FILE &&
           same(manifest.request.stdin_path, "dir/in.txt"),
       "stdin from a file counts from the folder too");
    ok(parse(words, arena, &manifest, &err) == 0 && manifest.request.stdin_kind == STDIN_BYTES &&
           manifest.request.stdin_len == 3 && same(manifest.request.stdin_bytes, "h\xc3\xa9"),
       "stdin can be a text");
    ok(parse(text, arena, &manifest, &err) == 0 && manifest.request.stdin_kind == STDIN_NONE,
       "without the key there is no stdin");
}

/* Each with how its message begins: the path of the key. */
static const struct {
    const char *text, *message;
} refused[] = {
    {"", "manifest: line 1"},
    {"[]", "manifest: must be an object, not an array"},
    {"null", "manifest: must be an object, not null"},
    {"{}", "kind: is missing"},
    {"{\"kind\":null}", "kind: must be a string, not null"},
    {"{\"kind\":\"wasm\"}", "kind: unknown kind 'wasm'"},
    {"{\"kind\":\"wasm-run\"}", "module: is missing"},
    {"{\"kind\":\"wasm-run\",\"module\":\"\"}", "module: must not be empty"},
    {"{\"kind\":\"wasm-run\",\"module\":7}", "module: must be a string, not an integer"},
    {"{\"kind\":\"sample\",\"workspace\":\"w\"}", "sample: is missing"},
    {"{\"kind\":\"sample\",\"sample\":\"\",\"workspace\":\"w\"}", "sample: must not be empty"},
    {"{\"kind\":\"sample\",\"sample\":\"s\"}", "workspace: is missing"},
    {"{\"kind\":\"sample\",\"sample\":\"s\",\"workspace\":\"\"}", "workspace: the workspace path"},
    {"{\"kind\":\"sample\",\"sample\":\"s\",\"workspace\":\"/\"}",
     "workspace: directory '/' is the"},
    {SAMPLE ",\"module\":\"m\"}", "module: is a key of kind 'wasm-run', not of 'sample'"},
    {SAMPLE ",\"allow_dirs\":[{\"path\":\"x\",\"guest\":\".\"}]}",
     "allow_dirs[0]: guest path '.' is"},
    {WASM ",\"workspace\":\"w\"}", "workspace: is a key of kind 'sample', not of 'wasm-run'"},
    {WASM ",\"argv\":[]}", "argv: is a key of kind 'native-run', not of 'wasm-run'"},
    {WASM ",\"source\":\"\"}", "source: is a key of kind 'code', not of 'wasm-run'"},
    {WASM ",\"allow_dir\":[]}", "allow_dir: unknown key"},
    {WASM ",\"\":1}", ": unknown key"},
    {WASM ",\"module\":\"n\"}", "manifest: line 1, column"},
    {WASM ",\"module_sha256\":\"abc\"}", "module_sha256: 'abc' is not a SHA-256"},
    {WASM ",\"args\":\"x\"}", "args: must be an array, not a string"},
    {WASM ",\"args\":[\"a\",1]}", "args[1]: must be a string, not an integer"},
    {WASM ",\"args\":[null]}", "args[0]: must be a string, not null"},
    {WASM ",\"args\":[\"a\\u0000b\"]}", "manifest: line 1, column"},
    {WASM ",\"env\":[]}", "env: must be an object, not an array"},
    {WASM ",\"env\":{\"A\":1}}", "env.A: must be a string, not an integer"},
    {WASM ",\"env\":{\"A=B\":\"c\"}}", "env.A=B: the name of a variable must not contain '='"},
    {WASM ",\"env\":{\"\":\"c\"}}", "env.: environment variable without a name"},
    {WASM ",\"env\":{\"A\\u0000\":\"c\"}}", "manifest: line 1, column"},
    {WASM ",\"env\":{\"A\":\"\",\"A\":\"\"}}", "manifest: line 1, column"},
    {WASM ",\"stdin\":\"x\"}", "stdin: must be an object, not a string"},
    {WASM ",\"stdin\":{}}", "stdin: needs exactly one"},
    {WASM ",\"stdin\":{\"text\":\"\",\"file\":\"f\"}}", "stdin: needs exactly one"},
    {WASM ",\"stdin\":{\"path\":\"\"}}", "stdin.path: unknown key"},
    {WASM ",\"stdin\":{\"base64\":\"A\"}}", "stdin.base64: not base64"},
    {WASM ",\"stdin\":{\"file\":\"\"}}", "stdin.file: must not be empty"},
    {WASM ",\"stdin\":{\"text\":null}}", "stdin.text: must be a string, not null"},
    {WASM ",\"allow_dirs\":{}}", "allow_dirs: must be an array, not an object"},
    {WASM ",\"allow_dirs\":[\"x\"]}", "allow_dirs[0]: must be an object, not a string"},
    {WASM ",\"allow_dirs\":[{}]}", "allow_dirs[0].path: is missing"},
    {WASM ",\"allow_dirs\":[{\"path\":\"\"}]}",
     "allow_dirs[0]: the host path of a directory is empty"},
    {WASM ",\"allow_dirs\":[{\"path\":\"a\",\"guest\":\"\"}]}", "allow_dirs[0]: the guest path"},
    {WASM ",\"allow_dirs\":[{\"path\":\"a\"},{\"path\":\"b\",\"access\":\"rw\"}]}",
     "allow_dirs[1].access: unknown access 'rw'"},
    {WASM ",\"allow_dirs\":[{\"path\":\"a\",\"access\":\"overlay\"}]}",
     "allow_dirs[0].access: 'overlay' is not there for wasm"},
    {WASM ",\"allow_dirs\":[{\"path\":\"a\",\"access\":null}]}",
     "allow_dirs[0].access: must be a string, not null"},
    {WASM ",\"allow_dirs\":[{\"path\":\"a\",\"mode\":\"x\"}]}", "allow_dirs[0].mode: unknown key"},
    {WASM ",\"allow_dirs\":[{\"path\":\"a\"},{\"path\":\"./a\"}]}",
     "allow_dirs[1]: guest path './a'"},
    {WASM ",\"allow_dirs\":[{\"path\":\"/\"}]}", "allow_dirs[0]: directory '/' is the whole host"},
    {WASM ",\"limits\":[]}", "limits: must be an object"},
    {WASM ",\"limits\":{\"timeout\":1}}", "limits.timeout: unknown key"},
    {WASM ",\"limits\":{\"timeout_ms\":0}}", "limits.timeout_ms: 0 is refused"},
    {WASM ",\"limits\":{\"timeout_ms\":-1}}", "limits.timeout_ms: -1 is refused"},
    {WASM ",\"limits\":{\"timeout_ms\":\"30s\"}}", "limits.timeout_ms: must be an integer or"},
    {WASM ",\"limits\":{\"timeout_ms\":null}}", "limits.timeout_ms: must be an integer or"},
    {WASM ",\"limits\":{\"timeout_ms\":1.5}}",
     "manifest: limits.timeout_ms: numbers with a fraction"},
    {WASM ",\"limits\":{\"fuel\":9007199254740992}}", "manifest: limits.fuel: integers beyond"},
    {WASM ",\"limits\":{\"memory_bytes\":4294967297}}",
     "limits.memory_bytes: 4294967297 is above 4GiB"},
    {WASM ",\"limits\":{\"memory_bytes\":\"unlimited\"}}",
     "limits.memory_bytes: cannot be unlimited"},
    {WASM ",\"limits\":{\"processes\":2}}", "limits.processes: 2 is above 1"},
    {WASM ",\"limits\":{\"processes\":\"1\"}}", "limits.processes: must be an integer"},
    {WASM ",\"isolation\":\"none\"}", "isolation: unknown isolation 'none'"},
    {WASM ",\"labels\":{\"a\":1}}", "labels.a: must be a string"},
    {WASM ",\"labels\":{\"\":\"\"}}", "labels.: label without a name"},
    {WASM ",\"network\":{}}", "network.mode: is missing"},
    {WASM ",\"network\":{\"mode\":\"allowlist\"}}", "network.mode: 'allowlist' is not there"},
    {WASM ",\"network\":{\"mode\":\"none\",\"allow\":[\"x\"]}}", "network.allow: is not there"},
    {WASM ",\"network\":null}", "network: must be an object, not null"},
    {WASM ",\"backend\":\"native\"}", "backend: 'native' is not there"},
    {WASM ",\"lifecycle\":\"agent\"}", "lifecycle: 'agent' is not there"},
    {WASM ",\"capabilities\":[\"net_http\"]}", "capabilities[0]: 'net_http' is not there"},
    {WASM ",\"capabilities\":[\"fs_read\",\"rm\"]}", "capabilities[1]: 'rm' is no capability"},
    {WASM ",\"capabilities\":[\"fs_read=\"]}", "capabilities[0]: 'fs_read=' has no path"},
    {WASM ",\"capabilities\":[7]}", "capabilities[0]: must be a string"},
    {WASM ",\"capabilities\":null}", "capabilities: must be an array, not null"},
    {WASM ",\"commands\":[7]}", "commands[0]: must be an object, not an integer"},
    {WASM ",\"commands\":[\"git | sh\"]}", "commands[0]: '|', at byte 5"},
    {WASM ",\"commands\":[\"git\",{}]}", "commands[1].program: is missing"},
    {WASM ",\"commands\":[{\"program\":\"a/b\"}]}", "commands[0]: program 'a/b': write a bare"},
    {WASM ",\"commands\":[{\"program\":\"a\",\"args\":\"b\"}]}", "commands[0].args: must be"},
    {WASM ",\"commands\":[{\"program\":\"a\",\"args\":[1]}]}", "commands[0].args[0]: must be"},
    {WASM ",\"commands\":[{\"program\":\"a\",\"shell\":1}]}", "commands[0].shell: unknown key"},
    {WASM ",\"secrets\":[\"k\"]}", "secrets: is not there"},
    {WASM ",\"secret_env\":\"K\"}", "secret_env: must be an array"},
    {WASM ",\"secret_env\":[1]}", "secret_env[0]: must be a string"},
    {WASM ",\"secret_env\":[\"\"]}", "secret_env[0]: secret variable without a name"},
    {WASM ",\"secret_env\":[\"K=v\"]}", "secret_env[0]: a secret variable is given by its name"},
    {WASM ",\"secret_env\":[\"K\",\"K\"]}",
     "secret_env[1]: environment variable 'K' is given twice"},
    {WASM ",\"secret_env\":[\"K\"],\"env\":{\"K\":\"v\"}}",
     "secret_env[0]: environment variable 'K' is given twice"},
    {WASM ",\"grants\":[\"\"]}", "grants[0]: must not be empty"},
    {WASM ",\"tier\":\"none\"}", "tier: 'none' is no tier"},
    {WASM ",\"policy\":\"\"}", "policy: must not be empty"},
    {WASM "} x", "manifest: line 1"},
    {"\xef\xbb\xbf" WASM "}", "manifest: starts with a byte order mark"},
    {WASM ",\"env\":{\"A\":\"\xff\"}}", "manifest: not valid UTF-8"},
    {"{kind: sample}", "manifest: line 1"},
};

static void test_refusals(struct arena *arena)
{
    for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
        struct manifest manifest = {.workspace = "untouched"};
        struct err err = {0};
        int rc = parse(refused[i].text, arena, &manifest, &err);
        bool holds = rc == -1 && err.code == ERR_REQUEST && same(manifest.workspace, "untouched") &&
                     strncmp(err.message, refused[i].message, strlen(refused[i].message)) == 0;
        if (!ok(holds, "refused with '%s'", refused[i].message))
            printf("# %s gave %s\n", refused[i].text, err.message);
    }
}

/* A manifest filled up with blanks, or with a long member, to the size. */
static bool takes_size(struct arena *arena, size_t size)
{
    _cleanup_free_ char *text = malloc(size);
    struct manifest manifest;
    struct err err;

    if (!text)
        abort();
    memset(text, ' ', size);
    memcpy(text, WASM "}", strlen(WASM "}"));
    return manifest_parse(text, size, NULL, NULL, NULL, arena, &manifest, &err) == 0;
}

static void test_size(struct arena *arena)
{
    ok(takes_size(arena, 1 << 20), "a manifest of 1 MiB is taken");
    ok(!takes_size(arena, (1 << 20) + 1), "a manifest of 1 MiB and a byte is refused");
}

/* Every manifest cut short is refused and harms nothing; so is every one with a byte gone bad. */
static void test_damage(struct arena *arena)
{
    char text[sizeof(everything)];
    struct manifest manifest;
    struct err err;
    bool all_refused = true;

    for (size_t len = 0; len < sizeof(everything) - 1; len++)
        all_refused =
            manifest_parse(everything, len, NULL, NULL, NULL, arena, &manifest, &err) == -1 &&
            all_refused;
    ok(all_refused, "a manifest cut short anywhere is refused");
    all_refused = true;
    for (size_t at = 0; at < sizeof(everything) - 1; at++) {
        memcpy(text, everything, sizeof(text));
        text[at] = '\x01';
        all_refused = parse(text, arena, &manifest, &err) == -1 && all_refused;
    }
    ok(all_refused, "a manifest with a control byte anywhere is refused");
}

int main(void)
{
    struct arena *arena = arena_new();

    test_sample(arena);
    test_everything(arena);
    test_bases(arena);
    test_refusals(arena);
    test_size(arena);
    test_damage(arena);
    arena_free(arena);
    return done();
}
