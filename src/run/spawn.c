#include "run/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/remedy.h"
#include "plan/pack.h"
#include "plan/tell.h"
#include "run/host.h"
#include "run/identity.h"

/* What the child needs between clone and exec: a few system calls, and vsnprintf if one fails. */
#define CHILD_STACK_BYTES (64 * 1024)

struct birth {
    const struct child_program *program;
    int file; /* the program */
    int tell; /* its end */
};

/* ---- the child, between clone and exec: in our memory, while we stand still ------------------ */

/*
 * In the new user namespace the child has every capability; exec would take them, and the cell
 * needs some for its walls.
 */
static int keep_capabilities(bool is_native)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
    if (syscall(SYS_capget, &header, data) < 0)
        return -1;
    for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
        data[i].inheritable = data[i].permitted;
    if (syscall(SYS_capset, &header, data) < 0)
        return -1;
    static const int needed[] = {
        CAP_SYS_ADMIN, CAP_SETUID, CAP_SETGID, CAP_SETPCAP,
        /* a native cell: no nested namespaces, a loopback, the folder of an overlay's work */
        CAP_SYS_RESOURCE, CAP_NET_ADMIN, CAP_DAC_OVERRIDE};
    size_t count = is_native ? ARRAY_SIZE(needed) : 4;
    for (size_t i = 0; i < count; i++)
        if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, needed[i], 0, 0) < 0)
            return -1;
    return 0;
}

/* Everything but the socket stays behind: what the cell gets comes through it. */
static int keep_socket(int tell)
{
    if (tell == CELL_FD_TELL ? fcntl(tell, F_SETFD, 0) < 0 : dup2(tell, CELL_FD_TELL) < 0)
        return -1;
    return close_range(0, CELL_FD_TELL - 1, 0);
}

static void reset_signals(void)
{
    sigset_t none;
    sigemptyset(&none);
    (void) sigprocmask(SIG_SETMASK, &none, NULL); /* cannot fail with these arguments */
}

static int become_cell(void *data)
{
    const struct birth *birth = data;
    const struct child_program *program = birth->program;
    struct err err = {.code = ERR_NONE};
    char isolation[12], without[12];
    char *const argv[CELL_ARGS + 1] = {
        [CELL_ARG_PROGRAM] = (char *) (uintptr_t) program->name,
        [CELL_ARG_ISOLATION] = isolation,
        [CELL_ARG_WITHOUT] = without,
    };
    char *const envp[] = {NULL};

    (void) snprintf(isolation, sizeof(isolation), "%u", program->isolation); /* both always fit */
    (void) snprintf(without, sizeof(without), "%u", program->without);
    (void) prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0); /* cannot fail: the signal is valid */
    (void) setsid(); /* cannot fail in a new process: the caller's terminal signals us alone */
    reset_signals();
    if (program->isolation == ISOLATION_FULL && keep_capabilities(program->is_native) < 0)
        (void) err_sys(&err, ERR_WALL, "cannot keep the capabilities of the new namespace");
    else if (keep_socket(birth->tell) < 0)
        (void) err_sys(&err, ERR_HOST, "cannot place the cell's descriptors");
    else {
        syscall(SYS_execveat, birth->file, "", argv, envp, AT_EMPTY_PATH);
        (void) err_sys(&err, ERR_BACKEND, "cannot start '%s/%s'", program->dir, program->name);
    }
    (void) err_step(&err, "spawn");
    struct tell message = {.kind = TELL_FAILED, .failed = err};
    (void) !write(birth->tell, &message, offsetof(struct tell, failed) + sizeof(err));
    _exit(1);
}

/* ---- the parent ------------------------------------------------------------------------------ */

static int refuse_namespaces(struct err *err)
{
    int number = errno;
    (void) err_sys(err, ERR_WALL, "cannot make the user and pid namespaces of the cell");
    (void) err_step(err, "namespaces");
    struct host host;
    char hint[REMEDY_BYTES];
    host_read(&host);
    remedy_format(host_why_user_namespace(&host, number), "user", hint);
    remedy_add_rung(hint);
    return err_hint(err, "%s", hint);
}

