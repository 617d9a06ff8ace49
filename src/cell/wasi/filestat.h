/*
 * filestat: what is known of a file.
 */
#pragma once

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cell/wasi/memory.h"
#include "cell/wasi/state.h"

/*
 * fstat as the kernel has it: the C library's asks newfstatat for the file of an empty path, and a
 * guest that opens many files pays for that. The layouts are one and the same on x86-64.
 */
static inline int filestat_host(int fd, struct stat *ret_stat)
{
#if defined(__x86_64__)
    return (int) syscall(SYS_fstat, fd, ret_stat);
#else
    return fstat(fd, ret_stat);
#endif
}

/*
 * fd_filestat_get and path_filestat_get up to the layout, which differs between the import modules.
 * WASI errnos.
 */
uint32_t filestat_of_fd(struct wasi *wasi, const uint64_t *args, struct stat *ret_stat);
uint32_t filestat_of_path(struct wasi *wasi, const struct wasi_memory *memory, const uint64_t *args,
                          struct stat *ret_stat);
/* enum abi_filetype of a st_mode. */
uint8_t filetype_of(mode_t mode);
/* Nanoseconds; a time before 1970 is 0. */
uint64_t filestat_time(const struct timespec *time);
