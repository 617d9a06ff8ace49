#include "front/run_options.h"

#include <string.h>

#include "base/cleanup.h"
#include "front/samples.h"

static const char *const isolation_choices[] = {"full", "landlock", NULL};

void run_options_init(struct run_options *options)
{
    *options = (struct run_options){0};
    request_init(&options->request, BACKEND_WASM);
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

static int take_isolation(void *target, struct arena *arena, const char *word, struct err *err)
{
    struct run_options *options = target;

    (void) arena; /* nothing is kept of the word */
    return request_set_isolation(&options->request, word, err);
}

static int take_workspace(void *target, struct arena *arena, const char *word, struct err *err)
{
    struct run_options *options = target;

    return request_add_workspace(&options->request, arena, NULL, word, err);
}

#define AT(field) offsetof(struct run_options, field)

/* What a request can hold, each row a field of it. */
static const struct option request_rows[] = {
    {"--allow-dir", "PATH|HOST::GUEST[:ro|:rw]",
     "grant a directory, for reading and writing unless ':ro' says otherwise; the guest finds a "
     "plain PATH as written, the first one as '.' too",
     .kind = OPTION_TAKE, .take = take_dir, .values = VALUES_DIRECTORY, .repeatable = true},
    {"--env", "NAME=VALUE", "give the guest a variable; nothing is inherited", .kind = OPTION_TAKE,
     .take = take_env, .repeatable = true},
    {"--stdin", "FILE|-",
     "what the guest reads; '-' is wasp's own standard input; nothing by default",
     .kind = OPTION_TAKE, .take = take_stdin, .values = VALUES_FILE},
    {.kind = OPTION_LIMITS, .at = AT(request.limits)},
    {"--output-kill", NULL, "end the run when output passes its limit, instead of cutting it",
     .kind = OPTION_FLAG, .at = AT(request.output_kills)},
    {"--module-sha256", "HEX", "refuse a module with any other digest", .kind = OPTION_TAKE,
     .take = take_pin},
    {"--isolation", "full|landlock",
     "all walls (default), or fewer, for places where namespaces are forbidden; WASP_ISOLATION "
     "sets it too",
     .kind = OPTION_TAKE, .take = take_isolation, .choices = isolation_choices},
    {"--hardened", NULL, "interpret the module: slower, and none of it becomes executable",
     .kind = OPTION_FLAG, .at = AT(request.pulley)},
    {"--dry-run", NULL, "show what would be run, as JSON, and run nothing", .kind = OPTION_FLAG,
     .at = AT(dry_run)},
};

/* How it is run and told. A manifest has no say in it. */
static const struct option report_rows[] = {
    {"--no-cache", NULL, "compile anew and keep nothing", .kind = OPTION_FLAG,
     .at = AT(request.no_cache)},
    {"--events", "FILE|fd:N",
     "tell what happens while it runs, a JSON object a line, to a file or an open descriptor; a "
     "reader that is too slow misses some",
     .kind = OPTION_TEXT, .at = AT(events), .values = VALUES_FILE},
    {"--timings", NULL, "add timings_us to the result", .kind = OPTION_FLAG, .at = AT(timings)},
    {"--quiet", NULL, "no line on stderr when the run fails", .kind = OPTION_FLAG, .at = AT(quiet)},
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

static const struct option_table request_table = {request_rows, ARRAY_SIZE(request_rows)};
static const struct option_table report_table = {report_rows, ARRAY_SIZE(report_rows)};
static const struct option_table *const run_tables[] = {&request_table, &report_table, NULL};
static const struct option_table *const task_tables[] = {&report_table, NULL};

static const struct operand module_operand = {"MODULE.wasm", .at = AT(request.module),
                                              .values = VALUES_FILE};
static const struct operand sample_operand = {"NAME", .at = AT(request.module),
                                              .choices = sample_names};
static const struct operand runtime_operand = {"NAME", .at = AT(request.module)};

const struct syntax run_syntax = {
    .verb = "run",
    .shared = run_tables,
    .operands = &module_operand,
    .n_operands = 1,
    .rest = "ARGS",
    .take_rest = take_arg,
};

const struct syntax sample_run_syntax = {
    .verb = "sample run",
    .options = workspace_rows,
    .n_options = ARRAY_SIZE(workspace_rows),
    .shared = run_tables,
    .operands = &sample_operand,
    .n_operands = 1,
    .rest = "ARGS",
    .take_rest = take_arg,
};

const struct syntax runtime_run_syntax = {
    .verb = "runtime run",
    .shared = run_tables,
    .operands = &runtime_operand,
    .n_operands = 1,
    .rest = "ARGS",
    .take_rest = take_arg,
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
