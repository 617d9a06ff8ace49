#include "cell/wasi/filestat.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "cell/wasi/abi.h"
#include "cell/wasi/calls.h"
#include "cell/wasi/denial.h"
#include "cell/wasi/errno.h"
#include "cell/wasi/path.h"
#include "plan/protected.h"

uint8_t filetype_of(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFREG:
        return FILETYPE_REGULAR_FILE;
    case S_IFDIR:
        return FILETYPE_DIRECTORY;
    case S_IFLNK:
        return FILETYPE_SYMBOLIC_LINK;
    case S_IFCHR:
        return FILETYPE_CHARACTER_DEVICE;
    case S_IFBLK:
        return FILETYPE_BLOCK_DEVICE;
    case S_IFSOCK:
        return FILETYPE_SOCKET_STREAM;
    default:
        return FILETYPE_UNKNOWN; /* preview 1 has no word for a pipe */
    }
}

uint64_t filestat_time(const struct timespec *time)
{
    if (time->tv_sec < 0)
        return 0;
    return (uint64_t) time->tv_sec * NS_PER_S + (uint64_t) time->tv_nsec;
}

/* ---- asking -------------------------------------------------------------------------------- */

uint32_t filestat_of_fd(struct wasi *wasi, const uint64_t *args, struct stat *ret_stat)
{
    struct fd_entry *entry;
    uint32_t failed = fds_get(&wasi->fds, (uint32_t) args[0], RIGHT_FD_FILESTAT_GET, &entry);

    if (failed)
        return failed;
    return filestat_host(entry->host, ret_stat) < 0 ? wasi_errno_of(errno) : WASI_SUCCESS;
}

static uint32_t stat_walked(struct wasi *wasi, const struct path *path, int flags,
                            struct stat *ret_stat)
{
    _cleanup_fd_ int fd = -1;
    uint32_t failed = path_walk(wasi, path, O_PATH | flags, &fd);

    if (failed)
        return failed;
    return filestat_host(fd, ret_stat) < 0 ? wasi_errno_of(errno) : WASI_SUCCESS;
}

uint32_t filestat_of_path(struct wasi *wasi, const struct wasi_memory *memory, const uint64_t *args,
                          struct stat *ret_stat)
{
    static const struct path_need need = {"path_filestat_get", RIGHT_PATH_FILESTAT_GET, false};
    bool follows = (uint32_t) args[1] & LOOKUP_SYMLINK_FOLLOW;
    struct path path;
    uint32_t failed = path_take(wasi, memory, (uint32_t) args[0], (uint32_t) args[2],
                                (uint32_t) args[3], &need, &path);

    if (failed)
        return failed;
    if ((uint32_t) args[1] & ~(uint32_t) LOOKUP_SYMLINK_FOLLOW)
        return WASI_EINVAL;
    if (!path.is_plain)
        return stat_walked(wasi, &path, follows ? 0 : O_NOFOLLOW, ret_stat);

    /*
     * one call instead of three, unless the name turns out to be a symlink that is to be followed
     */
    if (fstatat(path.dir->host, path.text, ret_stat, AT_SYMLINK_NOFOLLOW) < 0)
        return wasi_errno_of(errno);
    return follows && S_ISLNK(ret_stat->st_mode) ? stat_walked(wasi, &path, 0, ret_stat)
                                                 : WASI_SUCCESS;
}

static uint32_t put_filestat(const struct wasi_memory *memory, uint32_t pointer,
                             const struct stat *st)
{
    struct abi_filestat filestat = {
        .dev = st->st_dev,
        .ino = st->st_ino,
        .filetype = filetype_of(st->st_mode),
        .nlink = st->st_nlink,
        .size = (uint64_t) st->st_size,
        .atim = filestat_time(&st->st_atim),
        .mtim = filestat_time(&st->st_mtim),
        .ctim = filestat_time(&st->st_ctim),
    };

    return memory_put(memory, pointer, &filestat, sizeof(filestat)) ? WASI_SUCCESS : WASI_EFAULT;
}

uint32_t call_fd_filestat_get(struct wasi *wasi, const struct wasi_memory *memory,
                              const uint64_t *args)
{
    struct stat st;
    uint32_t failed = filestat_of_fd(wasi, args, &st);

    return failed ? failed : put_filestat(memory, (uint32_t) args[1], &st);
}

