/* Acts on others: processes, sockets, queues and keys of the host, and the process that watches. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <linux/vm_sockets.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/msg.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "native.h"

/* ---- processes ------------------------------------------------------------------------------- */

static int open_of(pid_t pid, const char *name, int flags)
{
    char path[64];

    (void) snprintf(path, sizeof(path), "/proc/%d/%s", (int) pid, name);
    return native_open(path, flags);
}

static int init_program(const struct native_stage *stage)
{
    return open_of(stage->init, "exe", O_RDONLY);
}

static int change_init_program(const struct native_stage *stage)
{
    char path[64];

    (void) snprintf(path, sizeof(path), "/proc/%d/exe", (int) stage->init);
    return chmod(path, 0755);
}

static int init_memory(const struct native_stage *stage)
{
    return open_of(stage->init, "mem", O_RDWR);
}

static int init_environment(const struct native_stage *stage)
{
    return open_of(stage->init, "environ", O_RDONLY);
}

static int init_root(const struct native_stage *stage)
{
    return open_of(stage->init, "root/", O_PATH);
}

/* A socket is not opened by its link (ENXIO), but who comes so far could take it otherwise. */
static int init_descriptors(const struct native_stage *stage)
{
    return open_of(stage->init, "fd", O_RDONLY | O_DIRECTORY);
}

static int trace(pid_t pid)
{
    return ptrace(PTRACE_SEIZE, pid, NULL, NULL) < 0 ? -1 : 0; /* it goes with us */
}

static int trace_init(const struct native_stage *stage)
{
    return trace(stage->init);
}

static int trace_host(const struct native_stage *stage)
{
    return trace(stage->pid);
}

static int write_init(const struct native_stage *stage)
{
    char byte = 0;
    struct iovec local = {&byte, 1}, remote = {(void *) 16, 1};
    ssize_t n = process_vm_writev(stage->init, &local, 1, &remote, 1, 0);

    return n == 1 || errno == EFAULT ? 0 : -1; /* EFAULT: let in, nothing is at that address */
}

static int take_descriptor(const struct native_stage *stage)
{
    int pidfd = (int) syscall(SYS_pidfd_open, stage->init, 0);

    if (pidfd < 0)
        return -1;
    return syscall(SYS_pidfd_getfd, pidfd, 0, 0) < 0 ? -1 : 0;
}

static int compare_init(const struct native_stage *stage)
{
    return syscall(SYS_kcmp, getpid(), stage->init, 0 /* KCMP_FILE */, 1, 1) < 0 ? -1 : 0;
}

static int limit_init(const struct native_stage *stage)
{
    struct rlimit limit;

    return prlimit(stage->init, RLIMIT_CPU, NULL, &limit) < 0
               ? -1
               : prlimit(stage->init, RLIMIT_CPU, &limit, NULL);
}

static int signal_host(const struct native_stage *stage)
{
    return kill(stage->pid, 0);
}

static int open_host_process(const struct native_stage *stage)
{
    return syscall(SYS_pidfd_open, stage->pid, 0) < 0 ? -1 : 0;
}

static int move_host_process(const struct native_stage *stage)
{
    cpu_set_t set;

    if (sched_getaffinity(stage->pid, sizeof(set), &set) < 0)
        return -1;
    return sched_setaffinity(stage->pid, sizeof(set), &set);
}

/* ---- sockets --------------------------------------------------------------------------------- */

static int connect_inet(int type, int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t) port)};
    int fd = socket(AF_INET, type, 0);

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || connect(fd, (const struct sockaddr *) &address, sizeof(address)) < 0)
        return -1;
    return type == SOCK_STREAM || send(fd, "evil", 4, 0) == 4 ? 0 : -1;
}

static int connect_tcp(const struct native_stage *stage)
{
    return connect_inet(SOCK_STREAM, stage->port);
}

static int send_udp(const struct native_stage *stage)
{
    return connect_inet(SOCK_DGRAM, stage->port);
}

static int open_socket(int family, int type, int protocol)
{
    int fd = socket(family, type, protocol);

    if (fd < 0)
        return -1;
    close(fd);
    return 0;
}

static int open_raw(const struct native_stage *stage)
{
    (void) stage;
    return open_socket(AF_INET, SOCK_RAW, IPPROTO_ICMP);
}

static int open_packet(const struct native_stage *stage)
{
    (void) stage;
    return open_socket(AF_PACKET, SOCK_RAW, 0);
}

static int open_netlink(const struct native_stage *stage)
{
    (void) stage;
    return open_socket(AF_NETLINK, SOCK_RAW, 0);
}

