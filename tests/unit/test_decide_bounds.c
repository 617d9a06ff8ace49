/* The policies' word on what has no need: limits, isolation, workspace, backend. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "front/run_options.h"
#include "layers_rig.h"
#include "tap.h"

#define MAX_WORDS 8
#define LANDLOCK "\"code\":{\"isolation\":\"landlock\"}"

static void read_words(const char *const *words, enum backend backend, struct arena *arena,
                       struct request *ret_request)
{
    const char *all[MAX_WORDS + 3] = {NULL};
    struct run_options options;
    struct err err;
    size_t n = 0;
    bool is_code = words[0] && strcmp(words[0], "--lang") == 0;

    for (; n < MAX_WORDS && words[n]; n++)
        all[n] = words[n];
    if (backend == BACKEND_NATIVE && !is_code)
        all[n++] = "--";
    if (!is_code)
        all[n++] = "/guest";
    run_options_init(&options, backend);
    if (options_parse(is_code                     ? &code_syntax
                      : backend == BACKEND_NATIVE ? &exec_syntax
                                                  : &run_syntax,
                      all, &options, arena, &err) < 0) {
        printf("Bail out! %s\n", err.message);
        exit(1);
    }
    *ret_request = options.request;
}

/* ---- limits ---------------------------------------------------------------------------------- */

#define MAX(ms) "\"limits\":{\"max\":{\"timeout_ms\":" #ms "}}"
#define DEFAULT(ms) "\"limits\":{\"default\":{\"timeout_ms\":" #ms "}}"
#define BOTH(d, m) \
    "\"limits\":{\"default\":{\"timeout_ms\":" #d "},\"max\":{\"timeout_ms\":" #m "}}"

static const struct {
    const char *layers[MAX_LAYERS];
    bool is_agent;
    const char *asked;   /* NULL: none */
    uint64_t ms;         /* what it is; 0: refused */
    const char *clamped; /* the layer; "": lowered to the backend's own; NULL: not lowered */
} limit_cases[] = {
    /* the owner's stand, and without a policy so does everything */
    {{NULL}, false, NULL, 30000, NULL},
    {{NULL}, false, "1h", 3600000, NULL},
    {{"user"}, false, "1h", 3600000, NULL},
    {{"user " MAX(60000)}, false, "60s", 60000, NULL},
    {{"user " MAX(60000)}, false, "61s", 0, NULL},
    {{"user " MAX(60000)}, false, "unlimited", 0, NULL},
    {{"user " MAX(60000), "project " MAX(5000)}, false, "6s", 0, NULL},
    {{"project " MAX(5000)}, false, "6s", 0, NULL},
    {{"project " MAX(5000)}, false, NULL, 5000, NULL},
    {{"user " DEFAULT(60000)}, false, NULL, 60000, NULL},
    {{"user " DEFAULT(60000)}, false, "2h", 7200000, NULL},
    {{"user " DEFAULT(10000)}, false, NULL, 10000, NULL},
    {{"user " MAX(20000)}, false, NULL, 20000, NULL},
    {{"project " DEFAULT(60000)}, false, NULL, 30000, NULL},
    {{"project " DEFAULT(6000)}, false, NULL, 6000, NULL},
    {{"tier low"}, false, "120s", 120000, NULL},
    {{"tier low"}, false, "121s", 0, NULL},
    /* an agent's are lowered */
    {{NULL}, true, NULL, 30000, NULL},
    {{NULL}, true, "10s", 10000, NULL},
    {{NULL}, true, "31s", 30000, ""},
    {{"user"}, true, "31s", 30000, ""},
    {{"user"}, true, "unlimited", 30000, ""},
    {{"user " MAX(60000)}, true, "61s", 60000, "user"},
    {{"user " MAX(60000)}, true, "60s", 60000, NULL},
    {{"user " MAX(60000)}, true, NULL, 30000, NULL},
    {{"user " MAX(5000)}, true, NULL, 5000, NULL},
    {{"user " BOTH(60000, 120000)}, true, NULL, 60000, NULL},
    {{"user " BOTH(60000, 120000)}, true, "90s", 90000, NULL},
    {{"user " BOTH(60000, 120000)}, true, "3m", 120000, "user"},
    {{"user " DEFAULT(60000)}, true, NULL, 60000, NULL},
    {{"user " DEFAULT(60000)}, true, "60s", 60000, NULL},
    {{"user " DEFAULT(60000)}, true, "61s", 60000, "user"},
    {{"user " DEFAULT(10000)}, true, "20s", 20000, NULL},
    {{"user " DEFAULT(10000)}, true, "40s", 30000, ""},
    {{"system " MAX(60000), "user " MAX(90000)}, true, "80s", 60000, "system"},
    {{"system " MAX(90000), "user " MAX(60000)}, true, "80s", 60000, "user"},
    {{"user \"limits\":{\"max\":{\"timeout_ms\":\"unlimited\"}}"}, true, "9h", 32400000, NULL},
    /* nobody but the owner raises them */
    {{"user", "project " MAX(90000)}, true, "80s", 30000, ""},
    {{"user", "project " DEFAULT(90000)}, true, NULL, 30000, NULL},
    {{"user " MAX(60000), "project " MAX(90000)}, true, "80s", 60000, "user"},
    {{"user " MAX(60000), "project " MAX(5000)}, true, "80s", 5000, "project"},
    {{"user", "tier high"}, true, "80s", 30000, ""},
    {{"user " MAX(600000), "tier low"}, true, "9m", 120000, "tier low"},
    {{"user " MAX(60000), "tier high"}, true, "9m", 60000, "user"},
    /* where he wrote none, the tier speaks for him */
    {{"tier low"}, true, "90s", 90000, NULL},
    {{"tier low"}, true, "9m", 120000, "tier low"},
    {{"tier low"}, true, NULL, 30000, NULL},
    {{"project " MAX(600000), "tier low"}, true, "9m", 120000, "tier low"},
    {{"project " MAX(6000), "tier low"}, true, "9m", 6000, "project"},
    {{"tier low", "tier high"}, true, "9m", 120000, "tier low"},
};