uint32_t call_path_filestat_get(struct wasi *wasi, const struct wasi_memory *memory,
                                const uint64_t *args)
{
    struct stat st;
    uint32_t failed = filestat_of_path(wasi, memory, args, &st);

    return failed ? failed : put_filestat(memory, (uint32_t) args[4], &st);
}

/* ---- setting times ------------------------------------------------------------------------- */

static struct timespec choose_time(bool set, bool now, uint64_t ns)
{
    if (now)
        return (struct timespec){.tv_nsec = UTIME_NOW};
    if (!set)
        return (struct timespec){.tv_nsec = UTIME_OMIT};
    return (struct timespec){(time_t) (ns / NS_PER_S), (long) (ns % NS_PER_S)};
}

static uint32_t choose_times(uint64_t atim, uint64_t mtim, uint32_t flags,
                             struct timespec *ret_times)
{
    uint32_t both_atim = FST_ATIM | FST_ATIM_NOW, both_mtim = FST_MTIM | FST_MTIM_NOW;

    if ((flags & ~(uint32_t) FST_ALL) || (flags & both_atim) == both_atim ||
        (flags & both_mtim) == both_mtim)
        return WASI_EINVAL;
    ret_times[0] = choose_time(flags & FST_ATIM, flags & FST_ATIM_NOW, atim);
    ret_times[1] = choose_time(flags & FST_MTIM, flags & FST_MTIM_NOW, mtim);
    return WASI_SUCCESS;
}

uint32_t call_fd_filestat_set_times(struct wasi *wasi, const struct wasi_memory *memory,
                                    const uint64_t *args)
{
    struct fd_entry *entry;
    struct timespec times[2];
    uint32_t failed = fds_get(&wasi->fds, (uint32_t) args[0], RIGHT_FD_FILESTAT_SET_TIMES, &entry);

    (void) memory;
    if (!failed)
        failed = choose_times(args[1], args[2], (uint32_t) args[3], times);
    if (failed)
        return failed;
    if (!entry->writable) {
        wasi_deny(wasi, "fd_filestat_set_times", entry, NULL, RULE_READ_ONLY);
        return WASI_EROFS;
    }
    if (protected_at_rule(entry->at) != NULL) {
        wasi_deny(wasi, "fd_filestat_set_times", entry, NULL, RULE_PROTECTED);
        return WASI_EACCES;
    }
    return futimens(entry->host, times) < 0 ? wasi_errno_of(errno) : WASI_SUCCESS;
}

static uint32_t set_walked(struct wasi *wasi, const struct path *path, int flags,
                           const struct timespec *times)
{
    _cleanup_fd_ int fd = -1;
    uint8_t at;
    uint32_t failed = path_reach(wasi, path, O_PATH | flags, CHANGE_ATTRIBUTES, &fd, &at);

    if (failed)
        return failed;
    return utimensat(fd, "", times, AT_EMPTY_PATH) < 0 ? wasi_errno_of(errno) : WASI_SUCCESS;
}

uint32_t call_path_filestat_set_times(struct wasi *wasi, const struct wasi_memory *memory,
                                      const uint64_t *args)
{
    static const struct path_need need = {"path_filestat_set_times", RIGHT_PATH_FILESTAT_SET_TIMES,
                                          true};
    bool follows = (uint32_t) args[1] & LOOKUP_SYMLINK_FOLLOW;
    struct timespec times[2];
    struct path path;
    uint32_t failed = path_take(wasi, memory, (uint32_t) args[0], (uint32_t) args[2],
                                (uint32_t) args[3], &need, &path);

    if (!failed)
        failed = choose_times(args[4], args[5], (uint32_t) args[6], times);
    if (failed)
        return failed;
    if ((uint32_t) args[1] & ~(uint32_t) LOOKUP_SYMLINK_FOLLOW)
        return WASI_EINVAL;
    if (follows || !path.is_plain)
        return set_walked(wasi, &path, follows ? 0 : O_NOFOLLOW, times);
    failed = path_judge(wasi, &path, CHANGE_ATTRIBUTES);
    if (failed)
        return failed;
    return utimensat(path.dir->host, path.text, times, AT_SYMLINK_NOFOLLOW) < 0
               ? wasi_errno_of(errno)
               : WASI_SUCCESS;
}
