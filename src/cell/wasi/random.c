#include <errno.h>
#include <sys/random.h>

#include "cell/wasi/calls.h"
#include "cell/wasi/errno.h"
#include "cell/wasi/memory.h"

/* The kernel stops at 32 MiB by itself; smaller steps let a deadline's signal in sooner. */
#define STEP_BYTES (1024 * 1024)

uint32_t call_random_get(struct wasi *wasi, const struct wasi_memory *memory, const uint64_t *args)
{
    uint32_t left = (uint32_t) args[1];
    uint8_t *at = memory_at(memory, (uint32_t) args[0], left);

    (void) wasi;
    if (at == NULL)
        return WASI_EFAULT;
    while (left > 0) {
        ssize_t n = getrandom(at, left < STEP_BYTES ? left : STEP_BYTES, 0);
        if (n < 0 && errno != EINTR)
            return wasi_errno_of(errno);
        if (n > 0) {
            at += n;
            left -= (uint32_t) n;
        }
    }
    return WASI_SUCCESS;
}
