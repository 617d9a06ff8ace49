#include "cell/wasi/clock.h"

#include <errno.h>

#include "base/clock.h"
#include "cell/wasi/calls.h"
#include "cell/wasi/errno.h"
#include "cell/wasi/memory.h"

/* As WASI numbers them. */
static const clockid_t clocks[N_CLOCKS] = {CLOCK_REALTIME, CLOCK_MONOTONIC,
                                           CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID};

bool wasi_clock_of(uint32_t number, clockid_t *ret_clock)
{
    if (number >= N_CLOCKS)
        return false;
    *ret_clock = clocks[number];
    return true;
}

static uint64_t to_ns(const struct timespec *time)
{
    return (uint64_t) time->tv_sec * NS_PER_S + (uint64_t) time->tv_nsec;
}

void wasi_clock_init(struct wasi *wasi)
{
    struct timespec resolution;

    for (size_t i = 0; i < N_CLOCKS; i++)
        wasi->clock_res_ns[i] = clock_getres(clocks[i], &resolution) < 0 ? 1 : to_ns(&resolution);
}

uint32_t call_clock_res_get(struct wasi *wasi, const struct wasi_memory *memory,
                            const uint64_t *args)
{
    uint32_t number = (uint32_t) args[0];

    if (number >= N_CLOCKS)
        return WASI_EINVAL;
    return memory_put_u64(memory, (uint32_t) args[1], wasi->clock_res_ns[number]) ? WASI_SUCCESS
                                                                                  : WASI_EFAULT;
}

/* args[1], the precision, is how inexact the guest would take it; ours is always exact. */
uint32_t call_clock_time_get(struct wasi *wasi, const struct wasi_memory *memory,
                             const uint64_t *args)
{
    struct timespec now;
    clockid_t clock;

    (void) wasi;
    if (!wasi_clock_of((uint32_t) args[0], &clock))
        return WASI_EINVAL;
    if (clock_gettime(clock, &now) < 0)
        return wasi_errno_of(errno);
    return memory_put_u64(memory, (uint32_t) args[2], to_ns(&now)) ? WASI_SUCCESS : WASI_EFAULT;
}
