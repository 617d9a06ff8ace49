/* File operations through the libc, as an ordinary program does them. */
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guest.h"

static int result(int returned)
{
    return returned < 0 ? errno : 0;
}

static int put(const char *path, int flags, off_t at, const char *text)
{
    int fd = open(path, O_WRONLY | flags, 0644);
    if (fd < 0)
        return errno;
    if (at > 0 && lseek(fd, at, SEEK_SET) < 0)
        return errno;
    size_t len = strlen(text);
    ssize_t n = write(fd, text, len);
    int failed = n < 0 ? errno : 0;
    if (n >= 0 && (size_t) n < len)
        printf(" short");
    if (close(fd) < 0 && !failed)
        failed = errno;
    return failed;
}

static int act_write(char **args)
{
    return put(args[0], O_CREAT | O_TRUNC, 0, args[1]);
}
static int act_create(char **args)
{
    return put(args[0], O_CREAT | O_EXCL, 0, args[1]);
}
static int act_append(char **args)
{
    return put(args[0], O_CREAT | O_APPEND, 0, args[1]);
}
static int act_overwrite(char **args)
{
    return put(args[0], O_CREAT, (off_t) strtoll(args[1], NULL, 10), args[2]);
}
static int act_rename(char **args)
{
    return result(rename(args[0], args[1]));
}
static int act_link(char **args)
{
    return result(link(args[0], args[1]));
}
static int act_symlink(char **args)
{
    return result(symlink(args[0], args[1]));
}
static int act_unlink(char **args)
{
    return result(unlink(args[0]));
}
static int act_mkdir(char **args)
{
    return result(mkdir(args[0], 0755));
}
static int act_rmdir(char **args)
{
    return result(rmdir(args[0]));
}

static int act_read(char **args)
{
    char bytes[4096];
    int fd = open(args[0], O_RDONLY);
    if (fd < 0)
        return errno;
    ssize_t n = read(fd, bytes, sizeof bytes);
    int failed = n < 0 ? errno : 0;
    (void) close(fd); /* only read */
    if (n > 0)
        printf(" [%.*s]", (int) n, bytes);
    return failed;
}

static int act_read_at(char **args)
{
    char bytes[64];
    int fd = open(args[0], O_RDONLY);
    if (fd < 0)
        return errno;
    ssize_t n = pread(fd, bytes, sizeof bytes, (off_t) strtoll(args[1], NULL, 10));
    int failed = n < 0 ? errno : 0;
    (void) close(fd); /* only read */
    if (n > 0)
        printf(" [%.*s]", (int) n, bytes);
    return failed;
}

static int act_truncate(char **args)
{
    int fd = open(args[0], O_WRONLY);
    if (fd < 0)
        return errno;
    int failed = result(ftruncate(fd, (off_t) strtoll(args[1], NULL, 10)));
    (void) close(fd); /* nothing was written through it */
    return failed;
}

static int act_readlink(char **args)
{
    char target[1024];
    ssize_t n = readlink(args[0], target, sizeof target);
    if (n >= 0)
        printf(" [%.*s]", (int) n, target);
    return result((int) n);
}

static int act_list(char **args)
{
    DIR *dir = opendir(args[0]);
    if (!dir)
        return errno;
    for (struct dirent *entry; (errno = 0, entry = readdir(dir));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            printf(" [%s]", entry->d_name);
    int failed = errno;
    (void) closedir(dir); /* only read */
    return failed;
}

static int act_stat(char **args)
{
    struct stat st;
    if (lstat(args[0], &st) < 0)
        return errno;
    const char *kind = S_ISREG(st.st_mode)   ? "file"
                       : S_ISDIR(st.st_mode) ? "dir"
                       : S_ISLNK(st.st_mode) ? "link"
                                             : "other";
    printf(" [%s %lld %lld]", kind, (long long) st.st_size, (long long) st.st_mtim.tv_sec);
    return 0;
}

static int act_touch(char **args)
{
    struct timespec times[2] = {{.tv_sec = strtoll(args[1], NULL, 10)},
                                {.tv_sec = strtoll(args[1], NULL, 10)}};
    return result(utimensat(AT_FDCWD, args[0], times, 0));
}

/* Removes the name of an open file and goes on using it. */
static int act_unlink_open(char **args)
{
    char bytes[8] = "";
    int fd = open(args[0], O_RDWR | O_CREAT, 0644);
    if (fd < 0 || unlink(args[0]) < 0 || pwrite(fd, "gone", 4, 0) != 4 ||
        pread(fd, bytes, 4, 0) != 4)
        return errno;
    printf(" [%s]", bytes);
    return result(close(fd));
}

static const struct act acts[] = {
    {"append", 2, act_append},
    {"create", 2, act_create},
    {"link", 2, act_link},
    {"list", 1, act_list},
    {"mkdir", 1, act_mkdir},
    {"overwrite", 3, act_overwrite},
    {"read", 1, act_read},
    {"read-at", 2, act_read_at},
    {"readlink", 1, act_readlink},
    {"rename", 2, act_rename},
    {"rmdir", 1, act_rmdir},
    {"stat", 1, act_stat},
    {"symlink", 2, act_symlink},
    {"touch", 2, act_touch},
    {"truncate", 2, act_truncate},
    {"unlink", 1, act_unlink},
    {"unlink-open", 1, act_unlink_open},
    {"write", 2, act_write},
};

int main(int argc, char **argv)
{
    return acts_main(acts, sizeof acts / sizeof acts[0], argc, argv);
}
