#include "cell/wasi/io.h"

#include <errno.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cell/wasi/abi.h"
#include "cell/wasi/calls.h"
#include "cell/wasi/errno.h"
#include "cell/wasi/quota.h"
#include "cell/wasi/wait.h"

/* One buffer is the usual case, and the plain calls are measurably faster. */
static ssize_t host_read(int fd, const struct span *span)
{
    if (span->count == 1)
        return read(fd, span->buffers[0].iov_base, span->buffers[0].iov_len);
    return readv(fd, span->buffers, span->count);
}

static ssize_t host_write(int fd, const struct span *span)
{
    if (span->count == 1)
        return write(fd, span->buffers[0].iov_base, span->buffers[0].iov_len);
    return writev(fd, span->buffers, span->count);
}

static ssize_t host_pread(int fd, const struct span *span, off_t offset)
{
    if (span->count == 1)
        return pread(fd, span->buffers[0].iov_base, span->buffers[0].iov_len, offset);
    return preadv(fd, span->buffers, span->count, offset);
}

static ssize_t host_pwrite(int fd, const struct span *span, off_t offset)
{
    if (span->count == 1)
        return pwrite(fd, span->buffers[0].iov_base, span->buffers[0].iov_len, offset);
    return pwritev(fd, span->buffers, span->count, offset);
}

/*
 * A standard stream may block, and its file description may be shared with others: O_NONBLOCK is
 * never set on it. A guest that asked for it is told before, a host end that has it is waited for.
 */
static uint32_t move_stream(struct wasi *wasi, const struct fd_entry *entry, short events,
                            const struct span *span, ssize_t *ret_moved)
{
    struct pollfd stream = {.fd = entry->host, .events = events};
    bool may_wait = !(entry->flags & FDFLAG_NONBLOCK);

    if (!may_wait && wasi_wait(wasi, &stream, 1, 0) == 0)
        return WASI_EAGAIN;
    for (;;) {
        *ret_moved =
            events == POLLIN ? host_read(entry->host, span) : host_write(entry->host, span);
        if (*ret_moved >= 0)
            return WASI_SUCCESS;
        if (errno != EINTR && (errno != EAGAIN || !may_wait))
            return wasi_errno_of(errno);
        if (errno == EAGAIN && wasi_wait(wasi, &stream, 1, UINT64_MAX) < 0)
            return WASI_ECANCELED;
    }
}

static uint32_t answer(const struct wasi_memory *memory, uint32_t pointer, ssize_t moved)
{
    if (moved < 0)
        return wasi_errno_of(errno);
    return memory_put_u32(memory, pointer, (uint32_t) moved) ? WASI_SUCCESS : WASI_EFAULT;
}

/* The descriptor, the buffers and the place of the answer, all checked before anything moves. */
static uint32_t prepare(struct wasi *wasi, const struct wasi_memory *memory, const uint64_t *args,
                        uint64_t rights, uint32_t answer_at, struct fd_entry **ret_entry,
                        struct span *ret_span)
{
    uint32_t failed = fds_get(&wasi->fds, (uint32_t) args[0], rights, ret_entry);

    if (failed)
        return failed;
    if (memory_at(memory, answer_at, sizeof(uint32_t)) == NULL)
        return WASI_EFAULT;
    return span_take(memory, (uint32_t) args[1], (uint32_t) args[2], ret_span);
}

uint32_t call_fd_read(struct wasi *wasi, const struct wasi_memory *memory, const uint64_t *args)
{
    struct fd_entry *entry;
    struct span span;
    ssize_t moved;
    uint32_t failed = prepare(wasi, memory, args, RIGHT_FD_READ, (uint32_t) args[3], &entry, &span);

    if (failed)
        return failed;
    if (!entry->is_stdio)
        return answer(memory, (uint32_t) args[3], host_read(entry->host, &span));
    failed = move_stream(wasi, entry, POLLIN, &span, &moved);
    return failed ? failed : answer(memory, (uint32_t) args[3], moved);
}

