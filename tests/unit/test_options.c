#include "base/clock.h"
#include "front/options.h"

#include <string.h>

#include "base/cleanup.h"
#include "front/run_options.h"
#include "front/suggest.h"
#include "tap.h"

#define MAX_WORDS 12
#define PIN "0123456789abcdef0123456789abcdef0123456789abcdef0123456789ABCDEF"

static int parse(const char *const *words, struct arena *arena, struct run_options *options,
                 struct err *err)
{
    run_options_init(options, BACKEND_WASM);
    return options_parse(&run_syntax, words, options, arena, err);
}

static int parse_native(const struct syntax *syntax, const char *const *words, struct arena *arena,
                        struct run_options *options, struct err *err)
{
    run_options_init(options, BACKEND_NATIVE);
    return options_parse(syntax, words, options, arena, err);
}

/* Each bad command line has one clear error. `says` must be in the message, `hints` in the hint. */
struct refused {
    const char *words[MAX_WORDS];
    const char *says;
    const char *hints;
};

static const struct refused refused[] = {
    {{NULL}, "no MODULE.wasm is given", "wasp help run"},
    {{"--", "m.wasm"}, "no MODULE.wasm is given", "wasp help run"},
    {{"m.wasm", "x"}, "unexpected 'x'", "after '--'"},
    {{"m.wasm", "--bogus"}, "unknown option '--bogus'", "after '--'"},
    {{"m.wasm", "-x"}, "unknown option '-x'", "after '--'"},
    {{"m.wasm", "--memroy", "1m"}, "unknown option '--memroy'", "did you mean '--memory'?"},
    {{"m.wasm", "--alow-dir=x"}, "unknown option '--alow-dir'", "did you mean '--allow-dir'?"},
    {{"m.wasm", "--allow"}, "unknown option '--allow'", "did you mean '--allow-dir'?"},
    {{"m.wasm", "--dir", "x"}, "unknown option '--dir'", "did you mean '--allow-dir'?"},
    {{"m.wasm", "--mem", "1m"}, "unknown option '--mem'", "did you mean '--memory'?"},
    {{"m.wasm", "--manifest", "m"}, "unknown option '--manifest'", ""},
    {{"m.wasm", "--events"}, "--events needs a value: --events FILE|fd:N", ""},
    {{"m.wasm", "--policy"}, "--policy needs a value: --policy FILE|preset:NAME", ""},
    {{"m.wasm", "--tier", "none"}, "--tier must be one of low, medium, high, not 'none'", ""},
    {{"m.wasm", "--audit", "maybe"}, "--audit must be one of required, best-effort, off", ""},
    {{"m.wasm", "--principal", "root"}, "'root' is no principal", ""},
    {{"m.wasm", "--principal", "agent:"}, "'' is no name for an agent", ""},
    {{"m.wasm", "--principal", "agent:a b"}, "'a b' is no name for an agent", ""},
    {{"m.wasm", "--help"}, "unknown option '--help'", "wasp help run"},
    {{"m.wasm", "---"}, "unknown option '---'", ""},
    {{"m.wasm", "--=x"}, "unknown option '--'", ""},
    {{"m.wasm", "--a\nwasp: forged"}, "unknown option '--a\\x0awasp: forged'", ""},
    {{"m.wasm", "--env"}, "--env needs a value: --env NAME=VALUE", ""},
    {{"m.wasm", "--timeout"}, "--timeout needs a value: --timeout TIME", ""},
    {{"m.wasm", "--quiet=yes"}, "--quiet takes no value", ""},
    {{"m.wasm", "--quiet="}, "--quiet takes no value", ""},
    {{"m.wasm", "--timeout", "1s", "--timeout", "1s"}, "--timeout is given twice", ""},
    {{"m.wasm", "--timeout=1s", "--timeout", "2s"}, "--timeout is given twice", ""},
    {{"m.wasm", "--stdin", "a", "--stdin", "b"}, "--stdin is given twice", ""},
    {{"m.wasm", "--stdin", ""}, "--stdin needs the name of a file", ""},
    {{"m.wasm", "--isolation", "none"}, "one of full, landlock, not 'none'", ""},
    {{"m.wasm", "--isolation="}, "one of full, landlock, not ''", ""},
    {{"m.wasm", "--module-sha256", "abc"}, "--module-sha256: 'abc'", ""},
    {{"m.wasm", "--timeout", "0"}, "--timeout", ""},
    {{"m.wasm", "--memory", "8GiB"}, "--memory", ""},
    {{"m.wasm", "--memory", "unlimited"}, "--memory", ""},
    {{"m.wasm", "--env", "A"}, "'A'", ""},
    {{"m.wasm", "--env", "=b"}, "NAME", ""},
    {{"m.wasm", "--env", "A=1", "--env", "A=2"}, "'A' is given twice", ""},
    {{"m.wasm", "--allow-dir", ""}, "", ""},
    {{"m.wasm", "--allow-dir", "a", "--allow-dir", "a"}, "", ""},
    {{"m.wasm", "--allow-dir", "a::/x:no"}, "", ""},
    {{"m.wasm", "--unprotect", "src"}, "--unprotect: 'src' is no protected name", ".git/hooks"},
    {{"m.wasm", "--rootfs", "r"}, "'--rootfs' is not there for a wasm module", ""},
    {{"m.wasm", "--tty"}, "'--tty' is not there for a wasm module", ""},
    {{"m.wasm", "--env-force", "A=b"}, "'--env-force' is not there for a wasm module", ""},
};