static int open_program(const struct child_program *program, int *ret_fd, struct err *err)
{
    char path[4096];
    int len = snprintf(path, sizeof(path), "%s/%s", program->dir, program->name);
    if (len < 0 || (size_t) len >= sizeof(path))
        return err_set(err, ERR_BACKEND, "the folder of wasp's programs has too long a name");
    *ret_fd = open(path, O_PATH | O_CLOEXEC);
    if (*ret_fd >= 0)
        return 0;
    (void) err_sys(err, ERR_BACKEND, "cannot open '%s'", path);
    return err_hint(err, "wasp needs its helper programs beside it or in ../libexec/wasp: install "
                         "it with `make install`, or run build/wasp");
}

static int namespace_flags(const struct child_program *program)
{
    int flags = program->isolation == ISOLATION_FULL ? CLONE_NEWUSER | CLONE_NEWPID : 0;
    return program->without & WALL_PID_NAMESPACE ? flags & ~CLONE_NEWPID : flags;
}

/*
 * As vfork does it: the child borrows our memory until its exec, so no page table is copied, and we
 * do not go on before. The other namespaces it makes itself, while we do go on.
 */
/*
 * Born in its cgroup (v2): to move there later would make the kernel wait for all CPUs. There is no
 * clone3 of the C library, and without its help no borrowing of memory: this one copies our pages'
 * tables, which are few.
 */
static bool is_born_in_cgroup(struct birth *birth, struct child *child)
{
    struct clone_args args = {
        .flags = CLONE_VFORK | CLONE_PIDFD | CLONE_INTO_CGROUP |
                 (uint64_t) namespace_flags(birth->program),
        .pidfd = (uint64_t) (uintptr_t) &child->pidfd,
        .exit_signal = SIGCHLD,
        .cgroup = (uint64_t) birth->program->cgroup,
    };
    pid_t pid = (pid_t) syscall(SYS_clone3, &args, sizeof(args));
    if (pid == 0)
        become_cell(birth);
    child->pid = pid > 0 ? pid : 0;
    child->is_in_cgroup = pid > 0;
    return pid > 0;
}

static int clone_child(struct birth *birth, struct child *child, struct err *err)
{
    if (birth->program->cgroup >= 0 && is_born_in_cgroup(birth, child))
        return 0; /* where that is not to be had, it is born beside it and moved later */
    _Alignas(16) char stack[CHILD_STACK_BYTES];
    int flags = CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD | namespace_flags(birth->program);
    child->pid = clone(become_cell, stack + sizeof(stack), flags, birth, &child->pidfd);
#ifdef __SANITIZE_ADDRESS__
    /* the child's frames never returned, so what they marked in our memory is still marked */
    ASAN_UNPOISON_MEMORY_REGION(stack, sizeof(stack));
#endif
    if (child->pid >= 0)
        return 0;
    child->pid = 0;
    if (birth->program->isolation == ISOLATION_FULL)
        return refuse_namespaces(err);
    return err_sys(err, ERR_HOST, "cannot start a process");
}

/*
 * One uid and one gid: the caller's own, or (started by root) one of the range that owns nothing.
 */
static int map_ids(const struct child_program *program, pid_t pid, struct err *err)
{
    bool range = program->identity == IDENTITY_RANGE;
    uint32_t uid = range ? program->host_uid : geteuid();
    uint32_t gid = range ? program->host_uid : getegid();
    /* an ordinary user may map a gid only where setgroups is off for good */
    if ((!range && identity_write_proc(pid, "setgroups", "deny") < 0) ||
        identity_write_map(pid, "uid_map", program->uid, uid) < 0 ||
        identity_write_map(pid, "gid_map", program->gid, gid) < 0) {
        (void) err_sys(err, ERR_WALL, "cannot map the ids of the cell's user namespace");
        return err_step(err, "identity");
    }
    return 0;
}

/* A child that could not become the cell has said why; then its maps cannot be written either. */
static void hear_death(const struct child *child, struct err *err)
{
    struct tell tell;
    ssize_t n = recv(child->tell, &tell, sizeof(tell), MSG_DONTWAIT);
    if (n == (ssize_t) (offsetof(struct tell, failed) + sizeof(tell.failed)) &&
        tell.kind == TELL_FAILED)
        *err = tell.failed;
}

