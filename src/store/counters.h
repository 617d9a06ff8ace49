/*
 * counters: how often a holder used a capability within the last hour. They outlive the process.
 */
#pragma once

#include <stddef.h>

#include "plan/capability.h"
#include "store/db.h"

#define COUNTERS_WINDOW_MS (3600ULL * 1000)

struct counter {
    enum capability capability;
    int per_hour; /* PER_HOUR_ANY: counted all the same */
    /*
     * Filled in where the use is refused: when the oldest use of this hour leaves it, and there is
     * room again. UINT64_MAX: never (per_hour is 0).
     */
    uint64_t free_ms;
};

/*
 * Counts one use of each, all or none, if each stays within its number: a use counts for exactly
 * COUNTERS_WINDOW_MS. Under concurrency the number is never exceeded. 0; or -1 and *err
 * (ERR_DENIED, naming capability, number and when there is room again). *ret_which, if not NULL, is
 * the one that was refused.
 */
int counters_use(struct db *db, const char *holder, struct counter *counters, size_t count,
                 uint64_t now_ms, size_t *ret_which, struct err *err);
