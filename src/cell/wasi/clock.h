/*
 * clock: the guest's clocks.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "cell/wasi/state.h"

/* The host's clock of that number; false if there is none. */
bool wasi_clock_of(uint32_t number, clockid_t *ret_clock);
/* Reads what the clocks resolve. */
void wasi_clock_init(struct wasi *wasi);
