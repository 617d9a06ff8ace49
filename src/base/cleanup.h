/*
 * cleanup: the attribute that releases what a block owns, and taking ownership out of it.
 */
#pragma once

#include <stdlib.h>
#include <unistd.h>

static inline void cleanup_fd(int *fd)
{
    if (*fd >= 0)
        (void) close(*fd); /* nothing was written through it that close could still lose */
}

static inline void cleanup_free(void *pointer)
{
    free(*(void **) pointer);
}

static inline int take_fd(int *fd)
{
    int taken = *fd;
    *fd = -1;
    return taken;
}

#define _cleanup_(f) __attribute__((cleanup(f)))
#define _cleanup_fd_ _cleanup_(cleanup_fd)
#define _cleanup_free_ _cleanup_(cleanup_free)

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
