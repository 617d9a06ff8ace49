#include "front/launch.h"

#include <string.h>
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

    *launch = (struct launch){.only_judges = call->only_judges};
    run_options_init(&launch->options, backend);
    int rc = environment_read(call->arena, &launch->environment, err);
    if (options_parse(syntax, call->words, &launch->options, call->arena, rc < 0 ? &ignored : err) <
        0)
        rc = -1;
    return rc;
}

int launch_read_again(struct launch *launch, const struct syntax *syntax, enum backend backend,
                      const struct call *call, struct err *err)
{
    gate_ask *ask = launch->options.gate.ask; /* the gate has it already */

    run_options_init(&launch->options, backend);
    launch->options.gate.ask = ask;
    return options_parse(syntax, call->words, &launch->options, call->arena, err);
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

int launch_open_gate(struct launch *launch, struct arena *arena, struct err *err)
{
    struct gate_options *options = &launch->options.gate;

    if (launch->has_gate)
        return 0;
    if (!options->principal.is_agent || launch->options.ask)
        options->ask = approval_ask;
    launch->has_gate = true;
    /* Rules on programs matter where one may be run, and finding them takes its time. */
    return gate_open(&launch->gate, options, &launch->environment.places,
                     launch->options.request.backend == BACKEND_NATIVE ||
                         launch->options.request.n_commands > 0 || launch->options.manifest,
                     arena, err);
}

void launch_close_gate(struct launch *launch)
{
    if (launch->has_gate)
        gate_release(&launch->gate);
    launch->has_gate = false;
}

static int answer(struct launch *launch, struct arena *arena, const struct wasp_report *report,
                  const struct err *failed)
{
    struct run_options *options = &launch->options;
    _cleanup_fd_ int hold = -1;
    struct err err;

    if (launch->signal)
        return wasp_cancel(launch->signal, report);
    /* First, and whatever is wrong already: no message may show them. */
    if (environment_take_secrets(&options->request, arena, &launch->secrets, &err) < 0 && !failed)
        failed = &err;
    if (!failed && (launch_open_gate(launch, arena, &err) < 0 || set_isolation(launch, &err) < 0))
        failed = &err;
    if (!failed)
        gate_bound(&launch->gate, &options->request);
    if (!failed && prepare(launch, arena, &hold, &err) < 0)
        failed = &err;
    if (failed)
        return wasp_refuse(failed, report);
    if (launch->only_judges)
        return wasp_judge(&options->request, &launch->gate, report);
    if (options->dry_run)
        return wasp_explain(&options->request, report);
    return wasp_run(&options->request, &launch->gate, arena, report);
}

/* A file is made or added to with the owner's rights, before any policy is asked. */
static int open_events(const struct run_options *options, struct events *events, struct err *err)
{
    if (options->gate.principal.is_agent && strncmp(options->events, "fd:", 3) != 0) {
        (void) err_set(err, ERR_DENIED,
                       "--events: an agent cannot have a file of the owner's "
                       "written"); /* -1, as below */
        return err_hint(err, "give it an open descriptor: --events fd:N");
    }
    return events_open(events, options->events, err);
}

int launch_answer(struct launch *launch, struct arena *arena, const struct err *failed)
{
    const struct run_options *options = &launch->options;
    struct wasp_report report = {
        .out = STDOUT_FILENO,
        .log = options->quiet ? -1 : STDERR_FILENO,
        .timings = options->timings,
        /* an agent on a terminal of its own would answer itself */
        .ask = options->gate.principal.is_agent && !options->ask ? NULL : changes_ask,
        .secrets = &launch->secrets,
    };
    _cleanup_(events_release) struct events events = {.sink.fd = -1};
    struct err err;

    if (options->events && !options->dry_run && !launch->only_judges) {
        if (open_events(options, &events, &err) == 0)
            report.events = &events;
        else if (!failed)
            failed = &err;
    }
    int status = answer(launch, arena, &report, failed);
    launch_close_gate(launch);
    request_wipe_secrets(&launch->options.request);
    secrets_release(&launch->secrets);
    return status;
}
