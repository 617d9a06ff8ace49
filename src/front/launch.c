#include "front/launch.h"

#include <unistd.h>

#include "base/cleanup.h"
#include "front/ask.h"
#include "plan/language.h"
#include "store/runtimes.h"
#include "wasp.h"

int launch_read(struct launch *launch, const struct syntax *syntax, enum backend backend,
                const struct call *call, struct err *err)
{
    struct err ignored; /* the first error is the one to tell, but the options are always read */

    *launch = (struct launch){.signal = 0};
    run_options_init(&launch->options, backend);
    int rc = environment_read(call->arena, &launch->environment, err);
    if (options_parse(syntax, call->words, &launch->options, call->arena, rc < 0 ? &ignored : err) <
        0)
        rc = -1;
    return rc;
}

/* The request itself comes first, then the environment, then the default. */
static int set_isolation(struct launch *launch, struct err *err)
{
    struct request *request = &launch->options.request;
    const char *name = launch->environment.isolation;

    if (!name || request->isolation_given || request_set_isolation(request, name, err) == 0)
        return 0;
    return err_hint(err, "it is the value of WASP_ISOLATION");
}

int launch_judge(struct launch *launch, struct arena *arena, struct err *err)
{
    struct request *request = &launch->options.request;

    if (set_isolation(launch, err) < 0)
        return -1;
    if (request->language && language_put(request, arena, err) < 0)
        return -1;
    return request_check(request, err);
}

/* *ret_hold, which the caller owns, keeps the module in its place. */
static int put_runtime(struct launch *launch, struct arena *arena, int *ret_hold, struct err *err)
{
    _cleanup_(runtimes_release) struct runtimes runtimes = RUNTIMES_NONE;
    struct request *request = &launch->options.request;
    const char *name = launch->options.runtime;
    struct runtime runtime;

    if (!name)
        return 0;
    if (runtimes_open(launch->environment.places.state_dir, arena, &runtimes, err) < 0)
        return -1;
    if (runtimes_find(&runtimes, name, arena, &runtime, ret_hold, err) < 0) {
        if (err->code == ERR_NOT_FOUND && request->language)
            return err_set(err, ERR_NOT_FOUND,
                           "there is no runtime '%s': keep one with 'wasp runtime add %s "
                           "MODULE.wasm'",
                           name, name);
        return -1;
    }
    return runtime_put(&runtime, arena, request, err);
}

/* All that must be there before it is run or shown. */
static int prepare(struct launch *launch, struct arena *arena, int *ret_hold, struct err *err)
{
    if (launch_judge(launch, arena, err) < 0)
        return -1;
    return put_runtime(launch, arena, ret_hold, err);
}

int launch_answer(struct launch *launch, struct arena *arena, const struct err *failed)
{
    const struct run_options *options = &launch->options;
    struct wasp_report report = {
        .out = STDOUT_FILENO,
        .log = options->quiet ? -1 : STDERR_FILENO,
        .timings = options->timings,
        .ask = changes_ask,
    };
    _cleanup_(events_release) struct events events = {.sink.fd = -1};
    _cleanup_fd_ int hold = -1;
    struct err err;

    if (options->events && !options->dry_run) {
        if (events_open(&events, options->events, &err) == 0)
            report.events = &events;
        else if (!failed)
            failed = &err;
    }
    if (launch->signal)
        return wasp_cancel(launch->signal, &report);
    if (!failed && prepare(launch, arena, &hold, &err) < 0)
        failed = &err;
    if (failed)
        return wasp_refuse(failed, &report);
    if (options->dry_run)
        return wasp_explain(&options->request, &report);
    return wasp_run(&options->request, &launch->environment.places, arena, &report);
}
