/*
 * calls: the functions of WASI, one row each, sorted by name. The tables of both import modules and
 * the prototypes come from here.
 *
 *     SAME(name, params)   the same in wasi_snapshot_preview1 and wasi_unstable
 *     OLD(name, params)    another layout in wasi_unstable: unstable_NAME in unstable.c
 *     NEW(name, params)    not in wasi_unstable
 *     END(name, params)    the same in both, and does not return to the guest
 *
 * params: 'i' for i32, 'I' for i64; all results are an errno.
 */
#pragma once

#include "cell/wasi/wasi.h"

#define WASI_FUNCTIONS(SAME, OLD, NEW, END)  \
    SAME(args_get, "ii")                     \
    SAME(args_sizes_get, "ii")               \
    SAME(clock_res_get, "ii")                \
    SAME(clock_time_get, "iIi")              \
    SAME(environ_get, "ii")                  \
    SAME(environ_sizes_get, "ii")            \
    SAME(fd_advise, "iIIi")                  \
    SAME(fd_allocate, "iII")                 \
    SAME(fd_close, "i")                      \
    SAME(fd_datasync, "i")                   \
    SAME(fd_fdstat_get, "ii")                \
    SAME(fd_fdstat_set_flags, "ii")          \
    SAME(fd_fdstat_set_rights, "iII")        \
    OLD(fd_filestat_get, "ii")               \
    SAME(fd_filestat_set_size, "iI")         \
    SAME(fd_filestat_set_times, "iIIi")      \
    SAME(fd_pread, "iiiIi")                  \
    SAME(fd_prestat_dir_name, "iii")         \
    SAME(fd_prestat_get, "ii")               \
    SAME(fd_pwrite, "iiiIi")                 \
    SAME(fd_read, "iiii")                    \
    SAME(fd_readdir, "iiiIi")                \
    SAME(fd_renumber, "ii")                  \
    OLD(fd_seek, "iIii")                     \
    SAME(fd_sync, "i")                       \
    SAME(fd_tell, "ii")                      \
    SAME(fd_write, "iiii")                   \
    SAME(path_create_directory, "iii")       \
    OLD(path_filestat_get, "iiiii")          \
    SAME(path_filestat_set_times, "iiiiIIi") \
    SAME(path_link, "iiiiiii")               \
    SAME(path_open, "iiiiiIIii")             \
    SAME(path_readlink, "iiiiii")            \
    SAME(path_remove_directory, "iii")       \
    SAME(path_rename, "iiiiii")              \
    SAME(path_symlink, "iiiii")              \
    SAME(path_unlink_file, "iii")            \
    OLD(poll_oneoff, "iiii")                 \
    END(proc_exit, "i")                      \
    SAME(proc_raise, "i")                    \
    SAME(random_get, "ii")                   \
    SAME(sched_yield, "")                    \
    NEW(sock_accept, "iii")                  \
    SAME(sock_recv, "iiiiii")                \
    SAME(sock_send, "iiiii")                 \
    SAME(sock_shutdown, "ii")

/* Those of import module `wasp`: door.c. Sorted, too. */
#define DOOR_FUNCTIONS(ROW) \
    ROW(answer, "ii")       \
    ROW(exec_run, "ii")     \
    ROW(fs_read, "ii")      \
    ROW(fs_write, "ii")

#define WASI_DECLARE(name, params) wasi_call call_##name;
#define WASI_DECLARE_OLD(name, params) wasi_call call_##name, unstable_##name;
WASI_FUNCTIONS(WASI_DECLARE, WASI_DECLARE_OLD, WASI_DECLARE, WASI_DECLARE)
DOOR_FUNCTIONS(WASI_DECLARE)
#undef WASI_DECLARE
#undef WASI_DECLARE_OLD
