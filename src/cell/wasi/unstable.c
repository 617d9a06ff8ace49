/*
 * wasi_unstable: the import module before preview 1. Same calls; a few layouts and numbers differ.
 */
#include <unistd.h>

#include "base/cleanup.h"
#include "cell/wasi/abi.h"
#include "cell/wasi/calls.h"
#include "cell/wasi/errno.h"
#include "cell/wasi/filestat.h"
#include "cell/wasi/io.h"
#include "cell/wasi/poll.h"

/* The count of links has 32 bits; more read as the highest number. */
static uint32_t put_filestat(const struct wasi_memory *memory, uint32_t pointer,
                             const struct stat *st)
{
    struct abi_filestat_unstable filestat = {
        .dev = st->st_dev,
        .ino = st->st_ino,
        .filetype = filetype_of(st->st_mode),
        .nlink = st->st_nlink < UINT32_MAX ? (uint32_t) st->st_nlink : UINT32_MAX,
        .size = (uint64_t) st->st_size,
        .atim = filestat_time(&st->st_atim),
        .mtim = filestat_time(&st->st_mtim),
        .ctim = filestat_time(&st->st_ctim),
    };

    return memory_put(memory, pointer, &filestat, sizeof(filestat)) ? WASI_SUCCESS : WASI_EFAULT;
}

uint32_t unstable_fd_filestat_get(struct wasi *wasi, const struct wasi_memory *memory,
                                  const uint64_t *args)
{
    struct stat st;
    uint32_t failed = filestat_of_fd(wasi, args, &st);

    return failed ? failed : put_filestat(memory, (uint32_t) args[1], &st);
}

uint32_t unstable_path_filestat_get(struct wasi *wasi, const struct wasi_memory *memory,
                                    const uint64_t *args)
{
    struct stat st;
    uint32_t failed = filestat_of_path(wasi, memory, args, &st);

    return failed ? failed : put_filestat(memory, (uint32_t) args[4], &st);
}

uint32_t unstable_fd_seek(struct wasi *wasi, const struct wasi_memory *memory, const uint64_t *args)
{
    static const int whences[] = {SEEK_CUR, SEEK_END, SEEK_SET};
    uint32_t whence = (uint32_t) args[2];

    if (whence >= ARRAY_SIZE(whences))
        return WASI_EINVAL;
    return io_seek(wasi, memory, (uint32_t) args[0], (int64_t) args[1], whences[whence],
                   (uint32_t) args[3]);
}

/* A clock had an identifier of its own; a descriptor stands in the same place. */
static void decode(const uint8_t *bytes, struct abi_subscription *ret_subscription)
{
    struct abi_subscription_unstable old;

    memcpy(&old, bytes, sizeof(old));
    *ret_subscription = (struct abi_subscription){
        .userdata = old.userdata,
        .tag = old.tag,
        .id = old.tag == EVENT_CLOCK ? old.clock : (uint32_t) old.identifier,
        .timeout = old.timeout,
        .precision = old.precision,
        .flags = old.flags,
    };
}

uint32_t unstable_poll_oneoff(struct wasi *wasi, const struct wasi_memory *memory,
                              const uint64_t *args)
{
    static const struct poll_layout layout = {sizeof(struct abi_subscription_unstable), decode};

    return poll_run(wasi, memory, args, &layout);
}
