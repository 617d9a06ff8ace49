#include "cell/wasi/quota.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cell/wasi/abi.h"
#include "cell/wasi/errno.h"

static uint64_t disk_left(const struct wasi *wasi)
{
    uint64_t written = wasi->counters.bytes_written;

    return wasi->disk_bytes > written ? wasi->disk_bytes - written : 0;
}

/* Where the next write begins. With APPEND the kernel ignores offsets, pwrite's too. */
static uint32_t find_offset(const struct fd_entry *entry, const uint64_t *given,
                            uint64_t *ret_offset)
{
    struct stat st;
    off_t at;

    if (entry->flags & FDFLAG_APPEND)
        at = fstat(entry->host, &st) < 0 ? -1 : st.st_size;
    else
        at = given != NULL ? (off_t) *given : lseek(entry->host, 0, SEEK_CUR);
    if (at < 0)
        return wasi_errno_of(errno);
    *ret_offset = (uint64_t) at;
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
                         struct span *span)
{
    if (wasi->file_bytes != UNITS_UNLIMITED) {
        uint64_t at = 0;
        uint32_t failed = find_offset(entry, offset, &at);
        if (failed)
            return failed;
        if (!cut(wasi, at < wasi->file_bytes ? wasi->file_bytes - at : 0, HIT_FILE, span))
            return WASI_EFBIG;
    }
    return cut(wasi, disk_left(wasi), HIT_DISK, span) ? WASI_SUCCESS : WASI_ENOSPC;
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
}
