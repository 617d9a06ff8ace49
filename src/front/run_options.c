#include "front/run_options.h"

#include <string.h>

#include "base/cleanup.h"
#include "front/samples.h"
#include "plan/language.h"

void run_options_init(struct run_options *options, enum backend backend)
{
    *options = (struct run_options){0};
    request_init(&options->request, backend);
    principal_owner(&options->gate.principal);
}

static int take_dir(void *target, struct arena *arena, const char *word, struct err *err)
{
    struct run_options *options = target;

    return request_add_dir_text(&options->request, arena, word, err);
}

static int take_env(void *target, struct arena *arena, const char *word, struct err *err)
{
    struct run_options *options = target;

    return request_add_env(&options->request, arena, word, false, err);
}

static int take_forced_env(void *target, struct arena *arena, const char *word, struct err *err)
{
    struct run_options *options = target;

    return request_add_env(&options->request, arena, word, true, err);
}

static int take_secret_env(void *target, struct arena *arena, const char *word, struct err *err)
{
    struct run_options *options = target;

    if (request_add_secret_env(&options->request, arena, word, err) < 0)
        return err_prefix(err, "--secret-env");
    return 0;
}

static int take_unprotected(void *target, struct arena *arena, const char *word, struct err *err)
{
    struct run_options *options = target;

    if (request_add_unprotected(&options->request, arena, word, err) < 0)
        return err_prefix(err, "--unprotect");
    return 0;
}

static int take_arg(void *target, struct arena *arena, const char *word, struct err *err)
{
    struct run_options *options = target;

    return request_add_arg(&options->request, arena, word, err);
}

static int take_stdin(void *target, struct arena *arena, const char *word, struct err *err)
{
    struct run_options *options = target;

    (void) arena; /* argv lives as long as the job */
    if (word[0] == '\0')
        return err_set(err, ERR_USAGE, "--stdin needs the name of a file, or '-'");
    options->request.stdin_kind = strcmp(word, "-") == 0 ? STDIN_INHERIT : STDIN_FILE;
    options->request.stdin_path = options->request.stdin_kind == STDIN_FILE ? word : NULL;
    return 0;
}

static int take_pin(void *target, struct arena *arena, const char *word, struct err *err)
{
    struct run_options *options = target;

    if (request_set_pin(&options->request, arena, word, err) < 0)
        return err_prefix(err, "--module-sha256");
    return 0;
}

static int take_capability(void *target, struct arena *arena, const char *word, struct err *err)
{
    struct run_options *options = target;

    if (request_add_capability(&options->request, arena, NULL, word, err) < 0)
        return err_prefix(err, "--capability");
    return 0;
}

static int take_command(void *target, struct arena *arena, const char *word, struct err *err)
{
    struct run_options *options = target;

    if (request_add_command_text(&options->request, arena, word, err) < 0)
        return err_prefix(err, "--command");
    return 0;
}

static int take_isolation(void *target, struct arena *arena, const char *word, struct err *err)
{
    struct run_options *options = target;

    (void) arena; /* nothing is kept of the word */
    return request_set_isolation(&options->request, word, err);
}

static int take_proc(void *target, struct arena *arena, const char *word, struct err *err)
{
    struct run_options *options = target;

    (void) arena; /* nothing is kept of the word */
    return request_set_proc(&options->request, word, err);
}

static int take_apply(void *target, struct arena *arena, const char *word, struct err *err)
{
    struct run_options *options = target;

    (void) arena; /* as above */
    return request_set_apply(&options->request, word, err);
}

static int take_cwd(void *target, struct arena *arena, const char *word, struct err *err)
{
    struct run_options *options = target;

    return request_set_cwd(&options->request, arena, word, err);
}

static int take_rootfs(void *target, struct arena *arena, const char *word, struct err *err)
{
    struct run_options *options = target;

    return request_set_rootfs(&options->request, arena, NULL, word, err);
}

/* The first word is the program. */
static int take_program(void *target, struct arena *arena, const char *word, struct err *err)
{
    struct run_options *options = target;

    if (!options->request.program)
        return request_set_program(&options->request, arena, word, err);
    return take_arg(target, arena, word, err);
}

