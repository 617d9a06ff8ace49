/*
 * quota: what a run may write. Disk counts every byte written to a file, again when it is
 * overwritten, and what fd_allocate reserves; a file made larger by truncation is sparse and costs
 * nothing, but no file grows past the file limit.
 */
#pragma once

#include "cell/wasi/memory.h"
#include "cell/wasi/state.h"

/*
 * Cuts a write so that it ends at the edge of a limit, and notes the limit as met. Returns a WASI
 * errno: EFBIG or ENOSPC where not one byte is left, or that of finding out where the write would
 * begin. `offset` is that of a pwrite, NULL for a write.
 */
uint32_t quota_cut_write(struct wasi *wasi, const struct fd_entry *entry, const uint64_t *offset,
                         struct span *span);
/* May a file end at `end`? A WASI errno. */
uint32_t quota_check_size(struct wasi *wasi, uint64_t end);
/* May `bytes` be reserved? A WASI errno. */
uint32_t quota_check_disk(struct wasi *wasi, uint64_t bytes);
void quota_charge(struct wasi *wasi, uint64_t bytes);
