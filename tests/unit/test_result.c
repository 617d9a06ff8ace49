#include "run/result.h"

#include <string.h>

#include "base/cleanup.h"
#include "tap.h"

/* CONTRACT §2, line by line. */
static const struct {
    enum reason reason;
    bool has_exit_code;
    uint32_t exit_code;
    int signal;
    enum err_code code;
    int status;
} statuses[] = {
    {REASON_EXITED, true, 0, 0, ERR_NONE, 0},
    {REASON_EXITED, true, 3, 0, ERR_NONE, 3},
    {REASON_EXITED, true, 126, 0, ERR_NONE, 126},
    {REASON_EXITED, true, 255, 0, ERR_NONE, 255},
    {REASON_EXITED, true, 256, 0, ERR_NONE, 125},
    {REASON_EXITED, true, UINT32_MAX, 0, ERR_NONE, 125},
    {REASON_EXITED, false, 0, 0, ERR_NONE, 125},
    {REASON_TIMEOUT, false, 0, 0, ERR_NONE, 124},
    {REASON_CPU_LIMIT, false, 0, 0, ERR_NONE, 124},
    {REASON_FUEL_LIMIT, false, 0, 0, ERR_NONE, 124},
    {REASON_BACKEND_ERROR, false, 0, 0, ERR_WALL, 125},
    {REASON_BACKEND_ERROR, false, 0, 0, ERR_HOST, 125},
    {REASON_NOT_STARTED, false, 0, 0, ERR_NOT_FOUND, 127},
    {REASON_NOT_STARTED, false, 0, 0, ERR_UNREADABLE, 126},
    {REASON_NOT_STARTED, false, 0, 0, ERR_MALFORMED, 126},
    {REASON_NOT_STARTED, false, 0, 0, ERR_COMPONENT, 126},
    {REASON_NOT_STARTED, false, 0, 0, ERR_IMPORTS, 126},
    {REASON_NOT_STARTED, false, 0, 0, ERR_PIN, 126},
    {REASON_TRAP, false, 0, 0, ERR_NONE, 134},
    {REASON_MEMORY_LIMIT, false, 0, 0, ERR_NONE, 137},
    {REASON_DISK_LIMIT, false, 0, 0, ERR_NONE, 137},
    {REASON_OUTPUT_LIMIT, false, 0, 0, ERR_NONE, 137},
    {REASON_PROCESS_LIMIT, false, 0, 0, ERR_NONE, 137},
    {REASON_SIGNAL, false, 0, 11, ERR_NONE, 139},
    {REASON_SIGNAL, false, 0, 0, ERR_NONE, 125},
    {REASON_CANCELLED, false, 0, 15, ERR_NONE, 143},
    {REASON_INVALID, false, 0, 0, ERR_USAGE, 2},
    {REASON_INVALID, false, 0, 0, ERR_REQUEST, 2},
    {REASON_DENIED, false, 0, 0, ERR_DENIED, 77},
    {REASON_APPROVAL_REQUIRED, false, 0, 0, ERR_NONE, 77},
};

static void test_statuses(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(statuses); i++) {
        struct result result;
        result_init(&result, 0);
        result.reason = statuses[i].reason;
        result.has_exit_code = statuses[i].has_exit_code;
        result.exit_code = statuses[i].exit_code;
        result.signal = statuses[i].signal;
        result.err.code = statuses[i].code;
        ok(result_exit_status(&result) == statuses[i].status,
           "reason %s with code %u, signal %d, error %s gives exit status %d",
           reason_name(result.reason), result.exit_code, result.signal,
           err_kind(result.err.code)->name, statuses[i].status);
        result_release(&result);
    }
}

static void test_names(void)
{
    static const char *const names[REASON_COUNT] = {
        "exited",     "signal",        "trap",       "timeout",
        "cpu_limit",  "memory_limit",  "fuel_limit", "output_limit",
        "disk_limit", "process_limit", "denied",     "approval_required",
        "cancelled",  "not_started",   "invalid",    "backend_error"};

    for (unsigned i = 0; i < REASON_COUNT; i++)
        ok(strcmp(reason_name((enum reason) i), names[i]) == 0, "reason %u is called %s", i,
           names[i]);
    ok(strcmp(reason_name(REASON_COUNT), "backend_error") == 0,
       "a reason out of range reads as backend_error");
}

static void test_fail(void)
{
    struct result result;
    struct err err = {0};

    for (int code = ERR_NONE + 1; code < ERR_CODES; code++) {
        result_init(&result, 0);
        (void) err_set(&err, (enum err_code) code, "why"); /* always -1 */
        result_fail(&result, &err);
        ok(strcmp(reason_name(result.reason), err_kind(err.code)->reason) == 0 &&
               result_exit_status(&result) == err_kind(err.code)->exit_status &&
               !result.has_exit_code,
           "error %s becomes reason %s and status %d", err_kind(err.code)->name,
           err_kind(err.code)->reason, err_kind(err.code)->exit_status);
    }
    result_init(&result, 0);
    result_fail(&result, &(struct err){.code = ERR_NONE});
    ok(result.reason == REASON_BACKEND_ERROR, "a failure without a code is no success");
    result_init(&result, 0);
    ok(result_exit_status(&result) == 125, "a result that nobody filled in is no success");
}

static void test_run_ids(void)
{
    struct result a, b;
    char first[RUN_ID_SIZE];

    result_init(&a, 0);
    ok(strlen(a.run_id) == RUN_ID_SIZE - 1 &&
           strspn(a.run_id, "0123456789abcdef-") == RUN_ID_SIZE - 1,
       "a run id is 36 characters of hex and dashes: %s", a.run_id);
    ok(a.run_id[8] == '-' && a.run_id[13] == '-' && a.run_id[18] == '-' && a.run_id[23] == '-',
       "its dashes are where a UUID has them");
    ok(a.run_id[14] == '7' && strchr("89ab", a.run_id[19]), "it says version 7 and its variant");

    memcpy(first, a.run_id, sizeof(first));
    bool distinct = true;
    for (int i = 0; i < 1000; i++) {
        result_init(&b, 0);
        distinct = distinct && strcmp(a.run_id, b.run_id) != 0;
        a = b;
    }
    ok(distinct, "a thousand run ids in a row differ");
    ok(strncmp(first, a.run_id, 18) < 0, "a later run id sorts behind an earlier one");
}

static void test_output(void)
{
    struct result result;

    result_init(&result, 4);
    ok(buf_add(&result.stdout_capture.kept, "abcd", 4) == 0 &&
           buf_add(&result.stdout_capture.kept, "e", 1) < 0,
       "a stream keeps what it was told and no more");
    result_release(&result);
    result_release(&result);
    ok(result.stdout_capture.kept.data == NULL, "a result can be released twice");
}

int main(void)
{
    test_statuses();
    test_names();
    test_fail();
    test_run_ids();
    test_output();
    return done();
}
