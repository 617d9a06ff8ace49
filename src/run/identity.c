#include "run/identity.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/fd.h"

#define LOCK_TRIES 64

/*
 * Root of the first user namespace has the identity map over everything; root of any other is
 * somebody's ordinary user.
 */
static bool is_host_root(void)
{
    char map[64];
    if (geteuid() != 0)
        return false;
    _cleanup_fd_ int fd = open("/proc/self/uid_map", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : fd_read_full(fd, map, sizeof(map) - 1);
    if (n < 0)
        return true; /* unknown: take the stricter way, which fails loudly where it does not work */
    map[n] = '\0';
    char *at = map;
    unsigned long inside = strtoul(at, &at, 10);
    unsigned long outside = strtoul(at, &at, 10);
    unsigned long count = strtoul(at, &at, 10);
    return inside == 0 && outside == 0 && count == UINT32_MAX && *at == '\n';
}

/* An abstract socket's name is a lock that leaves nothing behind, whatever happens to us. */
static int lock_uid(uint32_t uid)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int len = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "wasp-uid-%u", uid);
    _cleanup_fd_ int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    socklen_t size = (socklen_t) (offsetof(struct sockaddr_un, sun_path) + 1 + (size_t) len);
    if (fd < 0 || bind(fd, (const struct sockaddr *) &address, size) < 0)
        return -1;
    return take_fd(&fd);
}

static int take_uid(const struct places *places, uint32_t *ret_uid, int *ret_lock, struct err *err)
{
    for (int i = 0; i < LOCK_TRIES; i++) {
        uint32_t random;
        random_bytes(&random, sizeof(random));
        uint32_t uid = places->uid_base + random % places->uid_count;
        int lock = lock_uid(uid);
        if (lock < 0)
            continue;
        *ret_uid = uid;
        *ret_lock = lock;
        return 0;
    }
    (void) err_set(err, ERR_HOST, "no free uid in the range %u:%u for this run", places->uid_base,
                   places->uid_count);
    return err_hint(err, "widen WASP_UID_RANGE");
}

int identity_choose(enum isolation isolation, const struct places *places,
                    enum identity *ret_identity, uint32_t *ret_host_uid, int *ret_lock,
                    struct err *err)
{
    if (isolation == ISOLATION_LANDLOCK) {
        *ret_identity = IDENTITY_CALLER;
        return 0;
    }
    if (!is_host_root()) {
        *ret_identity = IDENTITY_USER;
        return 0;
    }
    *ret_identity = IDENTITY_RANGE;
    return take_uid(places, ret_host_uid, ret_lock, err);
}

/* ---- maps for mounts ------------------------------------------------------------------------- */

int identity_write_proc(pid_t pid, const char *file, const char *text)
{
    char path[64];
    (void) snprintf(path, sizeof(path), "/proc/%d/%s", (int) pid, file); /* always fits */
    _cleanup_fd_ int fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd < 0 ? -1 : fd_write_all(fd, text, strlen(text));
}

int identity_write_map(pid_t pid, const char *file, uint32_t inside, uint32_t outside)
{
    char text[48];
    (void) snprintf(text, sizeof(text), "%u %u 1\n", inside, outside); /* always fits */
    return identity_write_proc(pid, file, text);
}

static int open_namespace(pid_t pid)
{
    char path[64];
    (void) snprintf(path, sizeof(path), "/proc/%d/ns/user", (int) pid);
    return open(path, O_RDONLY | O_CLOEXEC);
}

/* A user namespace needs a process to be born in: one that waits until it is told to go. */
static int make_namespace(uint32_t uid, uint32_t gid, uint32_t host_uid, struct err *err)
{
    struct clone_args args = {.flags = CLONE_NEWUSER, .exit_signal = SIGCHLD};
    int brake[2];
    if (pipe2(brake, O_CLOEXEC) < 0)
        return err_sys(err, ERR_HOST, "cannot make a pipe");
    _cleanup_fd_ int wait_end = brake[0], go_end = brake[1];
    pid_t pid = (pid_t) syscall(SYS_clone3, &args, sizeof(args));
    if (pid < 0)
        return err_sys(err, ERR_WALL, "cannot make a user namespace");
    if (pid == 0) {
        char byte;
        (void) close(
            go_end); /* the end of file that we wait for comes when the parent closes its own */
        (void) !read(wait_end, &byte, 1);
        _exit(0);
    }
    int fd = -1;
    if (identity_write_map(pid, "uid_map", uid, host_uid) == 0 &&
        identity_write_map(pid, "gid_map", gid, host_uid) == 0)
        fd = open_namespace(pid);
    if (fd < 0)
        (void) err_sys(err, ERR_WALL, "cannot map the owner %u:%u to the cell's", uid, gid);
    (void) close(take_fd(&go_end)); /* nothing was written */
    (void) waitpid(pid, NULL, 0);   /* it only exits */
    return fd;
}

int identity_map(struct identity_maps *maps, uint32_t uid, uint32_t gid, uint32_t host_uid,
                 int *ret_user_namespace, struct err *err)
{
    for (size_t i = 0; i < maps->count; i++) {
        if (maps->pairs[i].uid == uid && maps->pairs[i].gid == gid) {
            *ret_user_namespace = maps->pairs[i].user_namespace;
            return 0;
        }
    }
    int fd = make_namespace(uid, gid, host_uid, err);
    if (fd < 0)
        return -1;
    maps->pairs[maps->count++] = (struct identity_pair){uid, gid, fd};
    *ret_user_namespace = fd;
    return 0;
}

void identity_maps_release(struct identity_maps *maps)
{
    for (size_t i = 0; i < maps->count; i++)
        cleanup_fd(&maps->pairs[i].user_namespace);
    maps->count = 0;
}
