#include "run/result.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/uuid.h"

/* CONTRACT §2. Where the status depends on more than the reason, the row names on what. */
enum status_source { STATUS_FIXED, STATUS_GUEST, STATUS_SIGNAL, STATUS_ERR };

static const struct reason_row {
    const char *name;
    enum status_source source;
    int status; /* STATUS_FIXED; for the others what holds when the source says nothing */
} reasons[REASON_COUNT] = {
    [REASON_EXITED] = {"exited", STATUS_GUEST, 125},
    [REASON_SIGNAL] = {"signal", STATUS_SIGNAL, 125},
    [REASON_TRAP] = {"trap", STATUS_FIXED, 134},
    [REASON_TIMEOUT] = {"timeout", STATUS_FIXED, 124},
    [REASON_CPU_LIMIT] = {"cpu_limit", STATUS_FIXED, 124},
    [REASON_MEMORY_LIMIT] = {"memory_limit", STATUS_FIXED, 137},
    [REASON_FUEL_LIMIT] = {"fuel_limit", STATUS_FIXED, 124},
    [REASON_OUTPUT_LIMIT] = {"output_limit", STATUS_FIXED, 137},
    [REASON_DISK_LIMIT] = {"disk_limit", STATUS_FIXED, 137},
    [REASON_PROCESS_LIMIT] = {"process_limit", STATUS_FIXED, 137},
    [REASON_DENIED] = {"denied", STATUS_FIXED, 77},
    [REASON_APPROVAL_REQUIRED] = {"approval_required", STATUS_FIXED, 77},
    [REASON_CANCELLED] = {"cancelled", STATUS_SIGNAL, 125},
    [REASON_NOT_STARTED] = {"not_started", STATUS_ERR, 126},
    [REASON_INVALID] = {"invalid", STATUS_FIXED, 2},
    [REASON_BACKEND_ERROR] = {"backend_error", STATUS_FIXED, 125},
};

static const struct reason_row *row_of(enum reason reason)
{
    return &reasons[(unsigned) reason < REASON_COUNT ? reason : REASON_BACKEND_ERROR];
}

const char *reason_name(enum reason reason)
{
    return row_of(reason)->name;
}

void result_init(struct result *result, size_t output_max)
{
    *result = (struct result){
        .backend = "none",
        .reason =
            REASON_BACKEND_ERROR, /* until something better is known: never a success by default */
        .stdout_capture.kept = BUF_INIT(output_max),
        .stderr_capture.kept = BUF_INIT(output_max),
        .isolation = "full",
    };
    uuid_make(clock_realtime_ns(), result->run_id);
}

void result_set_output(struct result *result, size_t output_max)
{
    result->stdout_capture.kept.max = output_max;
    result->stderr_capture.kept.max = output_max;
}

void result_release(struct result *result)
{
    if (!result)
        return;
    buf_release(&result->stdout_capture.kept);
    buf_release(&result->stderr_capture.kept);
    for (size_t i = 0; i < result->n_overlays; i++) {
        cleanup_fd(&result->overlays[i].upper);
        cleanup_fd(&result->overlays[i].lower);
    }
    result->n_overlays = 0;
}

/* err.h names the reason as text, because base/ does not know this room's enum. */
static enum reason reason_of_err(const struct err *err)
{
    const char *name = err_kind(err->code)->reason;

    for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
        if (strcmp(reasons[i].name, name) == 0)
            return (enum reason) i;
    return REASON_BACKEND_ERROR;
}

void result_fail(struct result *result, const struct err *err)
{
    enum reason reason = reason_of_err(err);

    /*
     * ERR_NONE reads as "exited": an error without a code must not look like a guest that ended
     * well.
     */
    result->reason = reason == REASON_EXITED ? REASON_BACKEND_ERROR : reason;
    result->err = *err;
    result->has_exit_code = false;
}

int result_exit_status(const struct result *result)
{
    const struct reason_row *row = row_of(result->reason);

    switch (row->source) {
    case STATUS_FIXED:
        break;
    case STATUS_GUEST:
        if (result->has_exit_code && result->exit_code <= 255)
            return (int) result->exit_code;
        break;
    case STATUS_SIGNAL:
        if (result->signal > 0 && result->signal < 128)
            return 128 + result->signal;
        break;
    case STATUS_ERR:
        if (result->err.code != ERR_NONE)
            return err_kind(result->err.code)->exit_status;
        break;
    }
    return row->status;
}