static int take_workspace(void *target, struct arena *arena, const char *word, struct err *err)
{
    struct run_options *options = target;

    return request_add_workspace(&options->request, arena, NULL, word, err);
}

#define AT(field) offsetof(struct run_options, field)

/* ---- what a request can hold, each row a field of it ----------------------------------------- */

static const struct option wasm_dir_rows[] = {
    {"--allow-dir", "PATH|HOST::GUEST[:ro|:rw]",
     "grant a directory, for reading and writing unless ':ro' says otherwise; the guest finds a "
     "plain PATH as written, the first one as '.' too",
     .kind = OPTION_TAKE, .take = take_dir, .values = VALUES_DIRECTORY, .repeatable = true},
};

static const struct option native_dir_rows[] = {
    {"--allow-dir", "PATH|HOST::GUEST[:ro|:rw|:overlay]",
     "grant a directory, for reading and writing unless ':ro' or ':overlay' says otherwise; the "
     "guest finds a plain PATH where it is on the host and begins to work in the first one; in an "
     "overlay it changes a copy (see --apply)",
     .kind = OPTION_TAKE, .take = take_dir, .values = VALUES_DIRECTORY, .repeatable = true},
};

/* Of every guest. */
static const struct option guest_rows[] = {
    {"--unprotect", "NAME",
     "let the guest change files of this name, such as .git/hooks or .vscode, which make the host "
     "run something later",
     .kind = OPTION_TAKE, .take = take_unprotected, .repeatable = true},
    {"--env", "NAME=VALUE", "give the guest a variable; nothing is inherited", .kind = OPTION_TAKE,
     .take = take_env, .repeatable = true},
    {"--secret-env", "NAME",
     "give the guest this variable of wasp's own environment, and take its value out of all that "
     "is answered: output, events and messages show '[redacted]'; the guest itself can read it, "
     "and so can whoever may read your processes' environment",
     .kind = OPTION_TAKE, .take = take_secret_env, .repeatable = true},
    {"--stdin", "FILE|-",
     "what the guest reads; '-' is wasp's own standard input; nothing by default",
     .kind = OPTION_TAKE, .take = take_stdin, .values = VALUES_FILE},
};

static const struct option wasm_rows[] = {
    {.kind = OPTION_LIMITS, .at = AT(request.limits), .backend = BACKEND_WASM},
    {"--capability", "NAME[=PATH]",
     "let the guest call wasp's own functions: fs_read or fs_write, for the directories it has or "
     "for PATH, or exec_run, for the commands that --command names",
     .kind = OPTION_TAKE, .take = take_capability, .repeatable = true},
    {"--command", "'PROGRAM ARGS'",
     "what exec_run may run, in a native cell of its own; '*' in an argument stands for any "
     "characters, a last '*' for any further arguments",
     .kind = OPTION_TAKE, .take = take_command, .repeatable = true},
    {"--module-sha256", "HEX", "refuse a module with any other digest", .kind = OPTION_TAKE,
     .take = take_pin},
    {"--hardened", NULL, "interpret the module: slower, and none of it becomes executable",
     .kind = OPTION_FLAG, .at = AT(request.pulley)},
};

static const struct option native_rows[] = {
    {"--env-force", "NAME=VALUE",
     "give it a variable that makes programs run code that nobody named, such as LD_PRELOAD or "
     "PYTHONPATH",
     .kind = OPTION_TAKE, .take = take_forced_env, .repeatable = true},
    {.kind = OPTION_LIMITS, .at = AT(request.limits), .backend = BACKEND_NATIVE},
    {"--cwd", "PATH",
     "where the guest begins to work, a path in its own view; the first plain directory that is "
     "granted by default, or else its HOME",
     .kind = OPTION_TAKE, .take = take_cwd},
    {"--rootfs", "DIR",
     "a tree with a whole system (debootstrap, an exported image) in the place of the host's /usr",
     .kind = OPTION_TAKE, .take = take_rootfs, .values = VALUES_DIRECTORY},
    {"--loopback", NULL, "let its own processes connect to each other; there is no other network",
     .kind = OPTION_SET, .at = AT(request.network), .number = NETWORK_LOOPBACK},
    {"--proc", "own|none",
     "what the guest finds at /proc: its own processes (default), or nothing, for places where "
     "the kernel refuses it one",
     .kind = OPTION_TAKE, .take = take_proc, .choices = request_proc_names},
    {"--tty", NULL, "give it a terminal of its own instead of pipes", .kind = OPTION_FLAG,
     .at = AT(request.tty)},
    {"--apply", "never|ask|auto",
     "what becomes of the changes in overlay directories when it exits with 0: they are kept for "
     "'wasp changes' (default), you are asked, or they are applied",
     .kind = OPTION_TAKE, .take = take_apply, .choices = request_apply_names},
    {"--diff", NULL, "show those changes as a unified diff, too", .kind = OPTION_FLAG,
     .at = AT(request.diff)},
};