static int open_audit(const struct native_stage *stage)
{
    (void) stage;
    return open_socket(AF_NETLINK, SOCK_RAW, 15 /* NETLINK_KOBJECT_UEVENT */);
}

/* Reaches the machine's own host, past every net namespace. */
static int connect_vsock(const struct native_stage *stage)
{
    struct sockaddr_vm address = {
        .svm_family = AF_VSOCK, .svm_cid = VMADDR_CID_HOST, .svm_port = 65000};
    int fd = socket(AF_VSOCK, SOCK_STREAM | SOCK_NONBLOCK, 0);

    (void) stage;
    if (fd < 0)
        return -1;
    int rc = connect(fd, (const struct sockaddr *) &address, sizeof(address));
    return rc == 0 || errno == EINPROGRESS || errno == ECONNRESET || errno == ENODEV ? 0 : -1;
}

static socklen_t name_socket(struct sockaddr_un *address, const char *dir, const char *name)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (dir != NULL)
        (void) native_path(address->sun_path, sizeof(address->sun_path), dir, name);
    else
        memcpy(address->sun_path + 1, name, strlen(name));
    size_t len = dir != NULL ? strlen(address->sun_path) + 1 : strlen(name) + 1;
    return (socklen_t) (offsetof(struct sockaddr_un, sun_path) + len);
}

static int connect_unix(const char *dir, const char *name)
{
    struct sockaddr_un address;
    socklen_t len = name_socket(&address, dir, name);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    return fd < 0 ? -1 : connect(fd, (const struct sockaddr *) &address, len);
}

static int connect_abstract(const struct native_stage *stage)
{
    return connect_unix(NULL, stage->abstract);
}

static int connect_ro(const struct native_stage *stage)
{
    return connect_unix(stage->ro, "sock");
}

static int connect_rw(const struct native_stage *stage)
{
    return connect_unix(stage->rw, "sock");
}

/* The mask may hang on a name; another one of the same socket must not help. */
static int connect_moved(const struct native_stage *stage)
{
    char from[4096], to[4096], dir[4096];

    if (rename(native_path(from, sizeof(from), stage->rw, "evil-holder"),
               native_path(to, sizeof(to), stage->rw, "evil-moved")) < 0)
        return -1;
    (void) native_path(dir, sizeof(dir), stage->rw, "evil-moved");
    int rc = connect_unix(dir, "sock");
    int number = errno;
    (void) rename(to, from); /* for the next run */
    errno = number;
    return rc;
}

static int send_unix(const struct native_stage *stage, int fd, bool by_message)
{
    struct sockaddr_un address;
    socklen_t len = name_socket(&address, stage->rw, "dgram");
    char text[] = "evil";
    struct iovec bytes = {text, 4};
    struct msghdr message = {
        .msg_name = &address, .msg_namelen = len, .msg_iov = &bytes, .msg_iovlen = 1};

    if (fd < 0)
        return -1;
    if (by_message)
        return sendmsg(fd, &message, 0) == 4 ? 0 : -1;
    return sendto(fd, text, 4, 0, (const struct sockaddr *) &address, len) == 4 ? 0 : -1;
}

static int sendto_rw(const struct native_stage *stage)
{
    return send_unix(stage, socket(AF_UNIX, SOCK_DGRAM, 0), false);
}

static int sendmsg_rw(const struct native_stage *stage)
{
    return send_unix(stage, socket(AF_UNIX, SOCK_DGRAM, 0), true);
}

/* The ends of a pair are connected, and still send wherever they are told. */
static int sendmsg_by_pair(const struct native_stage *stage)
{
    int pair[2];

    return socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) < 0 ? -1 : send_unix(stage, pair[0], true);
}

static int sendmsg_raw(const struct native_stage *stage)
{
    return send_unix(stage, socket(AF_UNIX, SOCK_RAW, 0), true);
}

/* ---- objects without a path ------------------------------------------------------------------ */

static int take_segment(const struct native_stage *stage)
{
    return shmget(stage->key, 0, 0) < 0 ? -1 : 0;
}

static int take_semaphores(const struct native_stage *stage)
{
    return semget(stage->key, 0, 0) < 0 ? -1 : 0;
}

static int take_messages(const struct native_stage *stage)
{
    return msgget(stage->key, 0) < 0 ? -1 : 0;
}

static int open_queue(const struct native_stage *stage)
{
    return mq_open(stage->queue, O_RDONLY) < 0 ? -1 : 0;
}

