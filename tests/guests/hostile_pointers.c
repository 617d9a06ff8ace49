/*
 * WASI calls with pointers and lengths that leave the guest's memory, wrap around or point at its
 * very end. Prints the errno of each; the last one is an honest call that must still work.
 */
#include <stdint.h>

#include "guest.h"

#define WASI(name) __attribute__((import_module("wasi_snapshot_preview1"), import_name(#name)))

WASI(args_get) int args_get(uint32_t, uint32_t);
WASI(args_sizes_get) int args_sizes_get(uint32_t, uint32_t);
WASI(environ_sizes_get) int environ_sizes_get(uint32_t, uint32_t);
WASI(clock_time_get) int clock_time_get(uint32_t, uint64_t, uint32_t);
WASI(fd_write) int fd_write(uint32_t, uint32_t, uint32_t, uint32_t);
WASI(fd_read) int fd_read(uint32_t, uint32_t, uint32_t, uint32_t);
WASI(fd_fdstat_get) int fd_fdstat_get(uint32_t, uint32_t);
WASI(fd_filestat_get) int fd_filestat_get(uint32_t, uint32_t);
WASI(fd_prestat_dir_name) int fd_prestat_dir_name(uint32_t, uint32_t, uint32_t);
WASI(fd_readdir) int fd_readdir(uint32_t, uint32_t, uint32_t, uint64_t, uint32_t);
WASI(path_open)
int path_open(uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint64_t, uint64_t, uint32_t,
              uint32_t);
WASI(path_rename) int path_rename(uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t);
WASI(poll_oneoff) int poll_oneoff(uint32_t, uint32_t, uint32_t, uint32_t);
WASI(random_get) int random_get(uint32_t, uint32_t);

struct iovec32 {
    uint32_t at, len;
};

static uint32_t memory_end(void)
{
    return (uint32_t) (__builtin_wasm_memory_size(0) * 65536);
}
static uint32_t address(const void *pointer)
{
    return (uint32_t) (uintptr_t) pointer;
}

static void tell(const char *what, int failed)
{
    printf("%s: %s\n", what, failed ? errno_name(failed) : "ok");
}

int main(void)
{
    uint32_t end = memory_end(), n = 0;
    struct iovec32 outside = {end - 4, 8}, wraps = {0xfffffff0u, 0x20},
                   honest = {address("still here\n"), 11};
    struct iovec32 mixed[2] = {honest, outside};

    tell("args_get at the end", args_get(end - 1, end - 1));
    tell("args_sizes_get across the end", args_sizes_get(end - 2, address(&n)));
    tell("environ_sizes_get outside", environ_sizes_get(address(&n), end));
    tell("clock_time_get across the end", clock_time_get(0, 1, end - 7));
    tell("fd_write of an iovec array outside", fd_write(1, end - 4, 1, address(&n)));
    tell("fd_write of an iovec array that wraps", fd_write(1, 8, 0x20000000u, address(&n)));
    tell("fd_write of a buffer across the end", fd_write(1, address(&outside), 1, address(&n)));
    tell("fd_write of a buffer that wraps", fd_write(1, address(&wraps), 1, address(&n)));
    tell("fd_write of a good buffer and a bad one", fd_write(1, address(mixed), 2, address(&n)));
    tell("fd_write with its result outside", fd_write(1, address(&honest), 0, end - 3));
    tell("fd_read into a buffer that wraps", fd_read(0, address(&wraps), 1, address(&n)));
    tell("fd_fdstat_get across the end", fd_fdstat_get(1, end - 23));
    tell("fd_filestat_get across the end", fd_filestat_get(1, end - 63));
    tell("fd_prestat_dir_name outside", fd_prestat_dir_name(3, 0xfffffff0u, 4096));
    tell("fd_readdir into 4 GiB", fd_readdir(3, 16, 0xffffffffu, 0, address(&n)));
    tell("path_open of a path outside", path_open(3, 0, end, 16, 0, 2, 0, 0, address(&n)));
    tell("path_open of a path that wraps",
         path_open(3, 0, 0xfffffffeu, 16, 0, 2, 0, 0, address(&n)));
    tell("path_rename to a path outside", path_rename(3, address("a"), 1, 3, end - 1, 2));
    tell("poll_oneoff of subscriptions outside", poll_oneoff(end - 8, 16, 1, address(&n)));
    tell("poll_oneoff of too many subscriptions", poll_oneoff(16, 16, 0xffffffffu, address(&n)));
    tell("random_get of 4 GiB", random_get(16, 0xffffffffu));
    (void) fflush(stdout);
    tell("fd_write of an honest buffer", fd_write(1, address(&honest), 1, address(&n)));
    return 0;
}