int child_start(const struct child_program *program, struct child *ret_child, struct err *err)
{
    _cleanup_fd_ int file = -1, tell = -1, cell_tell = -1;
    _cleanup_(child_release) struct child child = CHILD_NONE;
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return err_sys(err, ERR_HOST, "cannot make a socket pair");
    tell = pair[0];
    cell_tell = pair[1];
    /* after the pair, so that it is not CELL_FD_TELL, which the child takes before its exec */
    if (open_program(program, &file, err) < 0)
        return -1;
    struct birth birth = {.program = program, .file = file, .tell = cell_tell};
    if (clone_child(&birth, &child, err) < 0)
        return -1;
    child.tell = take_fd(&tell);
    if (program->isolation == ISOLATION_FULL && map_ids(program, child.pid, err) < 0) {
        hear_death(&child, err);
        return -1;
    }
    *ret_child = child;
    child = (struct child) CHILD_NONE;
    return 0;
}

static int pack_plan(const struct plan *plan, int *ret_fd, struct err *err)
{
    _cleanup_(buf_release) struct buf packed = BUF_INIT(PACK_MAX_BYTES);
    if (plan_pack(plan, &packed, err) < 0)
        return -1;
    return fd_sealed("wasp-plan", packed.data, packed.len, ret_fd, err);
}

/* One byte and these, in one message. */
static int send_descriptors(const struct child *child, char byte, const int *fds, size_t count,
                            struct err *err)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int) * CELL_MAX_FDS)] = {0};
    struct iovec bytes = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {.msg_iov = &bytes, .msg_iovlen = 1};
    if (count > 0) {
        message.msg_control = control;
        message.msg_controllen = CMSG_SPACE(count * sizeof(int));
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(count * sizeof(int));
        memcpy(CMSG_DATA(header), fds, count * sizeof(int));
    }
    /* a cell that died already told why: that is heard by whoever watches it */
    if (sendmsg(child->tell, &message, MSG_NOSIGNAL) < 0 && errno != EPIPE && errno != ECONNRESET)
        return err_sys(err, ERR_HOST, "cannot send to the cell");
    return 0;
}

int child_load(const struct child *child, const struct child_load *load, struct err *err)
{
    _cleanup_fd_ int plan = -1;
    if (pack_plan(load->plan, &plan, err) < 0)
        return -1;
    /* in the order of enum cell_fd, the socket left out */
    int fds[CELL_MAX_FDS] = {load->streams[0], load->streams[1], load->streams[2], plan,
                             load->code,       load->door};
    size_t count = (size_t) cell_first_grant(load->plan) - 1;
    if (load->plan->job == JOB_NATIVE && load->rootfs >= 0)
        fds[count++] = load->rootfs;
    for (size_t i = 0; i < load->n_grants && i < REQUEST_MAX_DIRS; i++)
        fds[count++] = load->grants[i];

    return send_descriptors(child, GO_ALONE, fds, count, err);
}

int child_go(const struct child *child, enum cell_go go, const int *entries, size_t n_entries,
             struct err *err)
{
    return send_descriptors(child, (char) go, entries, n_entries, err);
}

void child_signal(const struct child *child, int signal)
{
    if (child->pid > 0) /* ESRCH: it is dead already */
        (void) syscall(SYS_pidfd_send_signal, child->pidfd, signal, NULL, 0);
}

void child_kill(const struct child *child)
{
    child_signal(child, SIGKILL);
}

int child_reap(struct child *child, int *ret_status, struct rusage *ret_usage, struct err *err)
{
    pid_t pid;
    do
        pid = wait4(child->pid, ret_status, 0, ret_usage);
    while (pid < 0 && errno == EINTR);
    if (pid < 0)
        return err_sys(err, ERR_HOST, "cannot wait for the cell");
    child->pid = 0;
    return 0;
}

void child_release(struct child *child)
{
    int status;
    struct rusage usage;
    struct err err;
    child_kill(child);
    if (child->pid > 0) /* it is being given up: how it ended is of no use */
        (void) child_reap(child, &status, &usage, &err);
    cleanup_fd(&child->pidfd);
    cleanup_fd(&child->tell);
    child->pidfd = child->tell = -1;
}