uint32_t call_fd_pread(struct wasi *wasi, const struct wasi_memory *memory, const uint64_t *args)
{
    struct fd_entry *entry;
    struct span span;
    uint32_t failed = prepare(wasi, memory, args, RIGHT_FD_READ | RIGHT_FD_SEEK, (uint32_t) args[4],
                              &entry, &span);

    if (failed)
        return failed;
    if (args[3] > INT64_MAX)
        return WASI_EINVAL;
    return answer(memory, (uint32_t) args[4], host_pread(entry->host, &span, (off_t) args[3]));
}

uint32_t call_fd_write(struct wasi *wasi, const struct wasi_memory *memory, const uint64_t *args)
{
    struct fd_entry *entry;
    struct span span;
    ssize_t moved;
    uint32_t failed =
        prepare(wasi, memory, args, RIGHT_FD_WRITE, (uint32_t) args[3], &entry, &span);

    if (failed)
        return failed;
    if (entry->is_stdio) {
        failed = move_stream(wasi, entry, POLLOUT, &span, &moved);
        return failed ? failed : answer(memory, (uint32_t) args[3], moved);
    }
    struct quota_write write;
    failed = quota_cut_write(wasi, entry, NULL, &span, &write);
    if (failed)
        return failed;
    moved = host_write(entry->host, &span);
    quota_charge_write(wasi, entry, &write, moved);
    return answer(memory, (uint32_t) args[3], moved);
}

uint32_t call_fd_pwrite(struct wasi *wasi, const struct wasi_memory *memory, const uint64_t *args)
{
    struct fd_entry *entry;
    struct span span;
    uint32_t failed = prepare(wasi, memory, args, RIGHT_FD_WRITE | RIGHT_FD_SEEK,
                              (uint32_t) args[4], &entry, &span);

    if (failed)
        return failed;
    if (args[3] > INT64_MAX)
        return WASI_EINVAL;
    struct quota_write write;
    failed = entry->is_stdio ? WASI_SUCCESS : quota_cut_write(wasi, entry, &args[3], &span, &write);
    if (failed)
        return failed;
    ssize_t moved = host_pwrite(entry->host, &span, (off_t) args[3]);
    if (!entry->is_stdio)
        quota_charge_write(wasi, entry, &write, moved);
    return answer(memory, (uint32_t) args[4], moved);
}

uint32_t io_seek(struct wasi *wasi, const struct wasi_memory *memory, uint32_t fd, int64_t offset,
                 int whence, uint32_t result_at)
{
    struct fd_entry *entry;
    bool only_asks = whence == SEEK_CUR && offset == 0;
    uint32_t failed = fds_get(&wasi->fds, fd, RIGHT_FD_SEEK, &entry);

    if (failed && only_asks)
        failed = fds_get(&wasi->fds, fd, RIGHT_FD_TELL, &entry); /* FD_SEEK implies it */
    if (failed)
        return failed;
    if (memory_at(memory, result_at, sizeof(uint64_t)) == NULL)
        return WASI_EFAULT;
    off_t at = lseek(entry->host, offset, whence);
    if (at < 0)
        return wasi_errno_of(errno);
    (void) memory_put_u64(memory, result_at, (uint64_t) at); /* checked above */
    return WASI_SUCCESS;
}

uint32_t call_fd_seek(struct wasi *wasi, const struct wasi_memory *memory, const uint64_t *args)
{
    static const int whences[] = {SEEK_SET, SEEK_CUR, SEEK_END};
    uint32_t whence = (uint32_t) args[2];

    if (whence >= ARRAY_SIZE(whences))
        return WASI_EINVAL;
    return io_seek(wasi, memory, (uint32_t) args[0], (int64_t) args[1], whences[whence],
                   (uint32_t) args[3]);
}

uint32_t call_fd_tell(struct wasi *wasi, const struct wasi_memory *memory, const uint64_t *args)
{
    return io_seek(wasi, memory, (uint32_t) args[0], 0, SEEK_CUR, (uint32_t) args[1]);
}
