/*
 * wasp: the spine. A door makes a request; here it is run, told as one JSON object, and turned into
 * the exit status.
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/redact.h"
#include "gate/gate.h"
#include "plan/door.h"
#include "plan/request.h"
#include "report/events.h"
#include "report/settle.h"
#include "run/run.h"

/* Where the answer goes. */
struct wasp_report {
    int out;               /* the JSON object */
    int log;               /* the one line for people when the status is error; -1: nowhere */
    bool timings;          /* add `timings_us` */
    struct events *events; /* what is told while it runs; NULL: to nobody */
    const struct secrets *secrets; /* what no answer may show; NULL: nothing is registered */
    /* Asks a person whether to apply what the guest changed. NULL: there is nobody to ask. */
    settle_ask *ask;
};

/*
 * Each of these writes exactly one JSON object to report->out and returns the command's exit status
 * (CONTRACT §2): 125, whatever else happened, if the object could not be written.
 */

/*
 * Has the request judged and runs it; the gate is open and may lower its limits. The caller has
 * blocked SIGINT, SIGTERM and SIGHUP and ignores SIGPIPE.
 */
int wasp_run(struct request *request, struct gate *gate, struct arena *arena,
             const struct wasp_report *report);
/*
 * One capability without a guest: the arguments are JSON, as the guest would have put them.
 * request, a native one that grants nothing, has the limits.
 */
int wasp_call(enum door_call call, const char *json, struct request *request, struct gate *gate,
              struct arena *arena, const struct wasp_report *report);
/* Shows how it would be judged, and runs, counts and records nothing. */
int wasp_judge(struct request *request, struct gate *gate, const struct wasp_report *report);
/* Answers for a request that never came to be. */
int wasp_refuse(const struct err *why, const struct wasp_report *report);
/* Answers for one that a signal ended before it came to be. */
int wasp_cancel(int signal, const struct wasp_report *report);
/* Shows the request with every default filled in, and runs nothing. */
int wasp_explain(const struct request *request, const struct wasp_report *report);

/*
 * Answers for something that needed no guest and took took_ns, with the base fields alone. why is
 * NULL if it went well.
 */
int wasp_answer(const struct err *why, uint64_t took_ns, const struct wasp_report *report);

/* "wasp: line" on fd, in one write; a line that cannot be written is lost. -1: nothing happens. */
void wasp_say(int fd, const char *line);
