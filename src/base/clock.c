#include "base/clock.h"

#include <stdio.h>
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

void clock_format(uint64_t realtime_ns, char ret_text[CLOCK_TEXT_SIZE])
{
    time_t seconds = (time_t) (realtime_ns / NS_PER_S);
    struct tm utc = {0};

    (void) gmtime_r(&seconds, &utc); /* 64 bits of nanoseconds end in 2554: it has a year */
    size_t len = strftime(ret_text, CLOCK_TEXT_SIZE, "%Y-%m-%dT%H:%M:%S", &utc);
    (void) snprintf(ret_text + len, CLOCK_TEXT_SIZE - len, ".%03uZ", /* fits */
                    (unsigned) (realtime_ns % NS_PER_S / NS_PER_MS) % 1000);
}