/* Of every guest, how it is run. */
static const struct option run_rows[] = {
    {"--output-kill", NULL, "end the run when output passes its limit, instead of cutting it",
     .kind = OPTION_FLAG, .at = AT(request.output_kills)},
    {"--isolation", "full|landlock",
     "all walls (default), or fewer, for places where namespaces are forbidden; WASP_ISOLATION "
     "sets it too",
     .kind = OPTION_TAKE, .take = take_isolation, .choices = request_isolation_names},
    {"--dry-run", NULL,
     "show what would be run, as JSON, and run nothing; no policy is asked ('wasp policy explain' "
     "does that)",
     .kind = OPTION_FLAG, .at = AT(dry_run)},
};

/* ---- how it is told; a manifest has no say in it --------------------------------------------- */

static const struct option cache_rows[] = {
    {"--no-cache", NULL, "compile anew and keep nothing", .kind = OPTION_FLAG,
     .at = AT(request.no_cache)},
};

static const struct option report_rows[] = {
    {"--events", "FILE|fd:N",
     "tell what happens while it runs, a JSON object a line, to a file or an open descriptor; a "
     "reader that is too slow misses some",
     .kind = OPTION_TEXT, .at = AT(events), .values = VALUES_FILE},
    {"--timings", NULL, "add timings_us to the result", .kind = OPTION_FLAG, .at = AT(timings)},
};

static const struct option quiet_rows[] = {
    {"--quiet", NULL, "no line on stderr when the run fails", .kind = OPTION_FLAG, .at = AT(quiet)},
};

/* ---- one call -------------------------------------------------------------------------------- */

static const char *const call_names[] = {"fs_read", "fs_write", "exec_run", NULL};

/* ---- what single verbs have ------------------------------------------------------------------ */

static const struct option code_rows[] = {
    {"--lang", "LANGUAGE", "what the source is written in: python, javascript or bash",
     .kind = OPTION_TEXT, .at = AT(request.language), .choices = language_names, .required = true},
    {"-c", "SOURCE", "the source itself, instead of a file", .kind = OPTION_TEXT, .at = AT(source)},
    {"--backend", "native|wasm",
     "run it in a native cell (default), or by a runtime that 'wasp runtime add' keeps; options "
     "and "
     "limits are then those of 'wasp run'",
     .kind = OPTION_TEXT, .at = AT(backend), .choices = request_backend_names},
    {"--runtime", "NAME",
     "with '--backend wasm': the runtime to use; the one called like the language by default",
     .kind = OPTION_TEXT, .at = AT(runtime)},
};

static const struct option workspace_rows[] = {
    {"--workspace", "DIR", "the directory that the sample works in: it is '.', read-write",
     .kind = OPTION_TAKE, .take = take_workspace, .values = VALUES_DIRECTORY, .required = true},
};

static const struct option manifest_rows[] = {
    {"--manifest", "FILE|-",
     "the request, as JSON ('wasp schema request'); '-' is standard input; relative paths in it "
     "count from the file's folder",
     .kind = OPTION_TEXT, .at = AT(manifest), .values = VALUES_FILE, .required = true},
};

#define TABLE(rows)              \
    {                            \
        (rows), ARRAY_SIZE(rows) \
    }
