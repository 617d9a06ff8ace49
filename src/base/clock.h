/*
 * clock: time in nanoseconds.
 */
#pragma once

#include <stdint.h>

#define NS_PER_US 1000ULL
#define NS_PER_MS 1000000ULL
#define NS_PER_S 1000000000ULL

uint64_t clock_monotonic_ns(void);
uint64_t clock_realtime_ns(void);

#define CLOCK_TEXT_SIZE 25 /* "2026-01-31T12:00:00.000Z" */

/* A time of clock_realtime_ns as RFC 3339 has it, in UTC. */
void clock_format(uint64_t realtime_ns, char ret_text[CLOCK_TEXT_SIZE]);
