/*
 * observer: who wants to know what happens while a run goes on. Rooms never reach sideways: whoever
 * starts the run says whom to call. A function that is NULL is not called; none of them may block,
 * for the guest's pipes are not drained meanwhile.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan/tell.h"

enum stream { STREAM_STDOUT, STREAM_STDERR, STREAMS };

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
};
