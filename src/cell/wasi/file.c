/*
 * Files as wholes: their size, their way to the disk, how they will be read.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cell/wasi/abi.h"
#include "cell/wasi/calls.h"
#include "cell/wasi/errno.h"
#include "cell/wasi/quota.h"
#include "cell/wasi/state.h"

static uint32_t result(int returned)
{
    return returned < 0 ? wasi_errno_of(errno) : WASI_SUCCESS;
}

uint32_t call_fd_advise(struct wasi *wasi, const struct wasi_memory *memory, const uint64_t *args)
{
    static const int advices[] = {POSIX_FADV_NORMAL,   POSIX_FADV_SEQUENTIAL, POSIX_FADV_RANDOM,
                                  POSIX_FADV_WILLNEED, POSIX_FADV_DONTNEED,   POSIX_FADV_NOREUSE};
    uint32_t advice = (uint32_t) args[3];
    struct fd_entry *entry;
    uint32_t failed = fds_get(&wasi->fds, (uint32_t) args[0], RIGHT_FD_ADVISE, &entry);

    (void) memory;
    if (failed)
        return failed;
    if (advice >= ARRAY_SIZE(advices) || args[1] > INT64_MAX || args[2] > INT64_MAX)
        return WASI_EINVAL;
    int error = posix_fadvise(entry->host, (off_t) args[1], (off_t) args[2], advices[advice]);
    return error ? wasi_errno_of(error) : WASI_SUCCESS;
}

uint32_t call_fd_allocate(struct wasi *wasi, const struct wasi_memory *memory, const uint64_t *args)
{
    struct fd_entry *entry;
    uint32_t failed = fds_get(&wasi->fds, (uint32_t) args[0], RIGHT_FD_ALLOCATE, &entry);

    (void) memory;
    if (failed)
        return failed;
    if (args[1] > INT64_MAX || args[2] > INT64_MAX || args[2] == 0)
        return WASI_EINVAL;
    failed = quota_check_size(wasi, args[1] + args[2]);
    if (!failed)
        failed = quota_check_disk(wasi, args[2]);
    if (failed)
        return failed;
    failed = result(fallocate(entry->host, 0, (off_t) args[1], (off_t) args[2]));
    if (!failed)
        quota_charge(wasi, args[2]);
    return failed;
}

uint32_t call_fd_filestat_set_size(struct wasi *wasi, const struct wasi_memory *memory,
                                   const uint64_t *args)
{
    struct fd_entry *entry;
    uint32_t failed = fds_get(&wasi->fds, (uint32_t) args[0], RIGHT_FD_FILESTAT_SET_SIZE, &entry);

    (void) memory;
    if (failed)
        return failed;
    if (args[1] > INT64_MAX)
        return WASI_EINVAL;
    failed = quota_check_size(wasi, args[1]);
    return failed ? failed : result(ftruncate(entry->host, (off_t) args[1]));
}

/*
 * A stream cannot be synchronised; below a read-only grant there is nothing to, and the filter
 * knows no fsync there.
 */
static uint32_t sync_with(struct wasi *wasi, uint32_t fd, uint64_t right, int (*how)(int))
{
    struct fd_entry *entry;
    uint32_t failed = fds_get(&wasi->fds, fd, right, &entry);

    if (failed)
        return failed;
    if (entry->is_stdio)
        return entry->can_seek ? WASI_SUCCESS : WASI_EINVAL;
    return entry->writable ? result(how(entry->host)) : WASI_SUCCESS;
}

uint32_t call_fd_datasync(struct wasi *wasi, const struct wasi_memory *memory, const uint64_t *args)
{
    (void) memory;
    return sync_with(wasi, (uint32_t) args[0], RIGHT_FD_DATASYNC, fdatasync);
}

uint32_t call_fd_sync(struct wasi *wasi, const struct wasi_memory *memory, const uint64_t *args)
{
    (void) memory;
    return sync_with(wasi, (uint32_t) args[0], RIGHT_FD_SYNC, fsync);
}
