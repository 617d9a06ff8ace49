/* Waits for a clock that never comes round. */
#include <stdint.h>
#include <stdio.h>
#include <wasi/api.h>

int main(void)
{
    puts("waiting");
    (void) fflush(stdout);
    __wasi_subscription_t wait = {.u.tag = __WASI_EVENTTYPE_CLOCK};
    wait.u.u.clock.id = __WASI_CLOCKID_MONOTONIC;
    wait.u.u.clock.timeout = UINT64_MAX;
    __wasi_event_t event;
    __wasi_size_t n = 0;
    __wasi_errno_t failed = __wasi_poll_oneoff(&wait, &event, 1, &n);
    printf("woke with %u\n", failed);
    return 0;
}
