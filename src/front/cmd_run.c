/*
 * run: a module in a walled cell; one JSON object back.
 */
#include <unistd.h>

#include "front/environment.h"
#include "front/run_options.h"
#include "front/verb.h"
#include "wasp.h"

/* The environment first, so that an option overrides it. */
static int read_options(const struct call *call, struct environment *environment,
                        struct run_options *options, struct err *err)
{
    run_options_init(options);
    if (environment_read(call->arena, environment, err) < 0)
        return -1;
    if (environment->isolation &&
        request_set_isolation(&options->request, environment->isolation, err) < 0)
        return err_hint(err, "it is the value of WASP_ISOLATION");
    return options_parse(&run_syntax, call->words, options, call->arena, err);
}

static int run(const struct call *call)
{
    struct environment environment;
    struct run_options options;
    struct err err;
    int rc = read_options(call, &environment, &options, &err);
    struct wasp_report report = {
        .out = STDOUT_FILENO,
        .log = options.quiet ? -1 : STDERR_FILENO,
        .timings = options.timings,
    };

    if (rc < 0)
        return wasp_refuse(&err, &report);
    if (options.dry_run)
        return wasp_explain(&options.request, &report);
    return wasp_run(&options.request, &environment.places, call->arena, &report);
}

const struct verb verb_run = {
    .syntax = &run_syntax,
    .summary = "run a WebAssembly module with nothing but what you grant",
    .about = "Runs a WASI preview 1 module behind all walls: no file, no variable, no network and "
             "no other "
             "program unless an option grants it. Standard output is exactly one JSON object "
             "('wasp schema result' describes it); the exit status is the guest's own, or tells "
             "why there is "
             "none.",
    .answers_with_envelope = true,
    .main = run,
};
