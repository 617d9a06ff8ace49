/*
 * wait: the only way to wait. It ends with the run, whatever the guest asked for.
 */
#pragma once

#include <poll.h>

#include "cell/wasi/state.h"

/*
 * Waits until a descriptor is ready or CLOCK_MONOTONIC reaches until_ns (UINT64_MAX: for ever).
 * Returns how many are ready, 0 when the time came, or -1 when the run's own deadline is over.
 */
int wasi_wait(const struct wasi *wasi, struct pollfd *fds, size_t count, uint64_t until_ns);
