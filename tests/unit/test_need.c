/* What a request asks for (plan/need.h), in the words of a grant's scope (plan/scope.h). */
#include "plan/need.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "front/run_options.h"
#include "plan/language.h"
#include "plan/scope.h"
#include "tap.h"

#define MAX_WORDS 8
#define MAX_FACTS 16

static const struct {
    const struct syntax *syntax;
    enum backend backend;
    const char *words[MAX_WORDS];
    const char *needs; /* "CAPABILITY SCOPE" apart by "; ", '!' before a hook's */
} rows[] = {
    {&run_syntax, BACKEND_WASM, {"m.wasm"}, "code_run module:/real/m.wasm"},
    {&run_syntax, BACKEND_WASM, {"/x/m.wasm"}, "code_run module:/x/m.wasm"},
    {&run_syntax,
     BACKEND_WASM,
     {"m.wasm", "--allow-dir", "ws"},
     "fs_write /real/ws; code_run module:/real/m.wasm"},
    {&run_syntax,
     BACKEND_WASM,
     {"m.wasm", "--allow-dir", "/a::/b:ro", "--env", "A=secret"},
     "fs_read /a; env_set A; code_run module:/real/m.wasm"},
    {&run_syntax,
     BACKEND_WASM,
     {"m.wasm", "--env", "LD_PRELOAD=x"},
     "!env_set LD_PRELOAD; code_run module:/real/m.wasm"},
    {&run_syntax,
     BACKEND_WASM,
     {"m.wasm", "--stdin", "in"},
     "fs_read /real/in; code_run module:/real/m.wasm"},
    {&run_syntax, BACKEND_WASM, {"m.wasm", "--stdin", "-"}, "code_run module:/real/m.wasm"},
    {&run_syntax,
     BACKEND_WASM,
     {"m.wasm", "--capability", "fs_write=out", "--capability", "fs_read"},
     "code_run module:/real/m.wasm; fs_write /real/out"},
    {&run_syntax,
     BACKEND_WASM,
     {"m.wasm", "--capability", "exec_run", "--command", "git log *", "--command", "ls"},
     "code_run module:/real/m.wasm; exec_run /usr/bin/git log *; exec_run /usr/bin/ls"},
    {&run_syntax,
     BACKEND_WASM,
     {"m.wasm", "--command", "ls *", "--command", "ls 'a b' -n*"},
     "code_run module:/real/m.wasm; exec_run /usr/bin/ls; exec_run /usr/bin/ls 'a b' '-n*'"},
    {&exec_syntax, BACKEND_NATIVE, {"--", "ls"}, "exec_run /usr/bin/ls"},
    {&exec_syntax,
     BACKEND_NATIVE,
     {"--", "ls", "a b", "", "it's"},
     "exec_run /usr/bin/ls 'a b' '' 'it'\\''s'"},
    {&exec_syntax, BACKEND_NATIVE, {"--", "no such", "x"}, "exec_run 'no such' x"},
    {&exec_syntax,
     BACKEND_NATIVE,
     {"--rootfs", "tree", "--", "ls"},
     "fs_read /real/tree; exec_run ls"},
    {&exec_syntax,
     BACKEND_NATIVE,
     {"--loopback", "--env", "A=b", "--", "ls"},
     "env_set A; net_http loopback; exec_run /usr/bin/ls"},
    {&exec_syntax,
     BACKEND_NATIVE,
     {"--env-force", "PYTHONPATH=x", "--", "ls"},
     "!env_set PYTHONPATH; exec_run /usr/bin/ls"},
    {&exec_syntax,
     BACKEND_NATIVE,
     {"--allow-dir", "ws::/w:overlay", "--", "ls"},
     "fs_read /real/ws; exec_run /usr/bin/ls"},
    {&exec_syntax,
     BACKEND_NATIVE,
     {"--allow-dir", "ws::/w:overlay", "--apply", "ask", "--", "ls"},
     "fs_read /real/ws; exec_run /usr/bin/ls"},
    {&exec_syntax,
     BACKEND_NATIVE,
     {"--allow-dir", "ws::/w:overlay", "--apply", "auto", "--", "ls"},
     "fs_write /real/ws; exec_run /usr/bin/ls"},
    {&exec_syntax,
     BACKEND_NATIVE,
     {"--allow-dir", "gone", "--", "ls"},
     "fs_write gone; exec_run /usr/bin/ls"},
    {&code_syntax, BACKEND_NATIVE, {"--lang", "python", "-c", "1"}, "code_run python"},
    {&code_syntax,
     BACKEND_NATIVE,
     {"--lang", "bash", "-c", "1", "--isolation", "landlock"},
     "code_run bash"},
    {&code_wasm_syntax, BACKEND_WASM, {"--lang", "python", "-c", "1"}, "code_run python"},
};

/* Whatever is not "gone" lies at its own path, or beneath /real. */
static struct fact fact_of(const char *text, struct arena *arena)
{
    struct fact fact = {.is_known = text && strcmp(text, "gone") != 0, .id = {1, 1}};

    if (fact.is_known)
        fact.real = arena_printf(arena, "%s%s", text[0] == '/' ? "" : "/real/", text);
    return fact;
}