static const struct refused exec_refused[] = {
    {{NULL}, "no PROGRAM is given", "wasp exec [OPTIONS] -- PROGRAM ARGS"},
    {{"--"}, "no PROGRAM is given", "wasp exec [OPTIONS] -- PROGRAM ARGS"},
    {{"ls"}, "unexpected 'ls'", "wasp exec [OPTIONS] -- PROGRAM ARGS"},
    {{"ls", "--", "x"}, "unexpected 'ls'", "wasp exec [OPTIONS] -- PROGRAM ARGS"},
    {{"--", ""}, "the program is empty", ""},
    {{"--fuel", "5", "--", "ls"}, "'--fuel' is not there for a native program", ""},
    {{"--hardened", "--", "ls"}, "'--hardened' is not there for a native program", ""},
    {{"--no-cache", "--", "ls"}, "'--no-cache' is not there for a native program", ""},
    {{"--module-sha256", PIN, "--", "ls"}, "'--module-sha256' is not there", ""},
    {{"-c", "x", "--", "ls"}, "unknown option '-c'", ""},
    {{"--rootf", "x", "--", "ls"}, "unknown option '--rootf'", "did you mean '--rootfs'?"},
    {{"--loopback=yes", "--", "ls"}, "--loopback takes no value", ""},
    {{"--cwd", "x", "--", "ls"}, "not absolute", ""},
    {{"--rootfs", "/", "--", "ls"}, "whole host", ""},
    {{"--proc", "all", "--", "ls"}, "--proc must be one of own, none, not 'all'", ""},
    {{"--apply", "yes", "--", "ls"}, "--apply must be one of never, ask, auto, not 'yes'", ""},
    {{"--apply", "ask", "--apply", "ask", "--", "ls"}, "--apply is given twice", ""},
    {{"--allow-dir", "a::b", "--", "ls"}, "not absolute", ""},
};

static const struct refused code_refused[] = {
    {{"-c", "x"}, "no --lang LANGUAGE is given", "wasp help code"},
    {{"--lang", "ruby", "-c", "x"}, "one of python, javascript, bash, not 'ruby'", ""},
    {{"--lang", "bash", "-c"}, "-c needs a value: -c SOURCE", ""},
    {{"--lang", "bash", "-c", "x", "-c", "y"}, "-c is given twice", ""},
    {{"--lang", "bash", "-c=x"}, "unknown option '-c=x'", ""},
    {{"--lang", "bash", "-cx"}, "unknown option '-cx'", ""},
    {{"--lang", "bash", "a", "b"}, "unexpected 'b'", "after '--'"},
    {{"--lang", "bash", "--fuel", "5"}, "'--fuel' is not there for the native backend", ""},
    {{"--lang", "bash", "--backend", "docker"}, "one of wasm, native, not 'docker'", ""},
};

static void check_refused(const struct refused *row, int rc, const struct err *err)
{
    ok(rc < 0 && err_kind(err->code)->exit_status == 2 && err->message[0] &&
           strstr(err->message, row->says) && strstr(err->hint, row->hints),
       "a bad command line is refused: %s; %s", err->message, err->hint);
}

static void test_refused(struct arena *arena)
{
    struct run_options options;

    for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
        struct err err = {0};
        check_refused(&refused[i], parse(refused[i].words, arena, &options, &err), &err);
    }
    for (size_t i = 0; i < ARRAY_SIZE(exec_refused); i++) {
        const struct refused *row = &exec_refused[i];
        struct err err = {0};
        check_refused(row, parse_native(&exec_syntax, row->words, arena, &options, &err), &err);
    }
    for (size_t i = 0; i < ARRAY_SIZE(code_refused); i++) {
        const struct refused *row = &code_refused[i];
        struct err err = {0};
        check_refused(row, parse_native(&code_syntax, row->words, arena, &options, &err), &err);
    }
}

