/*
 * events: what happens while a run goes on, one JSON object a line (CONTRACT §9).
 *
 * A reader that is slow, or gone, costs itself events and the guest nothing: nothing here waits,
 * but for the last event, which waits about a second. What could not be written is counted, and the
 * last event says how many; a gap in `seq` shows where. The `data` of a stream's events, put
 * together, is that stream in the envelope.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "plan/request.h"
#include "report/sink.h"
#include "run/observer.h"
#include "run/result.h"

#define EVENT_HEARTBEAT_NS (5 * UINT64_C(1000000000))
/* A guest that writes byte by byte gets an event a byte only if it is slow, too. */
#define EVENT_OUTPUT_NS (20 * UINT64_C(1000000))
#define EVENT_OUTPUT_BYTES 3072

/* Output that has not been told yet. Once it has, the start of a character may stay. */
struct pending {
    char bytes[EVENT_OUTPUT_BYTES];
    size_t len;
    uint64_t told_ns; /* when the last was */
    uint64_t due_ns;  /* when the next is to be; UINT64_MAX: there is nothing to tell */
};

struct events {
    struct sink sink;
    uint64_t seq;                          /* of the last event, written or not */
    uint64_t dropped;                      /* events that the sink did not take */
    const char *run_id, *module, *program; /* one of the two; NULL: the other */
    const struct secrets *secrets;         /* what none of them may show; may be NULL */
    uint64_t begun_ns, heartbeat_ns;       /* when the run began, when the next heartbeat is due */
    struct pending pending[STREAMS];
    bool ended;
};

/*
 * Opens where they go: "fd:N", a descriptor that is open for writing, or a file, which is made
 * (0600) or added to. Never what standard output leads to. 0, or -1 and *err; events_release in
 * both cases.
 */
int events_open(struct events *events, const char *where, struct err *err);
void events_release(struct events *events);

/* Each does nothing where events is NULL. */

/* The run that the events from now on are about; result and request must outlive it. */
void events_begin(struct events *events, const struct result *result,
                  const struct request *request);
/* One that writes an event for what it is told; it points to events. */
struct observer events_observer(struct events *events);
/* The request waits for a person. */
void events_approval(struct events *events, const char *id, uint64_t expires_ms);
/* The last event: what comes after it is not written. request may be NULL. */
void events_end(struct events *events, const struct result *result, const struct request *request,
                int exit_status);
