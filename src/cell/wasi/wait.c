#include "cell/wasi/wait.h"

#include <errno.h>
#include <time.h>

#include "base/clock.h"

/*
 * At the deadline the parent kills this process. We go on waiting a little for that: a guest that
 * got an answer at the same moment could end by itself first, and the run would be called an exit
 * and not a timeout.
 */
#define GRACE_NS (900 * NS_PER_MS)

static uint64_t end_of_run(const struct wasi *wasi)
{
    uint64_t deadline = wasi->config.deadline_ns;

    return deadline > UINT64_MAX - GRACE_NS ? UINT64_MAX : deadline + GRACE_NS;
}

int wasi_wait(const struct wasi *wasi, struct pollfd *fds, size_t count, uint64_t until_ns)
{
    uint64_t end_ns = end_of_run(wasi);
    uint64_t stop_ns = until_ns < end_ns ? until_ns : end_ns;

    for (;;) {
        uint64_t now_ns = clock_monotonic_ns();
        uint64_t left_ns = stop_ns > now_ns ? stop_ns - now_ns : 0;
        struct timespec left = {(time_t) (left_ns / NS_PER_S), (long) (left_ns % NS_PER_S)};
        int ready = ppoll(fds, count, stop_ns == UINT64_MAX ? NULL : &left, NULL);
        if (ready > 0)
            return ready;
        if (ready == 0)
            return until_ns <= end_ns ? 0 : -1;
        if (errno != EINTR)
            return -1; /* no memory in the kernel: waiting is over either way */
    }
}
