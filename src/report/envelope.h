/*
 * envelope: the one JSON object (CONTRACT §1).
 */
#pragma once

#include "plan/request.h"
#include "run/result.h"

/*
 * Writes the object and a newline to fd. with_timings adds `timings_us`. request may be NULL (it
 * never came to be). 0, or -1 and errno when fd cannot take it.
 */
int envelope_write(int fd, const struct result *result, const struct request *request,
                   bool with_timings);
/*
 * The one line for `error` (and for stderr), or NULL for success. Lives in `into`, which is cleared
 * first.
 */
const char *envelope_error(const struct result *result, const struct request *request,
                           struct buf *into);
