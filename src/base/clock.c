#include "base/clock.h"

#include <time.h>

static uint64_t now_ns(clockid_t clock)
{
    struct timespec now = {0};

    (void) clock_gettime(clock, &now); /* cannot fail for a clock that every kernel has */
    return (uint64_t) now.tv_sec * NS_PER_S + (uint64_t) now.tv_nsec;
}

uint64_t clock_monotonic_ns(void)
{
    return now_ns(CLOCK_MONOTONIC);
}

uint64_t clock_realtime_ns(void)
{
    return now_ns(CLOCK_REALTIME);
}