static bool is_clamped(const struct clamp *clamps, size_t n, const char *by, uint64_t to)
{
    if (!by)
        return n == 0;
    return n == 1 && clamps[0].limit == LIMIT_WALL && clamps[0].to == to && clamps[0].from > to &&
           strcmp(clamps[0].layer ? clamps[0].layer->where : "", by) == 0;
}

static void test_limit(size_t i, struct arena *arena)
{
    struct policy layers[MAX_LAYERS];
    struct authority authority;
    struct clamp clamps[LIMIT_COUNT];
    struct request request;
    struct err err = {0};
    size_t n = 99;

    read_layers(limit_cases[i].layers, arena, layers, &authority);
    become(&authority, limit_cases[i].is_agent);
    request_init(&request, BACKEND_NATIVE);
    if (limit_cases[i].asked &&
        limits_set_text(&request.limits, LIMIT_WALL, limit_cases[i].asked, &err) < 0)
        abort();
    int rc = decide_bounds(&authority, &request, clamps, &n, &err);
    uint64_t ms = request.limits.value[LIMIT_WALL] / NS_PER_MS;
    const char *who = limit_cases[i].is_agent ? "an agent's" : "the owner's";
    const char *asked = limit_cases[i].asked ? limit_cases[i].asked : "nothing";
    if (limit_cases[i].ms == 0)
        ok(rc == -1 && err.code == ERR_DENIED && strstr(err.message, "limits.max.timeout_ms"),
           "limit %zu: %s %s is refused: %s", i, who, asked, err.message);
    else if (!ok(rc == 0 && ms == limit_cases[i].ms &&
                     is_clamped(clamps, n, limit_cases[i].clamped, limit_cases[i].ms * NS_PER_MS),
                 "limit %zu: %s %s becomes %llu ms", i, who, asked,
                 (unsigned long long) limit_cases[i].ms))
        printf("# %llu ms, %zu lowered %s\n", (unsigned long long) ms, n, err.message);
}

/* What a backend cannot have is not asked of it. */
static void test_ranges(struct arena *arena)
{
    static const char *const texts[MAX_LAYERS] = {
        "user "
        "\"limits\":{\"default\":{\"memory_bytes\":\"unlimited\",\"processes\":50,\"fuel\":7}}"};
    struct policy layers[MAX_LAYERS];
    struct authority authority;
    struct clamp clamps[LIMIT_COUNT];
    struct request request;
    struct err err = {0};
    size_t n;

    read_layers(texts, arena, layers, &authority);
    become(&authority, true);
    request_init(&request, BACKEND_WASM);
    ok(decide_bounds(&authority, &request, clamps, &n, &err) == 0 && n == 0 &&
           request.limits.value[LIMIT_MEMORY] == 4ULL << 30 &&
           request.limits.value[LIMIT_PROCESSES] == 1 && request.limits.value[LIMIT_FUEL] == 7,
       "a default is no more than the backend can have");
    request_init(&request, BACKEND_NATIVE);
    ok(decide_bounds(&authority, &request, clamps, &n, &err) == 0 && n == 0 &&
           request.limits.value[LIMIT_MEMORY] == UNITS_UNLIMITED &&
           request.limits.value[LIMIT_FUEL] == UNITS_UNLIMITED,
       "a limit that the backend does not have stays away");
}

