/* Acts that begin at a directory which the guest opened first, through the libc. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guest.h"

static int result(int returned)
{
    return returned < 0 ? errno : 0;
}

static int open_dir(const char *path)
{
    return open(path, O_RDONLY | O_DIRECTORY);
}

static int act_read(char **args)
{
    char bytes[512];
    int dir = open_dir(args[0]);
    int fd = dir < 0 ? -1 : openat(dir, args[1], O_RDONLY);
    ssize_t n = fd < 0 ? -1 : read(fd, bytes, sizeof bytes);
    if (n < 0)
        return errno;
    printf(" [%.*s]", (int) n, bytes);
    return result(close(fd));
}

static int act_write(char **args)
{
    int dir = open_dir(args[0]);
    int fd = dir < 0 ? -1 : openat(dir, args[1], O_WRONLY | O_CREAT, 0644);
    if (fd < 0 || write(fd, args[2], strlen(args[2])) < 0)
        return errno;
    return result(close(fd));
}

static int act_mkdir(char **args)
{
    int dir = open_dir(args[0]);
    return dir < 0 ? errno : result(mkdirat(dir, args[1], 0755));
}

static int act_unlink(char **args)
{
    int dir = open_dir(args[0]);
    return dir < 0 ? errno : result(unlinkat(dir, args[1], 0));
}

static int act_rename(char **args)
{
    int from = open_dir(args[0]), to = open_dir(args[2]);
    return from < 0 || to < 0 ? errno : result(renameat(from, args[1], to, args[3]));
}

/* Writes after the directory was moved: rename A B, then A-as-opened/PATH. */
static int act_write_moved(char **args)
{
    int dir = open_dir(args[0]);
    if (dir < 0 || rename(args[0], args[1]) < 0)
        return errno;
    int fd = openat(dir, args[2], O_WRONLY | O_CREAT, 0644);
    return fd < 0 ? errno : result(close(fd));
}

/* Sets the times of a file that is open for reading. */
static int act_touch_open(char **args)
{
    struct timespec times[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    int fd = open(args[0], O_RDONLY);
    return fd < 0 ? errno : result(futimens(fd, times));
}

static const struct act acts[] = {
    {"mkdir", 2, act_mkdir},
    {"read", 2, act_read},
    {"rename", 4, act_rename},
    {"touch-open", 1, act_touch_open},
    {"unlink", 2, act_unlink},
    {"write", 3, act_write},
    {"write-moved", 3, act_write_moved},
};

int main(int argc, char **argv)
{
    return acts_main(acts, sizeof acts / sizeof acts[0], argc, argv);
}
