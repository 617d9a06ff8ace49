#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U /* Linux 6.3 */
#endif

/*
 * A rename anywhere on the host can make a walk through ".." end in EAGAIN; a few tries outlive
 * all but an attack.
 */
#define OPENAT2_TRIES 32

int fd_openat2(int dir, const char *path, uint64_t flags, mode_t mode, uint64_t resolve)
{
    bool creates = (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE;
    struct open_how how = {
        .flags = flags | O_CLOEXEC,
        .mode = creates ? mode : 0, /* the kernel refuses a mode that has no use */
        .resolve = resolve,
    };
    long fd = -1;

    for (int tries = 0; tries < OPENAT2_TRIES; tries++) {
        fd = syscall(SYS_openat2, dir, path, &how, sizeof(how));
        if (fd >= 0 || errno != EAGAIN)
            break;
    }
    return (int) fd;
}

/* After EINTR, or after EAGAIN once the descriptor is ready: true if another try makes sense. */
static bool worth_another_try(int fd, short events)
{
    if (errno == EINTR)
        return true;
    if (errno != EAGAIN)
        return false;
    /*
     * Callers hand us descriptors that another program made non-blocking, as node does with its
     * pipes.
     */
    struct pollfd wait = {.fd = fd, .events = events};
    return poll(&wait, 1, -1) > 0 || errno == EINTR;
}

int fd_write_all(int fd, const void *bytes, size_t len)
{
    const char *at = bytes;

    while (len > 0) {
        ssize_t n = write(fd, at, len);
        if (n < 0 && worth_another_try(fd, POLLOUT))
            continue;
        if (n == 0)
            errno = EIO; /* would be an endless loop */
        if (n <= 0)
            return -1;
        at += n;
        len -= (size_t) n;
    }
    return 0;
}

ssize_t fd_read_full(int fd, void *bytes, size_t len)
{
    char *at = bytes;
    size_t got = 0;

    while (got < len) {
        ssize_t n = read(fd, at + got, len - got);
        if (n < 0 && worth_another_try(fd, POLLIN))
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        got += (size_t) n;
    }
    return (ssize_t) got;
}

/* Hosts with vm.memfd_noexec=2 insist on MFD_NOEXEC_SEAL, kernels before 6.3 do not know it. */
int fd_memory(const char *name)
{
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);

    if (fd < 0 && errno == EINVAL)
        fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    return fd;
}

int fd_seal(int fd)
{
    return fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
}

int fd_sealed(const char *name, const void *bytes, size_t len, int *ret_fd, struct err *err)
{
    _cleanup_fd_ int fd = fd_memory(name);

    if (fd < 0)
        return err_sys(err, ERR_HOST, "cannot make the memory file '%s'", name);
    if (fd_write_all(fd, bytes, len) < 0 || lseek(fd, 0, SEEK_SET) < 0)
        return err_sys(err, ERR_HOST, "cannot fill the memory file '%s'", name);
    if (fd_seal(fd) < 0)
        return err_sys(err, ERR_HOST, "cannot seal the memory file '%s'", name);
    *ret_fd = take_fd(&fd);
    return 0;
}