/* ---- how it is run --------------------------------------------------------------------------- */

static const struct {
    const char *layers[MAX_LAYERS];
    bool is_agent;
    enum backend backend;
    const char *words[MAX_WORDS];
    const char *shown; /* "RUNG DIRECTORY@GUEST CWD", or */
    const char *says;  /* what the refusal says */
} ways[] = {
    /* isolation */
    {{NULL}, false, BACKEND_NATIVE, {"--isolation", "landlock"}, "landlock - -", NULL},
    {{NULL}, true, BACKEND_NATIVE, {"--isolation", "landlock"}, NULL, "no policy of the owner's"},
    {{"user"}, true, BACKEND_NATIVE, {NULL}, "full - -", NULL},
    {{"user"}, true, BACKEND_NATIVE, {"--isolation", "full"}, "full - -", NULL},
    {{"user"},
     true,
     BACKEND_NATIVE,
     {"--isolation", "landlock"},
     NULL,
     "user policy user (code.isolation)"},
    {{"user"}, false, BACKEND_NATIVE, {"--isolation", "landlock"}, NULL, "weaker than 'full'"},
    {{"user " LANDLOCK}, true, BACKEND_NATIVE, {"--isolation", "landlock"}, "landlock - -", NULL},
    {{"user " LANDLOCK}, true, BACKEND_NATIVE, {NULL}, "landlock - -", NULL},
    {{"user " LANDLOCK}, false, BACKEND_WASM, {NULL}, "landlock - -", NULL},
    {{"user " LANDLOCK}, true, BACKEND_NATIVE, {"--isolation", "full"}, "full - -", NULL},
    {{"user " LANDLOCK, "project"}, true, BACKEND_NATIVE, {NULL}, "full - -", NULL},
    {{"user " LANDLOCK, "project"},
     true,
     BACKEND_NATIVE,
     {"--isolation", "landlock"},
     NULL,
     "project policy"},
    {{"user " LANDLOCK, "project " LANDLOCK}, true, BACKEND_NATIVE, {NULL}, "landlock - -", NULL},
    {{"system", "user " LANDLOCK},
     true,
     BACKEND_NATIVE,
     {"--isolation", "landlock"},
     NULL,
     "system policy"},
    {{"user", "project " LANDLOCK}, true, BACKEND_NATIVE, {NULL}, "full - -", NULL},
    {{"project " LANDLOCK}, true, BACKEND_NATIVE, {NULL}, "full - -", NULL},
    {{"project " LANDLOCK},
     true,
     BACKEND_NATIVE,
     {"--isolation", "landlock"},
     NULL,
     "no policy of the owner's"},
    {{"tier low"}, true, BACKEND_NATIVE, {"--isolation", "landlock"}, NULL, "denied by tier low"},
    {{"tier high"},
     true,
     BACKEND_NATIVE,
     {"--isolation", "landlock"},
     NULL,
     "no policy of the owner's"},
    {{"user " LANDLOCK, "tier high"}, true, BACKEND_NATIVE, {NULL}, "landlock - -", NULL},
    {{"user " LANDLOCK, "tier low"}, true, BACKEND_NATIVE, {NULL}, "full - -", NULL},
    /* names that are protected */
    {{NULL},
     false,
     BACKEND_NATIVE,
     {"--unprotect", ".git", "--allow-dir", "/a"},
     "full /a@/a -",
     NULL},
    {{"user"},
     false,
     BACKEND_NATIVE,
     {"--unprotect", ".git", "--allow-dir", "/a"},
     "full /a@/a -",
     NULL},
    {{"tier high"},
     true,
     BACKEND_NATIVE,
     {"--unprotect", ".git", "--allow-dir", "/a"},
     NULL,
     "agent:bot may not lift the protection of '.git'"},
    /* generated code */
    {{"user \"code\":{\"generated\":false}"},
     true,
     BACKEND_NATIVE,
     {"--lang", "python", "-c", "1"},
     NULL,
     "user policy user (code.generated)"},
    {{"user \"code\":{\"generated\":false}"},
     false,
     BACKEND_NATIVE,
     {"--lang", "python", "-c", "1"},
     NULL,
     "code.generated"},
    {{"user", "project \"code\":{\"generated\":false}"},
     true,
     BACKEND_NATIVE,
     {"--lang", "python", "-c", "1"},
     NULL,
     "project policy"},
    {{"user \"code\":{\"generated\":true}"},
     true,
     BACKEND_NATIVE,
     {"--lang", "python", "-c", "1"},
     "full - -",
     NULL},
    {{"user \"code\":{\"generated\":false}"}, true, BACKEND_NATIVE, {NULL}, "full - -", NULL},
    /* never a weaker backend */
    {{"user \"code\":{\"backends\":{\"python\":\"wasm\"}}"},
     true,
     BACKEND_NATIVE,
     {"--lang", "python", "-c", "1"},
     NULL,
     "user policy user (code.backends.python): backend 'native' is weaker than 'wasm'"},
    {{"user \"code\":{\"backends\":{\"python\":\"wasm\"}}"},
     true,
     BACKEND_NATIVE,
     {"--lang", "bash", "-c", "1"},
     "full - -",
     NULL},
    /* the workspace */
    {{"user \"filesystem\":{\"workspace\":\"/data\"}"},
     true,
     BACKEND_NATIVE,
     {"--allow-dir", "/a"},
     "full /a@/data /data",
     NULL},
    {{"user \"filesystem\":{\"workspace\":\"/data\"}"},
     true,
     BACKEND_NATIVE,
     {"--allow-dir", "/b::/b", "--allow-dir", "/a"},
     "full /b@/b /a@/data /data",
     NULL},
    {{"user \"filesystem\":{\"workspace\":\"/data\"}"},
     true,
     BACKEND_NATIVE,
     {"--allow-dir", "/a", "--cwd", "/tmp"},
     "full /a@/data /tmp",
     NULL},
    {{"user \"filesystem\":{\"workspace\":\"/data\"}"},
     true,
     BACKEND_NATIVE,
     {NULL},
     "full - -",
     NULL},
    {{"user \"filesystem\":{\"workspace\":\"/data\"}"},
     true,
     BACKEND_NATIVE,
     {"--allow-dir", "/b::/b"},
     "full /b@/b -",
     NULL},
    {{"user \"filesystem\":{\"workspace\":\"/data\"}"},
     true,
     BACKEND_NATIVE,
     {"--allow-dir", "/a", "--allow-dir", "/b::/data/"},
     NULL,
     "'/b' is to be found there"},
    {{"user \"filesystem\":{\"workspace\":\"/data\"}"},
     true,
     BACKEND_WASM,
     {"--allow-dir", "/a"},
     "full /a@/data. -",
     NULL},
    {{"user \"filesystem\":{\"workspace\":\"/data\"}"},
     true,
     BACKEND_WASM,
     {"--allow-dir", "."},
     "full .@/data. -",
     NULL},
    {{"system \"filesystem\":{\"workspace\":\"/w\"}",
      "user \"filesystem\":{\"workspace\":\"/data\"}"},
     true,
     BACKEND_NATIVE,
     {"--allow-dir", "/a"},
     "full /a@/w /w",
     NULL},
    {{"user \"filesystem\":{\"workspace\":\"/data\"}," LANDLOCK},
     true,
     BACKEND_NATIVE,
     {"--allow-dir", "/a"},
     NULL,
     "user policy user (filesystem.workspace): isolation 'landlock' cannot"},
};

