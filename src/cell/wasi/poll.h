/*
 * poll: waiting for clocks and descriptors.
 */
#pragma once

#include "cell/wasi/abi.h"
#include "cell/wasi/memory.h"
#include "cell/wasi/state.h"

/* A subscription in guest memory, of `size` bytes, and how to read one. */
struct poll_layout {
    size_t size;
    void (*decode)(const uint8_t *bytes, struct abi_subscription *ret_subscription);
};

/* poll_oneoff with the layout of one import module. Returns a WASI errno. */
uint32_t poll_run(struct wasi *wasi, const struct wasi_memory *memory, const uint64_t *args,
                  const struct poll_layout *layout);
