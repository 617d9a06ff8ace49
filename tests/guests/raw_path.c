/*
 * Path calls straight into WASI, each with the descriptor to start from: no libc judges or rewrites
 * the path first, so what refuses it is the host.
 */
#include <wasi/api.h>

#include "guest.h"

#define READ (__WASI_RIGHTS_FD_READ | __WASI_RIGHTS_FD_SEEK | __WASI_RIGHTS_FD_FILESTAT_GET)
#define WRITE (__WASI_RIGHTS_FD_WRITE | READ)

static __wasi_fd_t fd_of(const char *text)
{
    return (__wasi_fd_t) strtoul(text, NULL, 10);
}

static int open_at(char **args, __wasi_lookupflags_t look, __wasi_oflags_t how,
                   __wasi_rights_t rights, __wasi_fd_t *ret_fd)
{
    return __wasi_path_open(fd_of(args[0]), look, args[1], how, rights, 0, 0, ret_fd);
}

static int act_read(char **args)
{
    __wasi_fd_t fd;
    int failed = open_at(args, __WASI_LOOKUPFLAGS_SYMLINK_FOLLOW, 0, READ, &fd);
    if (failed)
        return failed;
    uint8_t bytes[512];
    __wasi_iovec_t into = {.buf = bytes, .buf_len = sizeof bytes};
    __wasi_size_t n = 0;
    failed = __wasi_fd_read(fd, &into, 1, &n);
    if (!failed)
        printf(" [%.*s]", (int) n, (char *) bytes);
    (void) __wasi_fd_close(fd); /* only read */
    return failed;
}

static int only_open(char **args, __wasi_lookupflags_t look, __wasi_oflags_t how,
                     __wasi_rights_t rights)
{
    __wasi_fd_t fd;
    int failed = open_at(args, look, how, rights, &fd);
    return failed ? failed : __wasi_fd_close(fd);
}

static int act_write(char **args)
{
    __wasi_fd_t fd;
    int failed = open_at(args, __WASI_LOOKUPFLAGS_SYMLINK_FOLLOW, __WASI_OFLAGS_CREAT, WRITE, &fd);
    if (failed)
        return failed;
    __wasi_ciovec_t from = {.buf = (const uint8_t *) args[2], .buf_len = strlen(args[2])};
    __wasi_size_t n = 0;
    failed = __wasi_fd_write(fd, &from, 1, &n);
    int failed_close = __wasi_fd_close(fd);
    return failed ? failed : failed_close;
}

static int act_open_nofollow(char **args)
{
    return only_open(args, 0, 0, READ);
}
static int act_open_dir(char **args)
{
    return only_open(args, __WASI_LOOKUPFLAGS_SYMLINK_FOLLOW, __WASI_OFLAGS_DIRECTORY,
                     __WASI_RIGHTS_FD_READDIR);
}
static int act_truncate_open(char **args)
{
    return only_open(args, __WASI_LOOKUPFLAGS_SYMLINK_FOLLOW, __WASI_OFLAGS_TRUNC, READ);
}
static int act_create_open(char **args)
{
    return only_open(args, __WASI_LOOKUPFLAGS_SYMLINK_FOLLOW, __WASI_OFLAGS_CREAT, READ);
}
static int act_mkdir(char **args)
{
    return __wasi_path_create_directory(fd_of(args[0]), args[1]);
}
static int act_rmdir(char **args)
{
    return __wasi_path_remove_directory(fd_of(args[0]), args[1]);
}
static int act_unlink(char **args)
{
    return __wasi_path_unlink_file(fd_of(args[0]), args[1]);
}
static int act_rename(char **args)
{
    return __wasi_path_rename(fd_of(args[0]), args[1], fd_of(args[2]), args[3]);
}
static int act_link(char **args)
{
    return __wasi_path_link(fd_of(args[0]), 0, args[1], fd_of(args[2]), args[3]);
}
static int act_link_follow(char **args)
{
    return __wasi_path_link(fd_of(args[0]), __WASI_LOOKUPFLAGS_SYMLINK_FOLLOW, args[1],
                            fd_of(args[2]), args[3]);
}
static int act_symlink(char **args)
{
    return __wasi_path_symlink(args[2], fd_of(args[0]), args[1]);
}

static int act_readlink(char **args)
{
    uint8_t target[512];
    __wasi_size_t n = 0;
    int failed = __wasi_path_readlink(fd_of(args[0]), args[1], target, sizeof target, &n);
    if (!failed)
        printf(" [%.*s]", (int) n, (char *) target);
    return failed;
}

static int act_stat(char **args)
{
    __wasi_filestat_t st;
    int failed =
        __wasi_path_filestat_get(fd_of(args[0]), __WASI_LOOKUPFLAGS_SYMLINK_FOLLOW, args[1], &st);
    if (!failed)
        printf(" [%u %llu]", st.filetype, (unsigned long long) st.size);
    return failed;
}

static int act_set_times(char **args)
{
    return __wasi_path_filestat_set_times(fd_of(args[0]), __WASI_LOOKUPFLAGS_SYMLINK_FOLLOW,
                                          args[1], 0, 1000000000, __WASI_FSTFLAGS_MTIM);
}

static const struct act acts[] = {
    {"create-open", 2, act_create_open},
    {"link", 4, act_link},
    {"link-follow", 4, act_link_follow},
    {"mkdir", 2, act_mkdir},
    {"open-dir", 2, act_open_dir},
    {"open-nofollow", 2, act_open_nofollow},
    {"read", 2, act_read},
    {"readlink", 2, act_readlink},
    {"rename", 4, act_rename},
    {"rmdir", 2, act_rmdir},
    {"set-times", 2, act_set_times},
    {"stat", 2, act_stat},
    {"symlink", 3, act_symlink},
    {"truncate-open", 2, act_truncate_open},
    {"unlink", 2, act_unlink},
    {"write", 3, act_write},
};

int main(int argc, char **argv)
{
    return acts_main(acts, sizeof acts / sizeof acts[0], argc, argv);
}
