#include "wasp.h"

#include <stdint.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "report/envelope.h"
#include "report/explain.h"
#include "report/settle.h"
#include "run/result.h"

/* Before there is a request there is no output to keep. */
#define NO_OUTPUT 0

void wasp_say(int fd, const char *line)
{
    _cleanup_(buf_release) struct buf text = BUF_INIT(4096);

    if (fd < 0)
        return;
    if (buf_add_string(&text, "wasp: ") < 0 || buf_add_string(&text, line) < 0 ||
        buf_add_char(&text, '\n') < 0)
        return;
    (void) fd_write_all(fd, text.data, text.len); /* nobody is left to tell */
}

/* A result that nobody can read must not look like one that was delivered. */
static int say_unwritten(const struct wasp_report *report)
{
    struct err err;

    (void) err_sys(&err, ERR_HOST, "cannot write the result"); /* -1 is its only answer */
    wasp_say(report->log, err.message);
    return err_kind(ERR_HOST)->exit_status;
}

/* The line for people. Returns the exit status. */
static int say_error(const struct result *result, const struct request *request,
                     const struct wasp_report *report)
{
    _cleanup_(buf_release) struct buf line = BUF_INIT(2 * sizeof(struct err));
    const char *error = envelope_error(result, request, &line);

    if (error)
        wasp_say(report->log, error);
    return result_exit_status(result);
}

/* Every run and every refusal ends here, so that each has one envelope and one last event. */
static int tell(const struct result *result, const struct request *request,
                const struct changes_report *changes, const struct wasp_report *report)
{
    int status = envelope_write(report->out, result, request, changes, report->timings) < 0
                     ? say_unwritten(report)
                     : say_error(result, request, report);

    events_end(report->events, result, request, status);
    return status;
}

int wasp_run(const struct request *request, const struct places *places, struct arena *arena,
             const struct wasp_report *report)
{
    _cleanup_(result_release) struct result result;
    uint64_t output_max = request->limits.value[LIMIT_OUTPUT];

    result_init(&result, output_max < SIZE_MAX ? (size_t) output_max : SIZE_MAX);
    events_begin(report->events, &result, request);
    const struct observer observer = events_observer(report->events);
    uint64_t started_ns = clock_realtime_ns();
    run_request(request, places, &observer, arena, &result);
    _cleanup_(changes_report_release) struct changes_report changes;
    changes_report_init(&changes);
    bool has_changes =
        settle_changes(request, places, started_ns, report->ask, arena, &result, &changes);
    return tell(&result, request, has_changes ? &changes : NULL, report);
}

int wasp_refuse(const struct err *why, const struct wasp_report *report)
{
    _cleanup_(result_release) struct result result;

    result_init(&result, NO_OUTPUT);
    result_fail(&result, why);
    return tell(&result, NULL, NULL, report);
}

int wasp_cancel(int signal, const struct wasp_report *report)
{
    _cleanup_(result_release) struct result result;

    result_init(&result, NO_OUTPUT);
    result.reason = REASON_CANCELLED;
    result.signal = signal;
    return tell(&result, NULL, NULL, report);
}

int wasp_answer(const struct err *why, uint64_t took_ns, const struct wasp_report *report)
{
    _cleanup_(result_release) struct result result;

    result_init(&result, NO_OUTPUT);
    result.wall_ns = took_ns;
    if (why) {
        result_fail(&result, why);
    } else {
        result.reason = REASON_EXITED;
        result.has_exit_code = true;
    }
    if (envelope_write_answer(report->out, &result) < 0)
        return say_unwritten(report);
    return say_error(&result, NULL, report);
}

int wasp_explain(const struct request *request, const struct wasp_report *report)
{
    return explain_write(report->out, request) < 0 ? say_unwritten(report) : 0;
}