static struct fact program_of(const char *text, struct arena *arena)
{
    struct fact fact = {.is_known = text && !strchr(text, ' '), .id = {1, 2}};

    if (fact.is_known)
        fact.real = arena_printf(arena, "/usr/bin/%s", text);
    return fact;
}

static void find_facts(const struct request *request, struct arena *arena, struct facts *facts)
{
    *facts = (struct facts){
        .dirs = arena_array(arena, MAX_FACTS, sizeof(struct fact)),
        .paths = arena_array(arena, MAX_FACTS, sizeof(struct fact)),
        .commands = arena_array(arena, MAX_FACTS, sizeof(struct fact)),
        .rootfs = fact_of(request->rootfs, arena),
        .module = fact_of(request->module, arena),
        .stdin_file = fact_of(request->stdin_path, arena),
        .has_module_sha256 = true,
    };
    if (!facts->dirs || !facts->paths || !facts->commands)
        abort();
    if (!request->rootfs)
        facts->program = program_of(request->program, arena);
    for (size_t i = 0; i < request->n_dirs; i++)
        facts->dirs[i] = fact_of(request->dirs[i].host, arena);
    for (size_t i = 0; i < request->n_capabilities; i++)
        facts->paths[i] = fact_of(request->capabilities[i].path, arena);
    for (size_t i = 0; i < request->n_commands; i++)
        facts->commands[i] = program_of(request->commands[i].program, arena);
}

static void show(const struct needs *needs, struct buf *into)
{
    for (size_t i = 0; i < needs->count; i++)
        if (buf_printf(into, "%s%s%s %s", i ? "; " : "", needs->items[i].must_be_named ? "!" : "",
                       capability_rows[needs->items[i].capability].name, needs->items[i].scope) < 0)
            abort();
}

static void get_needs(size_t i, struct arena *arena, struct run_options *options,
                      struct needs *needs)
{
    const char *words[MAX_WORDS + 1] = {NULL};
    struct request *request = &options->request;
    struct facts facts;
    struct err err;

    memcpy(words, rows[i].words, sizeof(rows[i].words));
    run_options_init(options, rows[i].backend);
    if (options_parse(rows[i].syntax, words, options, arena, &err) < 0)
        abort();
    if (options->source &&
        (request_set_source(request, arena, options->source, strlen(options->source), &err) < 0 ||
         language_put(request, arena, &err) < 0))
        abort();
    find_facts(request, arena, &facts);
    if (needs_of(request, &facts, arena, needs, &err) < 0)
        abort();
}

static void test_row(size_t i, struct arena *arena)
{
    _cleanup_(buf_release) struct buf shown = BUF_INIT(4096);
    struct run_options options;
    struct needs needs;

    get_needs(i, arena, &options, &needs);
    show(&needs, &shown);
    if (!ok(strcmp(shown.data, rows[i].needs) == 0, "%s %s needs %s", rows[i].syntax->verb,
            rows[i].words[0], rows[i].needs))
        printf("# %s\n", shown.data);
}

/* The scope that is told is one that a grant may have, and that does. */
static void test_scopes(size_t i, struct arena *arena)
{
    struct run_options options;
    struct needs needs;
    struct err err = {0};
    bool all = true;

    get_needs(i, arena, &options, &needs);
    for (size_t k = 0; k < needs.count; k++) {
        const struct need *need = &needs.items[k];
        bool is_known = need->path || need->name || need->program || need->is_loopback;
        all &= scope_exists(need) == is_known &&
               (!is_known || scope_check(need->capability, need->scope, &err) == 0);
    }
    ok(all, "a grant of what %s %s needs would cover it, if it is known here%s",
       rows[i].syntax->verb, rows[i].words[0], err.message);
}

/* What wasp brings itself, or the owner registered. */
static void test_own(struct arena *arena)
{
    static const char bytes[] = "wasm";
    struct fact dirs[2] = {{.is_known = true, .real = "/a"}, {.is_known = true, .real = "/b"}};
    const struct facts facts = {.dirs = dirs};
    struct request request;
    struct needs needs;
    struct err err;

    request_init(&request, BACKEND_WASM);
    request.module = "sample";
    request.module_bytes = bytes;
    ok(needs_of(&request, &facts, arena, &needs, &err) == 0 && needs.count == 0,
       "a sample needs nothing");
    request.module_bytes = NULL;
    request.module_is_own = true;
    if (request_add_dir(&request, arena, NULL, "/a", "/a", ACCESS_RO, &err) < 0 ||
        request_add_dir(&request, arena, NULL, "/b", "/b", ACCESS_RO, &err) < 0)
        abort();
    request.dirs[0].is_own = true;
    ok(needs_of(&request, &facts, arena, &needs, &err) == 0 && needs.count == 1 &&
           strcmp(needs.items[0].scope, "/b") == 0,
       "a registered runtime needs nothing for itself and its own directory");
    request.module_is_own = false;
    ok(needs_of(&request, &facts, arena, &needs, &err) == 0 && needs.count == 2,
       "the same module from elsewhere needs leave");
}

int main(void)
{
    struct arena *arena = arena_new();

    if (!arena)
        return 1;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        test_row(i, arena);
        test_scopes(i, arena);
    }
    test_own(arena);
    arena_free(arena);
    return done();
}
