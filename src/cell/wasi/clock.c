#include "cell/wasi/clock.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "cell/wasi/calls.h"
#include "cell/wasi/errno.h"
#include "cell/wasi/memory.h"

/* As WASI numbers them. */
static const clockid_t clocks[] = {CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_PROCESS_CPUTIME_ID,
                                   CLOCK_THREAD_CPUTIME_ID};

bool wasi_clock_of(uint32_t number, clockid_t *ret_clock)
{
    if (number >= ARRAY_SIZE(clocks))
        return false;
    *ret_clock = clocks[number];
    return true;
}

static uint32_t ask(int (*question)(clockid_t, struct timespec *), const struct wasi_memory *memory,
                    uint32_t number, uint32_t answer_at)
{
    struct timespec answer;
    clockid_t clock;

    if (!wasi_clock_of(number, &clock))
        return WASI_EINVAL;
    if (question(clock, &answer) < 0)
        return wasi_errno_of(errno);
    uint64_t ns = (uint64_t) answer.tv_sec * NS_PER_S + (uint64_t) answer.tv_nsec;
    return memory_put_u64(memory, answer_at, ns) ? WASI_SUCCESS : WASI_EFAULT;
}

uint32_t call_clock_res_get(struct wasi *wasi, const struct wasi_memory *memory,
                            const uint64_t *args)
{
    (void) wasi;
    return ask(clock_getres, memory, (uint32_t) args[0], (uint32_t) args[1]);
}

/* args[1], the precision, is how inexact the guest would take it; ours is always exact. */
uint32_t call_clock_time_get(struct wasi *wasi, const struct wasi_memory *memory,
                             const uint64_t *args)
{
    (void) wasi;
    return ask(clock_gettime, memory, (uint32_t) args[0], (uint32_t) args[2]);
}
