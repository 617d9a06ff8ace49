/*
 * memory: guest memory, where every pointer is a claim. A range is checked at each use, without
 * overflow; alignment is not asked for. No pointer from here outlives the call it was made in:
 * memory may move when it grows.
 */
#pragma once

#include <stdbool.h>
#include <string.h>
#include <sys/uio.h>

#include "cell/wasi/wasi.h"

/*
 * What one readv or writev takes; a guest that passes more gets a short read or write, as it must
 * expect anyway.
 */
#define SPAN_MAX_BUFFERS 1024

/* The host's address of `len` bytes at `pointer`, or NULL if not all of them lie in memory. */
static inline void *memory_at(const struct wasi_memory *memory, uint32_t pointer, uint64_t len)
{
    if (pointer > memory->size || len > memory->size - pointer)
        return NULL;
    return memory->base + pointer;
}

/* Writes `len` bytes if they fit; false if not. */
static inline bool memory_put(const struct wasi_memory *memory, uint32_t pointer, const void *bytes,
                              size_t len)
{
    void *at = memory_at(memory, pointer, len);

    if (at == NULL)
        return false;
    if (len > 0)
        memcpy(at, bytes, len);
    return true;
}

static inline bool memory_put_u32(const struct wasi_memory *memory, uint32_t pointer,
                                  uint32_t value)
{
    return memory_put(memory, pointer, &value, sizeof(value));
}

static inline bool memory_put_u64(const struct wasi_memory *memory, uint32_t pointer,
                                  uint64_t value)
{
    return memory_put(memory, pointer, &value, sizeof(value));
}

/* The buffers of one read or write, as host addresses. */
struct span {
    int count;
    size_t bytes; /* all buffers together */
    struct iovec buffers[SPAN_MAX_BUFFERS];
};

/*
 * Takes over the guest's array of buffers: copied first, then checked, so that what was checked is
 * what is used. Returns a WASI errno; *ret_span is half filled unless that is 0.
 */
uint32_t span_take(const struct wasi_memory *memory, uint32_t pointer, uint32_t count,
                   struct span *ret_span);
/* Leaves the first `bytes` of it. */
void span_cut(struct span *span, size_t bytes);
