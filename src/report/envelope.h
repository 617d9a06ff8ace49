/*
 * envelope: the one JSON object (CONTRACT §1).
 */
#pragma once

#include "plan/request.h"
#include "report/changes.h"
#include "report/leave.h"
#include "run/result.h"

/* What an envelope tells; all but the result may be NULL. */
struct envelope {
    const struct result *result;
    const struct request *request; /* NULL: it never came to be */
    const struct leave *leave;
    const struct changes_report *changes;
    const struct buf *answer; /* of a capability: JSON */
    bool with_timings;        /* adds `timings_us` */
};

/* Writes the object and a newline to fd. 0, or -1 and errno when fd cannot take it. */
int envelope_write(int fd, const struct envelope *envelope);
/*
 * Likewise, with the base fields alone (`wasp.answer/1`): for verbs that do something small and run
 * no guest.
 */
int envelope_write_answer(int fd, const struct result *result);
/*
 * The one line for `error` (and for stderr), or NULL for success. Lives in `into`, which is cleared
 * first.
 */
const char *envelope_error(const struct result *result, const struct request *request,
                           struct buf *into);