static const struct option_table wasm_dir_table = TABLE(wasm_dir_rows);
static const struct option_table native_dir_table = TABLE(native_dir_rows);
static const struct option_table guest_table = TABLE(guest_rows);
static const struct option_table wasm_table = TABLE(wasm_rows);
static const struct option_table native_table = TABLE(native_rows);
static const struct option_table run_table = TABLE(run_rows);
static const struct option_table cache_table = TABLE(cache_rows);
static const struct option_table report_table = TABLE(report_rows);
static const struct option_table quiet_table = TABLE(quiet_rows);

static const struct option_table *const wasm_tables[] = {
    &wasm_dir_table, &guest_table,  &wasm_table,  &run_table, &gate_table,
    &cache_table,    &report_table, &quiet_table, NULL};
static const struct option_table *const native_tables[] = {
    &native_dir_table, &guest_table,  &native_table, &run_table,
    &gate_table,       &report_table, &quiet_table,  NULL};
static const struct option_table *const task_tables[] = {&gate_table, &cache_table, &report_table,
                                                         &quiet_table, NULL};
static const struct option_table *const call_tables[] = {&gate_table, &quiet_table, NULL};

static const struct operand module_operand = {"MODULE.wasm", .at = AT(request.module),
                                              .values = VALUES_FILE};
static const struct operand sample_operand = {"NAME", .at = AT(request.module),
                                              .choices = sample_names};
static const struct operand runtime_operand = {"NAME", .at = AT(runtime)};
static const struct operand source_operand = {"FILE|-", .at = AT(source_file),
                                              .values = VALUES_FILE, .optional = true};

const struct syntax run_syntax = {
    .verb = "run",
    .shared = wasm_tables,
    .operands = &module_operand,
    .n_operands = 1,
    .rest = "ARGS",
    .take_rest = take_arg,
    .sibling = &exec_syntax,
    .instead = "a wasm module",
};

const struct syntax exec_syntax = {
    .verb = "exec",
    .shared = native_tables,
    .rest = "PROGRAM ARGS",
    .needs_rest = true,
    .take_rest = take_program,
    .sibling = &run_syntax,
    .instead = "a native program",
};

#define CODE_SYNTAX                                                           \
    .verb = "code", .options = code_rows, .n_options = ARRAY_SIZE(code_rows), \
    .operands = &source_operand, .n_operands = 1, .rest = "ARGS", .take_rest = take_arg
const struct syntax code_syntax = {
    CODE_SYNTAX,
    .shared = native_tables,
    .sibling = &code_wasm_syntax,
    .instead = "the native backend",
};

const struct syntax code_wasm_syntax = {
    CODE_SYNTAX,
    .shared = wasm_tables,
    .sibling = &code_syntax,
    .instead = "the wasm backend",
};

const struct syntax sample_run_syntax = {
    .verb = "sample run",
    .options = workspace_rows,
    .n_options = ARRAY_SIZE(workspace_rows),
    .shared = wasm_tables,
    .operands = &sample_operand,
    .n_operands = 1,
    .rest = "ARGS",
    .take_rest = take_arg,
    .sibling = &exec_syntax,
    .instead = "a wasm module",
};

const struct syntax runtime_run_syntax = {
    .verb = "runtime run",
    .shared = wasm_tables,
    .operands = &runtime_operand,
    .n_operands = 1,
    .rest = "ARGS",
    .take_rest = take_arg,
    .sibling = &exec_syntax,
    .instead = "a wasm module",
};

static const struct operand call_operands[] = {
    {"NAME", .at = AT(call), .choices = call_names},
    {"JSON", .at = AT(arguments)},
};

const struct syntax call_syntax = {
    .verb = "call",
    .shared = call_tables,
    .operands = call_operands,
    .n_operands = ARRAY_SIZE(call_operands),
};

const struct syntax task_run_syntax = {
    .verb = "task run",
    .options = manifest_rows,
    .n_options = ARRAY_SIZE(manifest_rows),
    .shared = task_tables,
};

const struct syntax task_explain_syntax = {
    .verb = "task explain",
    .options = manifest_rows,
    .n_options = ARRAY_SIZE(manifest_rows),
};

const struct syntax task_check_syntax = {
    .verb = "task check",
    .options = manifest_rows,
    .n_options = ARRAY_SIZE(manifest_rows),
};
