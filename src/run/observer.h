/*
 * observer: who wants to know what happens while a run goes on. Rooms never reach sideways: whoever
 * starts the run says whom to call. A function that is NULL is not called; none of them may block,
 * for the guest's pipes are not drained meanwhile.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "plan/tell.h"

struct door_service; /* run/door.h */

enum stream { STREAM_STDOUT, STREAM_STDERR, STREAMS };

/*
 * Whether what the run rests on still holds: a grant behind it may be revoked or expire. Asked when
 * something happened and at the time it named last (CLOCK_MONOTONIC); says when next. False and
 * *ret_why end the run.
 */
struct guard {
    void *data;
    bool (*holds)(void *data, uint64_t now_ns, uint64_t *ret_next_ns, struct err *ret_why);
};

struct observer {
    void *data; /* what each is called with */
    /* All walls stand; what comes next is the guest's. */
    void (*started)(void *data);
    /* It wrote: these bytes were kept; is_cut: there were more, and from now on none is kept. */
    void (*wrote)(void *data, enum stream stream, const char *bytes, size_t len, bool is_cut);
    void (*denied)(void *data, const struct tell_denial *denial);
    /*
     * Called whenever something happened, and at the time it named last (CLOCK_MONOTONIC); says
     * when next. While compiling, too.
     */
    uint64_t (*tick)(void *data, uint64_t now_ns);
    const struct guard *guard; /* NULL: nothing can be taken back */
    /* Who answers what a wasm guest with capabilities asks for. NULL: it has no door. */
    const struct door_service *door;
};
