/* Acts on files: of the host, of a read-only grant, of /proc, and devices. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "native.h"

#define UP "../../../../../../../../../../../.."
#define MAX_DESCRIPTOR 256

/* ---- out of the root ------------------------------------------------------------------------- */

static int read_at(int dir, const char *path)
{
    struct open_how how = {.flags = O_RDONLY};
    char byte;
    int fd = (int) syscall(SYS_openat2, dir, path, &how, sizeof(how));

    if (fd < 0)
        return -1;
    ssize_t n = read(fd, &byte, 1);
    close(fd);
    return n == 1 ? 0 : -1;
}

static int read_secret(const struct native_stage *stage)
{
    return read_at(AT_FDCWD, stage->secret);
}

static int stat_secret(const struct native_stage *stage)
{
    struct stat st;

    return stat(stage->secret, &st);
}

/* The secret seen from a directory: up as far as it goes, and down again. */
static int climb(const char *from, const char *secret)
{
    char path[4096];
    int dir = open(from, O_PATH | O_DIRECTORY | O_CLOEXEC);

    if (dir < 0)
        return -1;
    (void) snprintf(path, sizeof(path), "%s%s", UP, secret);
    return read_at(dir, path);
}

static int climb_from_ro(const struct native_stage *stage)
{
    return climb(stage->ro, stage->secret);
}

static int climb_from_rw(const struct native_stage *stage)
{
    return climb(stage->rw, stage->secret);
}

static int climb_from_cwd(const struct native_stage *stage)
{
    return climb(".", stage->secret);
}

static int climb_from_root(const struct native_stage *stage)
{
    return climb("/", stage->secret);
}

