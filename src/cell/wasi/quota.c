#include "cell/wasi/quota.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cell/wasi/abi.h"
#include "cell/wasi/errno.h"
#include "cell/wasi/filestat.h"

/* What the least thing takes on the usual file systems, and how many names are free. */
#define BLOCK_BYTES 4096ULL
#define FREE_NAMES 1024

static uint64_t disk_left(const struct wasi *wasi)
{
    return wasi->disk_bytes > wasi->disk_used ? wasi->disk_bytes - wasi->disk_used : 0;
}

static uint64_t disk_of(const struct stat *st)
{
    return (uint64_t) st->st_blocks * 512;
}

/* Where the next write begins. With APPEND the kernel ignores offsets, pwrite's too. */
static uint32_t find_offset(const struct fd_entry *entry, const uint64_t *given,
                            struct quota_write *ret_write)
{
    bool appends = entry->flags & FDFLAG_APPEND;
    struct stat st = {.st_size = 0};
    off_t at = 0;

    if (!appends)
        at = given != NULL ? (off_t) *given : lseek(entry->host, 0, SEEK_CUR);
    bool must_ask = appends || (uint64_t) at != entry->next_write;
    if (at < 0 || (must_ask && filestat_host(entry->host, &st) < 0))
        return wasi_errno_of(errno);
    ret_write->at = (uint64_t) (appends ? st.st_size : at);
    ret_write->in_order = ret_write->at == entry->next_write;
    ret_write->disk_before = disk_of(&st);
    return WASI_SUCCESS;
}

/* Cuts the write to `room`; true if anything is left of it. */
static bool cut(struct wasi *wasi, uint64_t room, uint32_t hit, struct span *span)
{
    if (span->bytes <= room)
        return true;
    wasi->counters.limits_hit |= hit;
    span_cut(span, room);
    return room > 0;
}

uint32_t quota_cut_write(struct wasi *wasi, const struct fd_entry *entry, const uint64_t *offset,
                         struct span *span, struct quota_write *ret_write)
{
    uint32_t failed = find_offset(entry, offset, ret_write);

    if (failed)
        return failed;
    uint64_t at = ret_write->at;
    if (!cut(wasi, at < wasi->file_bytes ? wasi->file_bytes - at : 0, HIT_FILE, span))
        return WASI_EFBIG;
    return cut(wasi, disk_left(wasi), HIT_DISK, span) ? WASI_SUCCESS : WASI_ENOSPC;
}

/*
 * A file system may reserve more than was asked for, so no write costs more than the blocks it
 * touches.
 */
static uint64_t cost_of(const struct fd_entry *entry, const struct quota_write *write,
                        uint64_t moved)
{
    uint64_t first = write->at / BLOCK_BYTES, last = (write->at + moved - 1) / BLOCK_BYTES;
    uint64_t touched = (last - first + 1) * BLOCK_BYTES;
    struct stat st;

    if (write->in_order || filestat_host(entry->host, &st) < 0 ||
        disk_of(&st) <= write->disk_before + moved)
        return moved;
    uint64_t grown = disk_of(&st) - write->disk_before;
    return grown < touched ? grown : touched;
}

void quota_charge_write(struct wasi *wasi, struct fd_entry *entry, const struct quota_write *write,
                        ssize_t moved)
{
    if (moved <= 0)
        return;
    wasi->counters.bytes_written += (uint64_t) moved;
    wasi->disk_used += cost_of(entry, write, (uint64_t) moved);
    entry->next_write = write->at + (uint64_t) moved;
}

uint32_t quota_check_size(struct wasi *wasi, uint64_t end)
{
    if (end <= wasi->file_bytes)
        return WASI_SUCCESS;
    wasi->counters.limits_hit |= HIT_FILE;
    return WASI_EFBIG;
}

uint32_t quota_check_disk(struct wasi *wasi, uint64_t bytes)
{
    if (bytes <= disk_left(wasi))
        return WASI_SUCCESS;
    wasi->counters.limits_hit |= HIT_DISK;
    return WASI_ENOSPC;
}

void quota_charge(struct wasi *wasi, uint64_t bytes)
{
    wasi->counters.bytes_written += bytes;
    wasi->disk_used += bytes;
}

uint32_t quota_check_name(struct wasi *wasi)
{
    bool is_free = wasi->counters.files_made < FREE_NAMES;

    return is_free ? WASI_SUCCESS : quota_check_disk(wasi, BLOCK_BYTES);
}

void quota_charge_name(struct wasi *wasi)
{
    if (++wasi->counters.files_made > FREE_NAMES)
        wasi->disk_used += BLOCK_BYTES;
}
