/*
 * io: moving bytes.
 */
#pragma once

#include "cell/wasi/memory.h"
#include "cell/wasi/state.h"

/*
 * fd_seek with the host's whence; the two import modules number it differently. Returns a WASI
 * errno.
 */
uint32_t io_seek(struct wasi *wasi, const struct wasi_memory *memory, uint32_t fd, int64_t offset,
                 int whence, uint32_t result_at);