static void test_exec(struct arena *arena)
{
    static const char *const words[] = {
        "--loopback",  "--proc=none", "--tty",    "--apply", "auto",        "--diff",
        "--cwd",       "/ws",         "--rootfs", "tree",    "--env-force", "LD_PRELOAD=/x.so",
        "--unprotect", ".envrc",      "--memory", "1GiB",    "--allow-dir", ".::/ws:overlay",
        "--",          "make",        "--",       "-j2",     NULL};
    struct run_options options;
    struct err err = {0};

    ok(parse_native(&exec_syntax, words, arena, &options, &err) == 0,
       "exec takes options and, after '--', a program%s", err.message);
    const struct request *request = &options.request;
    ok(request->backend == BACKEND_NATIVE && strcmp(request->program, "make") == 0 &&
           request->n_args == 2 && strcmp(request->args[0], "--") == 0 &&
           strcmp(request->args[1], "-j2") == 0,
       "the first word is the program, the others go to it as they are");
    ok(request->network == NETWORK_LOOPBACK && request->proc == PROC_NONE && request->tty &&
           request->apply == APPLY_AUTO && request->diff && strcmp(request->cwd, "/ws") == 0 &&
           strcmp(request->rootfs, "tree") == 0 && request->n_unprotected == 1,
       "every option of a native program sets its own field");
    ok(request->n_env == 1 && request->limits.value[LIMIT_MEMORY] == UINT64_C(1) << 30 &&
           request->limits.value[LIMIT_PROCESSES] == 128 &&
           request->dirs[0].access == ACCESS_OVERLAY,
       "limits are those of a native program");
    static const char *const plain[] = {"--", "true", NULL};
    ok(parse_native(&exec_syntax, plain, arena, &options, &err) == 0 &&
           options.request.network == NETWORK_NONE && options.request.proc == PROC_OWN &&
           options.request.apply == APPLY_NEVER && !options.request.tty,
       "what is not asked for is not there");
}

/* What `wasp code` reads first says for which backend to read again. */
static void test_code(struct arena *arena)
{
    static const char *const words[] = {"--fuel",    "5",    "--lang", "python", "-c", "-x=1",
                                        "--backend", "wasm", "--",     "a",      NULL};
    static const char *const other[] = {"--lang", "bash", "-", "--", "-c", "x", NULL};
    struct run_options options;
    struct err err = {0};

    ok(parse_native(&code_syntax, words, arena, &options, &err) < 0 && options.backend &&
           strcmp(options.backend, "wasm") == 0,
       "the backend is read even where another option is not the native one's");
    run_options_init(&options, BACKEND_WASM);
    ok(options_parse(&code_wasm_syntax, words, &options, arena, &err) == 0 &&
           options.request.limits.value[LIMIT_FUEL] == 5 && strcmp(options.source, "-x=1") == 0 &&
           strcmp(options.request.language, "python") == 0 && options.request.n_args == 1,
       "the value of -c is the next word, whatever it is");
    ok(parse_native(&code_syntax, other, arena, &options, &err) == 0 && !options.source &&
           strcmp(options.source_file, "-") == 0 && options.request.n_args == 2,
       "'-' is an operand, and behind '--' there are no options");
}

/* One who asked for events or for quiet gets it, whatever else is wrong. */
static void test_after_error(struct arena *arena)
{
    static const char *const words[] = {"--bogus", "x",        "m.wasm",    "--env", "A",
                                        "--quiet", "--events", "ev.ndjson", NULL};
    struct run_options options;
    struct err err = {0};

    ok(parse(words, arena, &options, &err) < 0 && strstr(err.message, "'--bogus'"),
       "the first bad word is the one that is told: %s", err.message);
    ok(options.quiet && options.events && strcmp(options.events, "ev.ndjson") == 0,
       "options behind a bad word are read all the same");
}

static void test_request(struct arena *arena)
{
    static const char *const words[] = {
        "--allow-dir", "ws",         "m.wasm", "--env=A=b=c", "--env", "B=", "--stdin", "-",
        "--no-cache",  "--hardened", "--",     "--quiet",     "--",    "",   NULL};
    struct run_options options;
    struct err err = {0};

    ok(parse(words, arena, &options, &err) == 0, "options and the operand come in any order%s",
       err.message);
    const struct request *request = &options.request;
    ok(strcmp(request->module, "m.wasm") == 0, "the operand is the module");
    ok(request->n_dirs == 1 && strcmp(request->dirs[0].host, "ws") == 0 &&
           request->dirs[0].access == ACCESS_RW,
       "--allow-dir grants a directory for writing");
    ok(request->n_env == 2 && strcmp(request->env[0], "A=b=c") == 0 &&
           strcmp(request->env[1], "B=") == 0,
       "--name=value is cut at the first '=' only");
    ok(request->stdin_kind == STDIN_INHERIT, "--stdin - is wasp's own");
    ok(request->no_cache && request->pulley && !request->output_kills && !options.quiet,
       "a flag sets its own field and no other");
    ok(request->n_args == 3 && strcmp(request->args[0], "--quiet") == 0 &&
           strcmp(request->args[1], "--") == 0 && strcmp(request->args[2], "") == 0,
       "what follows '--' goes to the guest as it is");
    ok(request->isolation == ISOLATION_FULL, "all walls are the default");
}

