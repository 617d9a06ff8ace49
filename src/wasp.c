#include "wasp.h"

#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "gate/call.h"
#include "gate/service.h"
#include "report/envelope.h"
#include "report/explain.h"
#include "report/judgement.h"
#include "report/settle.h"
#include "run/result.h"

/* Before there is a request there is no output to keep. */
#define NO_OUTPUT 0

void wasp_say(int fd, const char *line)
{
    _cleanup_(buf_release) struct buf text = BUF_INIT(4096);

    if (fd < 0)
        return;
    /* What has a verdict was redacted with it; other verbs' errors come here as they are. */
    if (buf_add_string(&text, "wasp: ") < 0 || redact_copy(line, strlen(line), NULL, &text) < 0 ||
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
static int tell(const struct envelope *envelope, const struct wasp_report *report)
{
    int status = envelope_write(report->out, envelope) < 0
                     ? say_unwritten(report)
                     : say_error(envelope->result, envelope->request, report);

    events_end(report->events, envelope->result, envelope->request, status);
    return status;
}

static void run_admitted(const struct request *request, struct gate *gate, struct arena *arena,
                         const struct wasp_report *report, struct result *result)
{
    _cleanup_(service_release) struct service service = SERVICE_NONE;
    struct observer observer = events_observer(report->events);
    struct err err;

    observer.guard = gate_guard(gate);
    if (request->n_capabilities > 0) {
        if (service_open(&service, gate, request, &observer, arena, &err) < 0) {
            result_fail(result, &err);
            return;
        }
        observer.door = &service.door;
    }
    run_request(request, gate->places, &observer, arena, result);
}

int wasp_run(struct request *request, struct gate *gate, struct arena *arena,
             const struct wasp_report *report)
{
    _cleanup_(result_release) struct result result;
    _cleanup_(changes_report_release) struct changes_report changes;
    bool has_changes = false;

    result_init(&result, NO_OUTPUT);
    result.secrets = request->secrets;
    changes_report_init(&changes);
    bool admitted = gate_admit(gate, request, &result);
    uint64_t output_max = request->limits.value[LIMIT_OUTPUT];
    result_set_output(&result, output_max < SIZE_MAX ? (size_t) output_max : SIZE_MAX);
    events_begin(report->events, &result, request);
    if (gate->leave.approval)
        events_approval(report->events, gate->leave.approval, gate->leave.approval_expires_ms);
    if (admitted) {
        uint64_t started_ns = clock_realtime_ns();
        run_admitted(request, gate, arena, report, &result);
        has_changes = settle_changes(request, gate->places, started_ns, report->ask, arena, &result,
                                     &changes);
        gate_end(gate, &result);
    }
    return tell(&(struct envelope){.result = &result,
                                   .request = request,
                                   .leave = &gate->leave,
                                   .changes = has_changes ? &changes : NULL,
                                   .with_timings = report->timings},
                report);
}

int wasp_refuse(const struct err *why, const struct wasp_report *report)
{
    _cleanup_(result_release) struct result result;

    result_init(&result, NO_OUTPUT);
    result.secrets = report->secrets;
    result_fail(&result, why);
    return tell(&(struct envelope){.result = &result}, report);
}

int wasp_cancel(int signal, const struct wasp_report *report)
{
    _cleanup_(result_release) struct result result;

    result_init(&result, NO_OUTPUT);
    result.reason = REASON_CANCELLED;
    result.signal = signal;
    return tell(&(struct envelope){.result = &result}, report);
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

int wasp_call(enum door_call call, const char *json, struct request *request, struct gate *gate,
              struct arena *arena, const struct wasp_report *report)
{
    _cleanup_(buf_release) struct buf answer = BUF_INIT(DOOR_MAX_ANSWER);
    _cleanup_(result_release) struct result result;

    result_init(&result, NO_OUTPUT);
    call_once(gate, request, call, json, arena, &answer, &result);
    return tell(&(struct envelope){.result = &result, .leave = &gate->leave, .answer = &answer},
                report);
}

int wasp_judge(struct request *request, struct gate *gate, const struct wasp_report *report)
{
    struct err err;

    if (gate_explain(gate, request, &err) < 0)
        return wasp_refuse(&err, report);
    return judgement_write(report->out, &gate->leave, &gate->needs, &gate->decision) < 0
               ? say_unwritten(report)
               : 0;
}

int wasp_explain(const struct request *request, const struct wasp_report *report)
{
    return explain_write(report->out, request) < 0 ? say_unwritten(report) : 0;
}