static void show_way(const struct request *request, struct buf *into)
{
    int rc = buf_printf(into, "%s ", request_isolation_names[request->isolation]);

    for (size_t i = 0; i < request->n_dirs; i++)
        rc |= buf_printf(into, "%s@%s%s ", request->dirs[i].host, request->dirs[i].guest,
                         request->dirs[i].also_dot ? "." : "");
    rc |= buf_printf(into, "%s%s", request->n_dirs ? "" : "- ", request->cwd ? request->cwd : "-");
    if (rc < 0)
        abort();
}

static void test_way(size_t i, struct arena *arena)
{
    _cleanup_(buf_release) struct buf shown = BUF_INIT(4096);
    struct policy layers[MAX_LAYERS];
    struct authority authority;
    struct clamp clamps[LIMIT_COUNT];
    struct request request;
    struct err err = {0};
    size_t n;

    read_layers(ways[i].layers, arena, layers, &authority);
    become(&authority, ways[i].is_agent);
    read_words(ways[i].words, ways[i].backend, arena, &request);
    int rc = decide_bounds(&authority, &request, clamps, &n, &err);
    show_way(&request, &shown);
    if (ways[i].says)
        ok(rc == -1 && strstr(err.message, ways[i].says), "way %zu is refused: %s", i,
           rc < 0 ? err.message : shown.data);
    else
        ok(rc == 0 && strcmp(shown.data, ways[i].shown) == 0, "way %zu becomes %s%s", i, shown.data,
           err.message);
}