static void test_values(struct arena *arena)
{
    static const char *const words[] = {"./-odd.wasm",
                                        "--stdin=in.txt",
                                        "--isolation=landlock",
                                        "--module-sha256",
                                        PIN,
                                        "--quiet",
                                        "--quiet",
                                        "--dry-run",
                                        "--timings",
                                        "--output-kill",
                                        NULL};
    struct run_options options;
    struct err err = {0};

    ok(parse(words, arena, &options, &err) == 0, "a flag may be repeated%s", err.message);
    ok(options.request.stdin_kind == STDIN_FILE &&
           strcmp(options.request.stdin_path, "in.txt") == 0,
       "--stdin takes a file");
    ok(options.request.isolation == ISOLATION_LANDLOCK, "--isolation names the rung");
    ok(options.request.module_sha256 && strcmp(options.request.module_sha256, PIN) == 0,
       "--module-sha256 pins the module");
    ok(options.quiet && options.dry_run && options.timings && options.request.output_kills,
       "every flag is seen");
}

static void test_limits(struct arena *arena)
{
    for (size_t i = 0; i < LIMIT_COUNT; i++) {
        bool is_one = i == LIMIT_PROCESSES; /* a wasm guest has never more */
        const char *const words[] = {"m.wasm", limit_rows[i].option, is_one ? "1" : "17", NULL};
        uint64_t number = is_one ? 1 : 17;
        uint64_t expected = limit_rows[i].unit == UNIT_DURATION ? number * NS_PER_S : number;
        struct run_options options;
        struct err err = {0};
        struct limits defaults;
        limits_init(&defaults, BACKEND_WASM);
        defaults.value[i] = expected;
        defaults.given[i] = true;
        ok(parse(words, arena, &options, &err) == 0 &&
               memcmp(options.request.limits.value, defaults.value, sizeof(defaults.value)) == 0 &&
               memcmp(options.request.limits.given, defaults.given, sizeof(defaults.given)) == 0,
           "%s sets its own limit and no other%s", limit_rows[i].option, err.message);
    }
}

/* What help, man page and completion rely on. */
static void test_rows(const struct syntax *syntax)
{
    struct option option, other;
    size_t n = 0;

    for (size_t i = 0; syntax_option(syntax, i, &option); i++, n++) {
        bool unique = true, is_long = strncmp(option.name, "--", 2) == 0;
        for (size_t j = 0; syntax_option(syntax, j, &other); j++)
            unique = unique && (i == j || strcmp(option.name, other.name) != 0);
        ok(unique && is_long == !option_is_short(&option) &&
               (is_long || (option.name[0] == '-' && strlen(option.name) == 2)) &&
               strlen(option.name) <= SUGGEST_MAX_WORD,
           "%s is a name of its own", option.name);
        ok(option.help && option.help[0] && option.help[strlen(option.help) - 1] != '.' &&
               !strchr(option.help, '\n'),
           "%s has a help text of one line without a full stop", option.name);
        ok((option.kind == OPTION_FLAG || option.kind == OPTION_SET) == (option.metavar == NULL),
           "%s has a metavar exactly if it takes a value", option.name);
    }
    ok(n > 10 && n <= 64, "'%s' has as many options as can be told apart", syntax->verb);
}

static void test_suggest(void)
{
    static const struct {
        const char *typed, *word;
        bool near;
    } pairs[] = {
        {"--memroy", "--memory", true},
        {"rnu", "run", true},
        {"ru", "run", true},
        {"rum", "run", true},
        {"xyz", "run", false},
        {"", "run", false},
        {"hlep", "help", true},
        {"--timeut", "--timeout", true},
        {"--e", "--env", true},
    };

    for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
        struct suggestion suggestion;
        suggestion_init(&suggestion, pairs[i].typed);
        suggestion_offer(&suggestion, pairs[i].word);
        ok((suggestion.best != NULL) == pairs[i].near, "'%s' is %s '%s'", pairs[i].typed,
           pairs[i].near ? "near" : "far from", pairs[i].word);
    }
}

int main(void)
{
    struct arena *arena = arena_new();

    if (!arena)
        return 1;
    test_refused(arena);
    test_after_error(arena);
    test_request(arena);
    test_values(arena);
    test_limits(arena);
    test_exec(arena);
    test_code(arena);
    test_rows(&run_syntax);
    test_rows(&exec_syntax);
    test_rows(&code_syntax);
    test_rows(&code_wasm_syntax);
    test_suggest();
    arena_free(arena);
    return done();
}
