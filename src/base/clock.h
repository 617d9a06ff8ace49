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