/* ---- backends -------------------------------------------------------------------------------- */

#define BACKENDS_OF(backend) "\"code\":{\"backends\":{\"python\":\"" backend "\"}}"

static const struct {
    const char *layers[MAX_LAYERS];
    int asked;
    enum backend otherwise;
    int is; /* -1: refused */
} backend_cases[] = {
    {{NULL}, -1, BACKEND_NATIVE, BACKEND_NATIVE},
    {{NULL}, -1, BACKEND_WASM, BACKEND_WASM},
    {{NULL}, BACKEND_NATIVE, BACKEND_WASM, BACKEND_NATIVE},
    {{"user"}, -1, BACKEND_NATIVE, BACKEND_NATIVE},
    {{"user " BACKENDS_OF("wasm")}, -1, BACKEND_NATIVE, BACKEND_WASM},
    {{"user " BACKENDS_OF("wasm")}, BACKEND_WASM, BACKEND_NATIVE, BACKEND_WASM},
    {{"user " BACKENDS_OF("wasm")}, BACKEND_NATIVE, BACKEND_NATIVE, -1},
    {{"user " BACKENDS_OF("native")}, -1, BACKEND_WASM, BACKEND_NATIVE},
    {{"user " BACKENDS_OF("native")}, BACKEND_WASM, BACKEND_NATIVE, BACKEND_WASM},
    {{"user " BACKENDS_OF("native")}, BACKEND_NATIVE, BACKEND_WASM, BACKEND_NATIVE},
    {{"system " BACKENDS_OF("wasm"), "user " BACKENDS_OF("native")},
     -1,
     BACKEND_NATIVE,
     BACKEND_WASM},
    {{"system " BACKENDS_OF("native"), "user " BACKENDS_OF("wasm")},
     BACKEND_NATIVE,
     BACKEND_NATIVE,
     -1},
    {{"user", "project " BACKENDS_OF("wasm")}, -1, BACKEND_NATIVE, BACKEND_WASM},
    {{"user", "project " BACKENDS_OF("wasm")}, BACKEND_NATIVE, BACKEND_NATIVE, -1},
    {{"user", "project " BACKENDS_OF("native")}, -1, BACKEND_WASM, BACKEND_WASM},
    {{"user " BACKENDS_OF("wasm"), "project " BACKENDS_OF("native")},
     -1,
     BACKEND_NATIVE,
     BACKEND_WASM},
    {{"user " BACKENDS_OF("wasm"), "project " BACKENDS_OF("native")},
     BACKEND_NATIVE,
     BACKEND_NATIVE,
     -1},
};

static void test_backend(size_t i, struct arena *arena)
{
    struct policy layers[MAX_LAYERS];
    struct authority authority;
    enum backend backend = BACKENDS;
    struct err err = {0};

    read_layers(backend_cases[i].layers, arena, layers, &authority);
    become(&authority, true);
    int rc = decide_backend(&authority, "python", backend_cases[i].asked,
                            backend_cases[i].otherwise, &backend, &err);
    if (backend_cases[i].is < 0)
        ok(rc == -1 && err.code == ERR_DENIED && strstr(err.message, "code.backends.python"),
           "backend %zu is refused: %s", i, err.message);
    else
        ok(rc == 0 && (int) backend == backend_cases[i].is, "backend %zu is %s%s", i,
           rc == 0 ? request_backend_names[backend] : "", err.message);
}

int main(void)
{
    struct arena *arena = arena_new();

    if (!arena)
        return 1;
    for (size_t i = 0; i < ARRAY_SIZE(limit_cases); i++)
        test_limit(i, arena);
    test_ranges(arena);
    for (size_t i = 0; i < ARRAY_SIZE(ways); i++)
        test_way(i, arena);
    for (size_t i = 0; i < ARRAY_SIZE(backend_cases); i++)
        test_backend(i, arena);
    arena_free(arena);
    return done();
}