/* Anything open beside the streams is somebody else's. */
static int find_descriptor(const struct native_stage *stage)
{
    (void) stage;
    for (int fd = 3; fd < MAX_DESCRIPTOR; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            return 0;
    return -1;
}

static int climb_from_descriptors(const struct native_stage *stage)
{
    char path[4096];

    (void) snprintf(path, sizeof(path), "%s%s", UP, stage->secret);
    for (int fd = 0; fd < MAX_DESCRIPTOR; fd++)
        if (read_at(fd, path) == 0)
            return 0;
    return -1;
}

static int link_to_secret(const struct native_stage *stage)
{
    char path[4096];

    (void) unlink(native_path(path, sizeof(path), stage->rw, "evil-link"));
    if (symlink(stage->secret, path) < 0)
        return -1;
    return read_at(AT_FDCWD, path);
}

static int hard_link_secret(const struct native_stage *stage)
{
    char path[4096];

    (void) unlink(native_path(path, sizeof(path), stage->rw, "evil-hard"));
    return link(stage->secret, path);
}

/* ---- what is read-only ----------------------------------------------------------------------- */

static int write_ro(const struct native_stage *stage)
{
    return native_open_in(stage->ro, "file", O_WRONLY);
}

static int truncate_ro(const struct native_stage *stage)
{
    char path[4096];

    return truncate(native_path(path, sizeof(path), stage->ro, "file"), 5);
}

static int create_ro(const struct native_stage *stage)
{
    return native_open_in(stage->ro, "evil", O_WRONLY | O_CREAT);
}

static int rename_ro(const struct native_stage *stage)
{
    char from[4096], to[4096];

    return rename(native_path(from, sizeof(from), stage->ro, "evil-from"),
                  native_path(to, sizeof(to), stage->ro, "evil-to"));
}

static int remove_ro(const struct native_stage *stage)
{
    char path[4096];

    return unlink(native_path(path, sizeof(path), stage->ro, "evil-gone"));
}

static int chmod_ro(const struct native_stage *stage)
{
    char path[4096];

    return chmod(native_path(path, sizeof(path), stage->ro, "file"), 0644);
}

static int touch_ro(const struct native_stage *stage)
{
    char path[4096];

    return utimensat(AT_FDCWD, native_path(path, sizeof(path), stage->ro, "file"), NULL, 0);
}

static int attribute_ro(const struct native_stage *stage)
{
    char path[4096];

    return setxattr(native_path(path, sizeof(path), stage->ro, "file"), "user.evil", "x", 1, 0);
}

static int flags_ro(const struct native_stage *stage)
{
    char path[4096];
    int flags = 0;
    int fd = open(native_path(path, sizeof(path), stage->ro, "file"), O_RDONLY | O_CLOEXEC);

    if (fd < 0 || ioctl(fd, FS_IOC_GETFLAGS, &flags) < 0)
        return -1;
    flags |= FS_NODUMP_FL;
    return ioctl(fd, FS_IOC_SETFLAGS, &flags);
}

static int link_ro_into_rw(const struct native_stage *stage)
{
    char from[4096], to[4096];

    (void) unlink(native_path(to, sizeof(to), stage->rw, "evil-linked"));
    return link(native_path(from, sizeof(from), stage->ro, "file"), to);
}

/* A descriptor that was opened for reading, opened again for writing. */
static int reopen_ro(const struct native_stage *stage)
{
    char path[4096], link[64];
    int fd = open(native_path(path, sizeof(path), stage->ro, "file"), O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return -1;
    (void) snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    return native_open(link, O_WRONLY);
}

/* No mount is read-only for a FIFO. */
static int write_ro_fifo(const struct native_stage *stage)
{
    return native_open_in(stage->ro, "fifo", O_WRONLY);
}

/* Writing answers ETXTBSY before anything else; who may change the mode could write as well. */
static int change_own_program(const struct native_stage *stage)
{
    (void) stage;
    return chmod("/proc/self/exe", 0755);
}

static int write_system(const struct native_stage *stage)
{
    (void) stage;
    return native_let_in(native_open("/usr/bin/env", O_WRONLY));
}

/* ---- what would be worth something on the host ----------------------------------------------- */

static int make_mode(const struct native_stage *stage, mode_t mode)
{
    char path[4096];
    struct stat st;
    int fd;

    (void) unlink(native_path(path, sizeof(path), stage->rw, "evil-mode"));
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
    if (fd < 0 || write(fd, "#!/bin/sh\n", 10) != 10 || fchmod(fd, mode) < 0 || fstat(fd, &st) < 0)
        return -1;
    close(fd);
    (void) unlink(path);
    errno = EPERM;
    return (st.st_mode & 07777) == mode ? 0 : -1;
}

static int make_setuid(const struct native_stage *stage)
{
    return make_mode(stage, 04755);
}

static int make_setgid(const struct native_stage *stage)
{
    return make_mode(stage, 02755);
}

static int run_setuid(const struct native_stage *stage)
{
    char path[4096];
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        (void) execl(native_path(path, sizeof(path), stage->ro, "setuid"), "setuid", "euid", NULL);
        _exit(2);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return -1;
    errno = EPERM;
    return status == 0 ? 0 : -1;
}

static int make_device(const struct native_stage *stage)
{
    char path[4096];

    (void) unlink(native_path(path, sizeof(path), stage->rw, "evil-null"));
    if (mknod(path, S_IFCHR | 0666, makedev(1, 3)) < 0)
        return -1;
    return unlink(path);
}

static int open_device_node(const struct native_stage *stage)
{
    return native_open_in(stage->ro, "node", O_RDWR);
}

/* ---- devices and the kernel's own files ------------------------------------------------------ */

static int open_kernel_log(const struct native_stage *stage)
{
    (void) stage;
    return native_open("/dev/kmsg", O_RDONLY);
}

static int open_terminal(const struct native_stage *stage)
{
    (void) stage;
    return native_open("/dev/tty", O_RDWR);
}

static int read_sys(const struct native_stage *stage)
{
    (void) stage;
    return native_open("/sys/kernel", O_RDONLY | O_DIRECTORY);
}

static int read_kcore(const struct native_stage *stage)
{
    (void) stage;
    return read_at(AT_FDCWD, "/proc/kcore");
}

static int open_sysrq(const struct native_stage *stage)
{
    (void) stage;
    return native_open("/proc/sysrq-trigger", O_WRONLY);
}

static int open_core_pattern(const struct native_stage *stage)
{
    (void) stage;
    return native_open("/proc/sys/kernel/core_pattern", O_WRONLY);
}

static int read_keys(const struct native_stage *stage)
{
    (void) stage;
    return read_at(AT_FDCWD, "/proc/keys");
}

static int lower_oom_score(const struct native_stage *stage)
{
    (void) stage;
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

    return fd >= 0 && write(fd, "-500", 4) == 4 ? 0 : -1;
}

const struct native_act native_files[] = {
    {"find-descriptor", 3, NATIVE_ESCAPE, NEEDS_NOTHING, find_descriptor},
    {"read-secret", 3, NATIVE_ESCAPE, NEEDS_NOTHING, read_secret},
    {"climb-from-descriptors", 43, NATIVE_ESCAPE, NEEDS_NOTHING, climb_from_descriptors},
    {"climb-from-cwd", 3, NATIVE_ESCAPE, NEEDS_NOTHING, climb_from_cwd},
    {"climb-from-ro", 43, NATIVE_ESCAPE, NEEDS_NOTHING, climb_from_ro},
    {"climb-from-rw", 43, NATIVE_ESCAPE, NEEDS_NOTHING, climb_from_rw},
    {"climb-from-root", 43, NATIVE_ESCAPE, NEEDS_NOTHING, climb_from_root},
    {"link-to-secret", 6, NATIVE_ESCAPE, NEEDS_NOTHING, link_to_secret},
    {"hard-link-secret", 6, NATIVE_ESCAPE, NEEDS_NOTHING, hard_link_secret},
    {"write-ro", 7, NATIVE_ESCAPE, NEEDS_NOTHING, write_ro},
    {"truncate-ro", 7, NATIVE_ESCAPE, NEEDS_NOTHING, truncate_ro},
    {"create-ro", 7, NATIVE_ESCAPE, NEEDS_NOTHING, create_ro},
    {"rename-ro", 7, NATIVE_ESCAPE, NEEDS_NOTHING, rename_ro},
    {"remove-ro", 7, NATIVE_ESCAPE, NEEDS_NOTHING, remove_ro},
    {"chmod-ro", 7, NATIVE_ESCAPE, NEEDS_NOTHING, chmod_ro},
    {"touch-ro", 7, NATIVE_ESCAPE, NEEDS_NOTHING, touch_ro},
    {"attribute-ro", 7, NATIVE_ESCAPE, NEEDS_NOTHING, attribute_ro},
    {"flags-ro", 7, NATIVE_ESCAPE, NEEDS_NOTHING, flags_ro},
    {"link-ro-into-rw", 7, NATIVE_ESCAPE, NEEDS_NOTHING, link_ro_into_rw},
    {"reopen-ro", 24, NATIVE_ESCAPE, NEEDS_NOTHING, reopen_ro},
    {"write-ro-fifo", 24, NATIVE_ESCAPE, NEEDS_NOTHING, write_ro_fifo},
    {"change-own-program", 2, NATIVE_ESCAPE, NEEDS_NOTHING, change_own_program},
    {"write-system", 2, NATIVE_ESCAPE, NEEDS_ROOT, write_system},
    {"make-setuid", 22, NATIVE_SURFACE, NEEDS_NOTHING, make_setuid},
    {"make-setgid", 22, NATIVE_SURFACE, NEEDS_NOTHING, make_setgid},
    {"run-setuid", 22, NATIVE_ESCAPE, NEEDS_ROOT, run_setuid},
    {"make-device", 19, NATIVE_ESCAPE, NEEDS_ROOT, make_device},
    {"open-device-node", 19, NATIVE_ESCAPE, NEEDS_ROOT, open_device_node},
    {"open-kernel-log", 19, NATIVE_ESCAPE, NEEDS_ROOT, open_kernel_log},
    {"open-terminal", 1, NATIVE_ESCAPE, NEEDS_TERMINAL, open_terminal},
    {"read-sys", 19, NATIVE_SURFACE, NEEDS_NOTHING, read_sys},
    {"read-kcore", 19, NATIVE_ESCAPE, NEEDS_ROOT, read_kcore},
    {"open-sysrq", 19, NATIVE_ESCAPE, NEEDS_ROOT, open_sysrq},
    {"open-core-pattern", 19, NATIVE_ESCAPE, NEEDS_ROOT, open_core_pattern},
    {"read-keys", 18, NATIVE_SURFACE, NEEDS_NOTHING, read_keys},
    {"lower-oom-score", 38, NATIVE_SURFACE, NEEDS_ROOT, lower_oom_score},
    {"stat-secret", 3, NATIVE_SURFACE, NEEDS_NOTHING, stat_secret},
    {NULL},
};
