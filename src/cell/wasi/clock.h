/*
 * clock: the guest's clocks.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* The host's clock of that number; false if there is none. */
bool wasi_clock_of(uint32_t number, clockid_t *ret_clock);