/* A key that the test put into the keyring of its session, which every process inherits. */
static int read_session_key(const struct native_stage *stage)
{
    char text[16];
    long key =
        syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_SESSION_KEYRING, "user", "wasp-secret", 0);

    (void) stage;
    return key >= 0 && syscall(SYS_keyctl, KEYCTL_READ, key, text, sizeof(text)) > 0 ? 0 : -1;
}

static int add_key(const struct native_stage *stage)
{
    (void) stage;
    return syscall(SYS_add_key, "user", "wasp-evil", "x", 1, KEY_SPEC_PROCESS_KEYRING) < 0 ? -1 : 0;
}

const struct native_act native_reach[] = {
    {"init-program", 2, NATIVE_ESCAPE, NEEDS_NOTHING, init_program},
    {"change-init-program", 2, NATIVE_ESCAPE, NEEDS_NOTHING, change_init_program},
    {"init-memory", 20, NATIVE_ESCAPE, NEEDS_NOTHING, init_memory},
    {"init-environment", 20, NATIVE_ESCAPE, NEEDS_NOTHING, init_environment},
    {"init-root", 3, NATIVE_ESCAPE, NEEDS_NOTHING, init_root},
    {"init-descriptors", 3, NATIVE_ESCAPE, NEEDS_NOTHING, init_descriptors},
    {"trace-init", 20, NATIVE_ESCAPE, NEEDS_NOTHING, trace_init},
    {"trace-host", 20, NATIVE_ESCAPE, NEEDS_NOTHING, trace_host},
    {"write-init", 20, NATIVE_ESCAPE, NEEDS_NOTHING, write_init},
    {"take-descriptor", 20, NATIVE_ESCAPE, NEEDS_NOTHING, take_descriptor},
    {"compare-init", 20, NATIVE_SURFACE, NEEDS_NOTHING, compare_init},
    {"limit-init", 20, NATIVE_SURFACE, NEEDS_NOTHING, limit_init},
    {"signal-host", 21, NATIVE_ESCAPE, NEEDS_NOTHING, signal_host},
    {"open-host-process", 21, NATIVE_ESCAPE, NEEDS_NOTHING, open_host_process},
    {"move-host-process", 21, NATIVE_ESCAPE, NEEDS_NOTHING, move_host_process},
    {"connect-tcp", 25, NATIVE_ESCAPE, NEEDS_NOTHING, connect_tcp},
    {"send-udp", 25, NATIVE_ESCAPE, NEEDS_NOTHING, send_udp},
    {"open-raw", 25, NATIVE_SURFACE, NEEDS_ROOT, open_raw},
    {"open-packet", 25, NATIVE_SURFACE, NEEDS_ROOT, open_packet},
    {"open-netlink", 25, NATIVE_SURFACE, NEEDS_NOTHING, open_netlink},
    {"open-audit", 25, NATIVE_SURFACE, NEEDS_NOTHING, open_audit},
    {"connect-vsock", 25, NATIVE_ESCAPE, NEEDS_NOTHING, connect_vsock},
    {"connect-abstract", 16, NATIVE_ESCAPE, NEEDS_NOTHING, connect_abstract},
    {"connect-ro", 17, NATIVE_ESCAPE, NEEDS_NOTHING, connect_ro},
    {"connect-rw", 17, NATIVE_ESCAPE, NEEDS_NOTHING, connect_rw},
    {"connect-moved", 17, NATIVE_ESCAPE, NEEDS_NOTHING, connect_moved},
    {"sendto-rw", 17, NATIVE_ESCAPE, NEEDS_NOTHING, sendto_rw},
    {"sendmsg-rw", 17, NATIVE_ESCAPE, NEEDS_NOTHING, sendmsg_rw},
    {"sendmsg-by-pair", 17, NATIVE_ESCAPE, NEEDS_NOTHING, sendmsg_by_pair},
    {"sendmsg-raw", 17, NATIVE_ESCAPE, NEEDS_NOTHING, sendmsg_raw},
    {"take-segment", 18, NATIVE_ESCAPE, NEEDS_NOTHING, take_segment},
    {"take-semaphores", 18, NATIVE_ESCAPE, NEEDS_NOTHING, take_semaphores},
    {"take-messages", 18, NATIVE_ESCAPE, NEEDS_NOTHING, take_messages},
    {"open-queue", 18, NATIVE_ESCAPE, NEEDS_NOTHING, open_queue},
    {"read-session-key", 18, NATIVE_ESCAPE, NEEDS_NOTHING, read_session_key},
    {"add-key", 18, NATIVE_SURFACE, NEEDS_NOTHING, add_key},
    {NULL},
};
