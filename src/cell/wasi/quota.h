/*
 * quota: what a run may write. Disk counts every byte written to a file, again when it is
 * overwritten, and what fd_allocate reserves; a file made larger by truncation is sparse and costs
 * nothing, but no file grows past the file limit.
 *
 * What takes more of the disk than its bytes costs more: a write out of order the blocks that the
 * file grew by, for a byte here and there fills a disk as well; a name (of a file, a directory, a
 * link) a block, but for the first few, which even the smallest limit allows.
 */
#pragma once

#include <sys/types.h>

#include "cell/wasi/memory.h"
#include "cell/wasi/state.h"

/* One write, from its cut to its charge. */
struct quota_write {
    uint64_t at;
    bool in_order;
    uint64_t disk_before; /* what the file took; only of a write out of order */
};

/*
 * Cuts a write so that it ends at the edge of a limit, and notes the limit as met. Returns a WASI
 * errno: EFBIG or ENOSPC where not one byte is left, or that of finding out where the write would
 * begin. `offset` is that of a pwrite, NULL for a write.
 */
uint32_t quota_cut_write(struct wasi *wasi, const struct fd_entry *entry, const uint64_t *offset,
                         struct span *span, struct quota_write *ret_write);
/* After it, with what the kernel answered: a write that failed (errno stays) costs nothing. */
void quota_charge_write(struct wasi *wasi, struct fd_entry *entry, const struct quota_write *write,
                        ssize_t moved);
/* May a file end at `end`? A WASI errno. */
uint32_t quota_check_size(struct wasi *wasi, uint64_t end);
/* May `bytes` be reserved? A WASI errno. */
uint32_t quota_check_disk(struct wasi *wasi, uint64_t bytes);
void quota_charge(struct wasi *wasi, uint64_t bytes);
/* May a name be made? A WASI errno; and counting one that was. */
uint32_t quota_check_name(struct wasi *wasi);
void quota_charge_name(struct wasi *wasi);
