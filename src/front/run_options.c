#include "front/run_options.h"

#include <string.h>

#include "base/cleanup.h"

static const char *const isolation_choices[] = {"full", "landlock", NULL};

void run_options_init(struct run_options *options)
{
    *options = (struct run_options){0};
    request_init(&options->request);
}

static int take_dir(void *target, struct arena *arena, const char *word, struct err *err)
{
    struct run_options *options = target;

    return request_add_dir_text(&options->request, arena, word, err);
}

static int take_env(void *target, struct arena *arena, const char *word, struct err *err)
{
    struct run_options *options = target;

    return request_add_env(&options->request, arena, word, err);
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

#define AT(field) offsetof(struct run_options, field)

static const struct option options[] = {
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
    {"--hardened", NULL, "interpret the module: slower, and no executable page exists",
     .kind = OPTION_FLAG, .at = AT(request.pulley)},
    {"--no-cache", NULL, "compile anew and keep nothing", .kind = OPTION_FLAG,
     .at = AT(request.no_cache)},
    {"--dry-run", NULL, "show what would be run, as JSON, and run nothing", .kind = OPTION_FLAG,
     .at = AT(dry_run)},
    {"--timings", NULL, "add timings_us to the result", .kind = OPTION_FLAG, .at = AT(timings)},
    {"--quiet", NULL, "no line on stderr when the run fails", .kind = OPTION_FLAG, .at = AT(quiet)},
};

static const struct operand operands[] = {
    {"MODULE.wasm", .at = AT(request.module), .values = VALUES_FILE},
};

const struct syntax run_syntax = {
    .verb = "run",
    .options = options,
    .n_options = ARRAY_SIZE(options),
    .operands = operands,
    .n_operands = ARRAY_SIZE(operands),
    .rest = "ARGS",
    .take_rest = take_arg,
};
