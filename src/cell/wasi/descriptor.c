/*
 * Descriptors themselves: what they are, what may be done with them, their numbers.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "cell/wasi/abi.h"
#include "cell/wasi/calls.h"
#include "cell/wasi/errno.h"
#include "cell/wasi/memory.h"
#include "cell/wasi/state.h"

uint32_t call_fd_close(struct wasi *wasi, const struct wasi_memory *memory, const uint64_t *args)
{
    (void) memory;
    return fds_close(&wasi->fds, (uint32_t) args[0]);
}

uint32_t call_fd_renumber(struct wasi *wasi, const struct wasi_memory *memory, const uint64_t *args)
{
    (void) memory;
    return fds_move(&wasi->fds, (uint32_t) args[0], (uint32_t) args[1]);
}

uint32_t call_fd_fdstat_get(struct wasi *wasi, const struct wasi_memory *memory,
                            const uint64_t *args)
{
    struct fd_entry *entry;
    uint32_t failed = fds_get(&wasi->fds, (uint32_t) args[0], 0, &entry);

    if (failed)
        return failed;
    struct abi_fdstat fdstat = {
        .filetype = entry->filetype,
        .flags = entry->flags,
        .rights_base = entry->base,
        .rights_inheriting = entry->inheriting,
    };
    return memory_put(memory, (uint32_t) args[1], &fdstat, sizeof(fdstat)) ? WASI_SUCCESS
                                                                           : WASI_EFAULT;
}

/*
 * The kernel lets a file lose or gain O_APPEND alone; NONBLOCK is ours, and regular files never
 * block.
 */
uint32_t call_fd_fdstat_set_flags(struct wasi *wasi, const struct wasi_memory *memory,
                                  const uint64_t *args)
{
    struct fd_entry *entry;
    uint32_t flags = (uint32_t) args[1];
    uint32_t failed = fds_get(&wasi->fds, (uint32_t) args[0], RIGHT_FD_FDSTAT_SET_FLAGS, &entry);

    (void) memory;
    if (failed)
        return failed;
    uint32_t changed = flags ^ entry->flags;
    if (flags & ~(uint32_t) FDFLAGS_ALL)
        return WASI_EINVAL;
    if (changed & (FDFLAG_DSYNC | FDFLAG_RSYNC | FDFLAG_SYNC))
        return WASI_ENOTSUP;
    if ((changed & FDFLAG_APPEND) && !entry->is_stdio &&
        fcntl(entry->host, F_SETFL, O_NONBLOCK | (flags & FDFLAG_APPEND ? O_APPEND : 0)) < 0)
        return wasi_errno_of(errno);
    entry->flags = (uint16_t) flags;
    return WASI_SUCCESS;
}

uint32_t call_fd_fdstat_set_rights(struct wasi *wasi, const struct wasi_memory *memory,
                                   const uint64_t *args)
{
    struct fd_entry *entry;
    uint32_t failed = fds_get(&wasi->fds, (uint32_t) args[0], 0, &entry);

    (void) memory;
    if (failed)
        return failed;
    if ((args[1] & ~entry->base) || (args[2] & ~entry->inheriting))
        return WASI_ENOTCAPABLE;
    entry->base = args[1];
    entry->inheriting = args[2];
    return WASI_SUCCESS;
}

/* EBADF for what is no preopen: libcs count upwards from 3 until they see it. */
static uint32_t preopen_name(struct wasi *wasi, uint32_t fd, const char **ret_name)
{
    struct fd_entry *entry = fds_find(&wasi->fds, fd);

    if (entry == NULL || !entry->is_preopen)
        return WASI_EBADF;
    *ret_name = wasi->grants[entry->grant].name;
    return WASI_SUCCESS;
}

uint32_t call_fd_prestat_get(struct wasi *wasi, const struct wasi_memory *memory,
                             const uint64_t *args)
{
    const char *name;
    uint32_t failed = preopen_name(wasi, (uint32_t) args[0], &name);

    if (failed)
        return failed;
    struct abi_prestat prestat = {.tag = PREOPEN_DIR, .name_len = (uint32_t) strlen(name)};
    return memory_put(memory, (uint32_t) args[1], &prestat, sizeof(prestat)) ? WASI_SUCCESS
                                                                             : WASI_EFAULT;
}

uint32_t call_fd_prestat_dir_name(struct wasi *wasi, const struct wasi_memory *memory,
                                  const uint64_t *args)
{
    const char *name;
    uint32_t failed = preopen_name(wasi, (uint32_t) args[0], &name);

    if (failed)
        return failed;
    if ((uint32_t) args[2] < strlen(name))
        return WASI_ENAMETOOLONG;
    return memory_put(memory, (uint32_t) args[1], name, strlen(name)) ? WASI_SUCCESS : WASI_EFAULT;
}
