/* The kinds native-run and code of a manifest, and what other kinds refuse of theirs. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "plan/manifest.h"
#include "tap.h"

#define RUN "{\"kind\":\"native-run\",\"argv\":[\"ls\"]"
#define CODE "{\"kind\":\"code\",\"language\":\"python\",\"source\":\"print(1)\""
#define WASM_CODE CODE ",\"backend\":\"wasm\""
#define WASM "{\"kind\":\"wasm-run\",\"module\":\"m.wasm\""
#define PIN "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

static int parse(const char *text, struct arena *arena, struct manifest *manifest, struct err *err)
{
    return manifest_parse(text, strlen(text), "dir", NULL, NULL, arena, manifest, err);
}

static bool same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static void test_contract(struct arena *arena)
{
    static const char text[] =
        "{\"kind\":\"native-run\",\"argv\":[\"python3\",\"job.py\"],"
        "\"allow_dirs\":[{\"path\":\".\",\"access\":\"overlay\",\"guest\":\"/ws\"}],"
        "\"cwd\":\"/ws\"}";
    struct manifest manifest;
    struct err err = {0};

    if (!ok(parse(text, arena, &manifest, &err) == 0, "the native run of CONTRACT is taken%s",
            err.message))
        return;
    const struct request *request = &manifest.request;
    ok(manifest.kind == MANIFEST_NATIVE_RUN && request->backend == BACKEND_NATIVE &&
           same(request->program, "python3") && request->n_args == 1 &&
           same(request->args[0], "job.py") && same(request->cwd, "/ws"),
       "it has its program, argument and working directory");
    ok(request->n_dirs == 1 && same(request->dirs[0].host, "dir/.") &&
           same(request->dirs[0].guest, "/ws") && request->dirs[0].access == ACCESS_OVERLAY,
       "its directory is an overlay");
    ok(request->limits.value[LIMIT_MEMORY] == 512 << 20 &&
           request->limits.value[LIMIT_CPU] == 60 * NS_PER_S && request->network == NETWORK_NONE &&
           request->apply == APPLY_NEVER && !request->tty,
       "what it does not name has the defaults of a native program");

    ok(parse(CODE "}", arena, &manifest, &err) == 0 && manifest.kind == MANIFEST_CODE &&
           manifest.request.backend == BACKEND_NATIVE && !manifest.runtime &&
           same(manifest.request.language, "python") && same(manifest.request.source, "print(1)"),
       "the code of CONTRACT is taken, for a native cell");
}

static void test_everything(struct arena *arena)
{
    static const char text[] =
        "{\"network\":{\"mode\":\"loopback\",\"allow\":[]},\"apply\":\"auto\",\"diff\":true,"
        "\"unprotected\":[\".envrc\",\".git/hooks\"],\"rootfs\":\"tree\",\"proc\":\"none\","
        "\"tty\":true,\"env\":{\"A\":\"1\"},\"env_force\":{\"LD_PRELOAD\":\"/x.so\"},"
        "\"args\":[\"last\"],\"command\":\"make -C 'a b'\",\"kind\":\"native-run\","
        "\"backend\":\"native\",\"limits\":{\"processes\":7,\"memory_bytes\":\"unlimited\"},"
        "\"labels\":{\"a\":\"b\"},\"stdin\":{\"text\":\"x\"}}";
    struct manifest manifest;
    struct err err = {0};

    if (!ok(parse(text, arena, &manifest, &err) == 0, "a native run with every key is taken%s",
            err.message))
        return;
    const struct request *request = &manifest.request;
    ok(same(request->program, "make") && request->n_args == 3 && same(request->args[0], "-C") &&
           same(request->args[1], "a b") && same(request->args[2], "last"),
       "a command is split, and other arguments come behind it");
    ok(request->network == NETWORK_LOOPBACK && request->apply == APPLY_AUTO && request->diff &&
           request->proc == PROC_NONE && request->tty && same(request->rootfs, "dir/tree"),
       "every key sets its own field");
    ok(request->n_unprotected == 2 && same(request->unprotected[1], ".git/hooks") &&
           request->n_env == 2 && same(request->env[1], "LD_PRELOAD=/x.so"),
       "names are unprotected, variables forced");
    ok(request->limits.value[LIMIT_PROCESSES] == 7 &&
           request->limits.value[LIMIT_MEMORY] == UNITS_UNLIMITED,
       "limits are those of a native program");
}

static void test_wasm_code(struct arena *arena)
{
    struct manifest manifest;
    struct err err = {0};

    ok(parse(WASM_CODE ",\"limits\":{\"fuel\":5},\"module_sha256\":\"" PIN "\"}", arena, &manifest,
             &err) == 0 &&
           manifest.request.backend == BACKEND_WASM && same(manifest.runtime, "python") &&
           manifest.request.limits.value[LIMIT_FUEL] == 5 && !manifest.request.module,
       "code for wasm is for the runtime called like its language%s", err.message);
    ok(parse(WASM_CODE ",\"runtime\":\"py312\"}", arena, &manifest, &err) == 0 &&
           same(manifest.runtime, "py312"),
       "or for the one it names");
    ok(parse(CODE ",\"backend\":\"native\"}", arena, &manifest, &err) == 0 && !manifest.runtime,
       "the native backend may be written out");
    ok(parse(WASM ",\"env\":{\"LD_PRELOAD\":\"x\"}}", arena, &manifest, &err) == 0,
       "a wasm guest may have any variable");
}

/* Each with how its message begins: the path of the key. */
static const struct {
    const char *text, *message;
} refused[] = {
    {"{\"kind\":\"native-run\"}", "argv: is missing, and so is 'command'"},
    {"{\"kind\":\"native-run\",\"argv\":[]}", "argv: is empty"},
    {"{\"kind\":\"native-run\",\"argv\":\"ls\"}", "argv: must be an array, not a string"},
    {"{\"kind\":\"native-run\",\"argv\":[\"\"]}", "argv[0]: the program is empty"},
    {"{\"kind\":\"native-run\",\"argv\":[\"ls\",1]}", "argv[1]: must be a string"},
    {"{\"kind\":\"native-run\",\"command\":[\"ls\"]}", "command: must be a string"},
    {"{\"kind\":\"native-run\",\"command\":\"\"}", "command: the command is empty"},
    {"{\"kind\":\"native-run\",\"command\":\"ls | wc\"}", "command: '|', at byte 4"},
    {"{\"kind\":\"native-run\",\"command\":\"'' x\"}", "command: the program is empty"},
    {RUN ",\"command\":\"ls\"}", "command: is there beside 'argv'"},
    {RUN ",\"module\":\"m\"}", "module: is a key of kind 'wasm-run', not of 'native-run'"},
    {RUN ",\"source\":\"x\"}", "source: is a key of kind 'code', not of 'native-run'"},
    {RUN ",\"workspace\":\"x\"}", "workspace: is a key of kind 'sample', not of 'native-run'"},
    {RUN ",\"module_sha256\":\"" PIN "\"}", "module_sha256: is a key of kind 'sample', not of"},
    {RUN ",\"runtime\":\"x\"}", "runtime: is a key of kind 'code' with backend 'wasm', not of"},
    {RUN ",\"backend\":\"wasm\"}", "backend: 'wasm' is not there for this kind: write 'native'"},
    {RUN ",\"backend\":1}", "backend: must be a string"},
    {RUN ",\"cwd\":\"ws\"}", "cwd: the working directory 'ws' is not absolute"},
    {RUN ",\"cwd\":\"\"}", "cwd: the working directory is empty"},
    {RUN ",\"rootfs\":\"/\"}", "rootfs: '/' as root would show the whole host"},
    {RUN ",\"rootfs\":\"\"}", "rootfs: "},
    {RUN ",\"proc\":\"all\"}", "proc: unknown view of /proc 'all': write 'own' or 'none'"},
    {RUN ",\"tty\":1}", "tty: must be true or false"},
    {RUN ",\"tty\":null}", "tty: must be true or false"},
    {RUN ",\"diff\":\"yes\"}", "diff: must be true or false"},
    {RUN ",\"apply\":\"yes\"}", "apply: unknown way to apply changes 'yes': write 'never', 'ask'"},
    {RUN ",\"unprotected\":\"x\"}", "unprotected: must be an array"},
    {RUN ",\"unprotected\":[\".envrc\",\"x\"]}", "unprotected[1]: 'x' is no protected name"},
    {RUN ",\"env\":{\"LD_PRELOAD\":\"x\"}}", "env.LD_PRELOAD: environment variable 'LD_PRELOAD'"},
    {RUN ",\"secret_env\":[\"A\",\"LD_PRELOAD\"]}",
     "secret_env[1]: environment variable 'LD_PRELOAD'"},
    {RUN ",\"env_force\":{\"A\":1}}", "env_force.A: must be a string"},
    {RUN ",\"env\":{\"A\":\"1\"},\"env_force\":{\"A\":\"2\"}}",
     "env_force.A: environment variable"},
    {RUN ",\"network\":{\"mode\":\"host\"}}", "network.mode: unknown network 'host'"},
    {RUN ",\"network\":{\"mode\":\"allowlist\"}}", "network.mode: 'allowlist' is not there"},
    {RUN ",\"allow_dirs\":[{\"path\":\"a\",\"access\":\"rw\"}]}",
     "allow_dirs[0].access: unknown access 'rw': write 'read-only', 'read-write' or 'overlay'"},
    {RUN ",\"allow_dirs\":[{\"path\":\"a\",\"guest\":\"ws\"}]}",
     "allow_dirs[0]: guest path 'ws' is not absolute"},
    {RUN ",\"allow_dirs\":[{\"path\":\"a\",\"guest\":\"/usr\"}]}",
     "allow_dirs[0]: guest path '/usr'"},
    {RUN ",\"limits\":{\"fuel\":1}}", "limits.fuel: a native program has no such limit"},
    {RUN ",\"limits\":{\"disk_bytes\":\"unlimited\"}}", "limits.disk_bytes: cannot be unlimited"},
    {"{\"kind\":\"code\",\"source\":\"x\"}", "language: is missing"},
    {"{\"kind\":\"code\",\"language\":\"bash\"}", "source: is missing"},
    {"{\"kind\":\"code\",\"language\":\"bash\",\"source\":\"\"}", "source: the source is empty"},
    {"{\"kind\":\"code\",\"language\":\"ruby\",\"source\":\"x\"}",
     "language: unknown language 'ruby': there are python, javascript, bash"},
    {CODE ",\"argv\":[\"x\"]}", "argv: is a key of kind 'native-run', not of 'code'"},
    {CODE ",\"backend\":\"docker\"}",
     "backend: 'docker' is not there for this kind: write 'native'"},
    {CODE ",\"runtime\":\"x\"}",
     "runtime: is a key of kind 'code' with backend 'wasm', not of 'code'"},
    {WASM_CODE ",\"runtime\":\"\"}", "runtime: must not be empty"},
    {WASM_CODE ",\"cwd\":\"/\"}",
     "cwd: is a key of kind 'native-run', not of 'code' with backend 'wasm'"},
    {WASM_CODE ",\"tty\":true}", "tty: is a key of kind 'native-run', not of"},
    {WASM_CODE ",\"allow_dirs\":[{\"path\":\"a\",\"access\":\"overlay\"}]}",
     "allow_dirs[0].access: 'overlay' is not there for wasm"},
    {WASM_CODE ",\"network\":{\"mode\":\"loopback\"}}", "network.mode: 'loopback' is not there"},
    {WASM ",\"cwd\":\"/\"}", "cwd: is a key of kind 'native-run', not of 'wasm-run'"},
    {WASM ",\"env_force\":{}}", "env_force: is a key of kind 'native-run', not of 'wasm-run'"},
    {WASM ",\"apply\":\"auto\"}", "apply: is a key of kind 'native-run', not of 'wasm-run'"},
};

static void test_refusals(struct arena *arena)
{
    for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
        struct manifest manifest = {.workspace = "untouched"};
        struct err err = {0};
        int rc = parse(refused[i].text, arena, &manifest, &err);
        bool holds = rc == -1 && (err.code == ERR_REQUEST || err.code == ERR_DENIED) &&
                     same(manifest.workspace, "untouched") &&
                     strncmp(err.message, refused[i].message, strlen(refused[i].message)) == 0;
        if (!ok(holds, "refused with '%s'", refused[i].message))
            printf("# %s gave %s\n", refused[i].text, err.message);
    }
}

int main(void)
{
    struct arena *arena = arena_new();

    if (!arena)
        return 1;
    test_contract(arena);
    test_everything(arena);
    test_wasm_code(arena);
    test_refusals(arena);
    arena_free(arena);
    return done();
}
