#include "report/verdict.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/redact.h"

/* Runs that a limit ended: what to say, and which row of limit_rows has number and option. */
static const struct limit_words {
    enum reason reason;
    enum limit limit;
    const char *words;
} limit_words[] = {
    {REASON_TIMEOUT, LIMIT_WALL, "guest was still running at its time limit"},
    {REASON_CPU_LIMIT, LIMIT_CPU, "guest used up its CPU time limit"},
    {REASON_MEMORY_LIMIT, LIMIT_MEMORY, "guest was killed at its memory limit"},
    {REASON_FUEL_LIMIT, LIMIT_FUEL, "guest used up its fuel limit"},
    {REASON_OUTPUT_LIMIT, LIMIT_OUTPUT, "guest wrote more than its output limit"},
    {REASON_DISK_LIMIT, LIMIT_DISK, "guest wrote more than its disk limit"},
    {REASON_PROCESS_LIMIT, LIMIT_PROCESSES, "guest kept starting processes past its limit"},
};

bool verdict_is_success(const struct result *result)
{
    return result->reason == REASON_EXITED && result->has_exit_code && result->exit_code == 0;
}

static void say_limit(struct err *err, const struct limit_words *words,
                      const struct request *request)
{
    const struct limit_row *row = &limit_rows[words->limit];
    char amount[LIMIT_TEXT_SIZE] = "unknown size";

    if (request)
        limits_format(words->limit, request->limits.value[words->limit], amount);
    (void) err_set(err, ERR_NONE, "%s of %s", words->words, amount); /* always -1, here and below */
    (void) err_hint(err, "raise it with %s", row->option);
}

static void say_signal(struct err *err, const char *words, int signal)
{
    const char *name = sigabbrev_np(signal);

    (void) err_set(err, ERR_NONE, "%s %d%s%s%s", words, signal, name ? " (SIG" : "",
                   name ? name : "", name ? ")" : "");
}

/* A trap's name as our cell gives it; anything else is no name and stays out. */
static bool is_trap_name(const char *text, size_t size)
{
    size_t len = strspn(text, "abcdefghijklmnopqrstuvwxyz_");

    return len > 0 && len < size && text[len] == '\0';
}

/* The strings come from the cell, which the guest may own by now: they need not be text. */
static void say_trap(struct verdict_text *verdict, const struct tell_done *done)
{
    char name[sizeof(done->trap_code) + 1] = "";
    int len = (int) strnlen(done->trap_message, sizeof(done->trap_message));

    memcpy(name, done->trap_code, sizeof(done->trap_code)); /* its NUL may be missing, ours not */
    if (is_trap_name(name, sizeof(verdict->code)))
        memcpy(verdict->code, name, strlen(name) + 1);
    if (len > 0)
        (void) err_set(&verdict->err, ERR_NONE, "guest trapped: %.*s", len, done->trap_message);
    else
        (void) err_set(&verdict->err, ERR_NONE, "guest trapped: %s", verdict->code);
    /* many programs abort when they are out of memory, and say nothing of it */
    if (done->limits_hit & HIT_MEMORY)
        (void) err_hint(&verdict->err, "it had been refused memory: raise the limit with %s",
                        limit_rows[LIMIT_MEMORY].option);
}

/* Through err_set once more, which makes one line of it: it may be raw bytes from a cell. */
static void say_err(struct verdict_text *verdict, const struct err *from)
{
    struct err *err = &verdict->err;

    (void) snprintf(verdict->code, sizeof(verdict->code), "%s", /* ours: fits */
                    err_kind(from->code)->name);
    (void) err_set(err, from->code, "%.*s", (int) sizeof(from->message), from->message);
    if (from->hint[0])
        (void) err_hint(err, "%.*s", (int) sizeof(from->hint), from->hint);
    if (from->step[0]) {
        struct err step;
        (void) err_set(&step, ERR_NONE, "%.*s", (int) sizeof(from->step), from->step);
        (void) err_step(err, step.message);
    }
}

/* A guest that failed by itself: what we know that may be the reason. */
static void say_why(struct err *err, const struct result *result)
{
    if (result->done.limits_hit & HIT_DISK)
        (void) err_hint(err, "its disk was full: raise the limit with %s",
                        limit_rows[LIMIT_DISK].option);
    else if (result->done.limits_hit & HIT_PROCESSES)
        (void) err_hint(err, "it was refused processes: raise the limit with %s",
                        limit_rows[LIMIT_PROCESSES].option);
    else if (result->unseen)
        (void) err_hint(err,
                        "'%s' is on the host, and nothing that is granted holds it: grant its "
                        "directory with --allow-dir",
                        result->unseen);
}

static void say_outcome(struct verdict_text *verdict, const struct result *result,
                        const struct request *request)
{
    struct err *err = &verdict->err;

    for (size_t i = 0; i < ARRAY_SIZE(limit_words); i++)
        if (limit_words[i].reason == result->reason) {
            say_limit(err, &limit_words[i], request);
            return;
        }
    switch (result->reason) {
    case REASON_EXITED:
        (void) err_set(err, ERR_NONE, "guest exited with code %u", result->exit_code);
        say_why(err, result);
        break;
    case REASON_SIGNAL:
        say_signal(err, "guest died of signal", result->signal);
        break;
    case REASON_CANCELLED:
        say_signal(err, "cancelled by signal", result->signal);
        break;
    case REASON_TRAP:
        say_trap(verdict, &result->done);
        break;
    default:
        (void) err_set(err, ERR_NONE, "the run ended: %s", reason_name(result->reason));
        break;
    }
}

void verdict_init(struct verdict_text *ret_verdict, const struct result *result,
                  const struct request *request)
{
    *ret_verdict = (struct verdict_text){0};
    (void) snprintf(ret_verdict->code, sizeof(ret_verdict->code), "%s", /* ours: fits */
                    reason_name(result->reason));
    if (result->err.code != ERR_NONE)
        say_err(ret_verdict, &result->err);
    else
        say_outcome(ret_verdict, result, request);
    /* Every message of a run leaves wasp through here. */
    (void) redact_text(ret_verdict->err.message, sizeof(ret_verdict->err.message),
                       result->secrets); /* there or not, it is fine now; likewise the hint */
    (void) redact_text(ret_verdict->err.hint, sizeof(ret_verdict->err.hint), result->secrets);
}

int verdict_line(const struct err *err, struct buf *into)
{
    if (buf_add_string(into, err->message) < 0)
        return -1;
    /* A missing module has no hint in its line: callers hold on to the exact words. */
    bool is_module = strncmp(err->message, "failed to load wasm module", 26) == 0;
    if (err->hint[0] == '\0' || (err->code == ERR_NOT_FOUND && is_module))
        return 0;
    return buf_add_string(into, "; ") < 0 ? -1 : buf_add_string(into, err->hint);
}
