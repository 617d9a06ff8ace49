#include "run/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "plan/pack.h"
#include "plan/tell.h"
#include "run/identity.h"

#define NAMESPACES                                                                             \
    (CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET | \
     CLONE_NEWCGROUP)

/* ---- the child, between clone and exec: it touches nothing but its own descriptors and
 * credentials ---- */

/* In the new user namespace the child has every capability, exec would take them: the cell needs
 * them for its walls. */
static int keep_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
    if (syscall(SYS_capget, &header, data) < 0)
        return -1;
    for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
        data[i].inheritable = data[i].permitted;
    if (syscall(SYS_capset, &header, data) < 0)
        return -1;
    static const int needed[] = {CAP_SYS_ADMIN, CAP_SETUID, CAP_SETGID, CAP_SETPCAP};
    for (size_t i = 0; i < ARRAY_SIZE(needed); i++)
        if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, needed[i], 0, 0) < 0)
            return -1;
    return 0;
}

/* Moves each source to its place. First all of them out of the way, so that none is overwritten
 * before its turn. */
static int place_descriptors(const int *sources, int count)
{
    int moved[CELL_FD_GRANTS + REQUEST_MAX_DIRS];
    for (int i = 0; i < count; i++) {
        moved[i] = fcntl(sources[i], F_DUPFD_CLOEXEC, count);
        if (moved[i] < 0)
            return -1;
    }
    for (int i = 0; i < count; i++)
        if (dup2(moved[i], i) < 0)
            return -1;
    return 0;
}

static void reset_signals(void)
{
    sigset_t none;
    sigemptyset(&none);
    (void) sigprocmask(SIG_SETMASK, &none, NULL); /* cannot fail with these arguments */
}

_Noreturn static void become_cell(const struct spawn *spawn, int program, const int *sources,
                                  int count, int tell)
{
    struct err err = {.code = ERR_NONE};
    char *const argv[] = {(char *) (uintptr_t) spawn->program, NULL};
    char *const envp[] = {NULL};
    char go;

    /* before the wait below: a parent that dies in between closes its end, one that dies later
     * kills us */
    (void) prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (read(tell, &go, 1) != 1)
        _exit(1);
    reset_signals();
    if (spawn->plan->isolation == ISOLATION_FULL && keep_capabilities() < 0)
        (void) err_sys(&err, ERR_WALL, "cannot keep the capabilities of the new namespace");
    else if (place_descriptors(sources, count) < 0)
        (void) err_sys(&err, ERR_HOST, "cannot place the cell's descriptors");
    else {
        syscall(SYS_execveat, program, "", argv, envp, AT_EMPTY_PATH);
        (void) err_sys(&err, ERR_BACKEND, "cannot start '%s/%s'", spawn->program_dir,
                       spawn->program);
    }
    (void) err_step(&err, "spawn");
    struct tell message = {.kind = TELL_FAILED, .failed = err};
    /* tell may have been moved already; its copy at CELL_FD_TELL is the same socket */
    (void) !write(tell, &message, offsetof(struct tell, failed) + sizeof(err));
    _exit(1);
}

/* ---- the parent -------------------------------------------------------------------------------
 */

/* One uid and one gid: the caller's own, or (started by root) one of the range that owns nothing.
 */
static int map_ids(const struct spawn *spawn, pid_t pid, struct err *err)
{
    const struct plan *plan = spawn->plan;
    bool range = plan->identity == IDENTITY_RANGE;
    /* an ordinary user may map a gid only where setgroups is off for good */
    if ((!range && identity_write_proc(pid, "setgroups", "deny") < 0) ||
        identity_write_map(pid, "uid_map", plan->uid, range ? spawn->host_uid : geteuid()) < 0 ||
        identity_write_map(pid, "gid_map", plan->gid, range ? spawn->host_uid : getegid()) < 0)
        return err_sys(err, ERR_WALL, "cannot map the ids of the cell's user namespace");
    return 0;
}

static int refuse_namespaces(struct err *err)
{
    int number = errno;
    (void) err_sys(err, ERR_WALL, "cannot make the namespaces of the cell");
    (void) err_step(err, "namespaces");
    if (number == EPERM || number == EACCES)
        return err_hint(
            err, "allow unprivileged user namespaces (sysctl kernel.unprivileged_userns_clone=1 "
                 "or kernel.apparmor_restrict_unprivileged_userns=0); inside a container that "
                 "forbids them, ask for the weaker rung by name: --isolation landlock");
    if (number == ENOSPC || number == EUSERS)
        return err_hint(err, "raise the sysctls user.max_*_namespaces");
    return err_hint(
        err, "wasp needs Linux 5.12 or newer with user, mount, pid, ipc, uts, net and cgroup "
             "namespaces");
}

static int open_program(const struct spawn *spawn, int *ret_fd, struct err *err)
{
    char path[4096];
    int len = snprintf(path, sizeof(path), "%s/%s", spawn->program_dir, spawn->program);
    if (len < 0 || (size_t) len >= sizeof(path))
        return err_set(err, ERR_BACKEND, "the folder of wasp's programs has too long a name");
    *ret_fd = open(path, O_PATH | O_CLOEXEC);
    if (*ret_fd < 0) {
        (void) err_sys(err, ERR_BACKEND, "cannot open '%s'", path);
        return err_hint(
            err, "wasp needs its helper programs beside it or in ../libexec/wasp: install it "
                 "with `make install`, or run build/wasp");
    }
    return 0;
}

static int pack_plan(const struct plan *plan, int *ret_fd, struct err *err)
{
    _cleanup_(buf_release) struct buf packed = BUF_INIT(PACK_MAX_BYTES);
    if (plan_pack(plan, &packed, err) < 0)
        return -1;
    return fd_sealed("wasp-plan", packed.data, packed.len, ret_fd, err);
}

static uint64_t namespace_flags(const struct plan *plan)
{
    uint64_t flags = plan->isolation == ISOLATION_FULL ? NAMESPACES : 0;
#ifdef WASP_TEST_HOOKS
    if (plan->without & WALL_PID_NAMESPACE)
        flags &= ~(uint64_t) CLONE_NEWPID;
    if (plan->without & WALL_NET_NAMESPACE)
        flags &= ~(uint64_t) CLONE_NEWNET;
#endif
    return flags;
}

static int clone_child(const struct plan *plan, struct child *child, struct err *err)
{
    struct clone_args args = {
        .flags = CLONE_PIDFD | namespace_flags(plan),
        .pidfd = (uint64_t) (uintptr_t) &child->pidfd,
        .exit_signal = SIGCHLD,
    };
    child->pid = (pid_t) syscall(SYS_clone3, &args, sizeof(args));
    if (child->pid >= 0)
        return 0;
    child->pid = 0;
    if (plan->isolation == ISOLATION_FULL)
        return refuse_namespaces(err);
    return err_sys(err, ERR_HOST, "cannot start a process");
}

/* Lets the child go on. If it died already, what it told or its status says why: no error here. */
static void release_the_brake(const struct child *child)
{
    (void) send(child->tell, "g", 1, MSG_NOSIGNAL);
}

int child_spawn(const struct spawn *spawn, struct child *ret_child, struct err *err)
{
    _cleanup_fd_ int program = -1, plan = -1, tell = -1, cell_tell = -1;
    int pair[2];
    if (open_program(spawn, &program, err) < 0 || pack_plan(spawn->plan, &plan, err) < 0)
        return -1;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return err_sys(err, ERR_HOST, "cannot make a socket pair");
    tell = pair[0];
    cell_tell = pair[1];

    int sources[CELL_FD_GRANTS + REQUEST_MAX_DIRS] = {
        spawn->streams[0], spawn->streams[1], spawn->streams[2], plan, cell_tell, spawn->code};
    int count = CELL_FD_GRANTS;
    for (size_t i = 0; i < spawn->n_grants && i < REQUEST_MAX_DIRS; i++)
        sources[count++] = spawn->grants[i];

    struct child child = {.pid = 0, .pidfd = -1, .tell = -1};
    if (clone_child(spawn->plan, &child, err) < 0)
        return -1;
    if (child.pid == 0) {
        (void) close(
            tell); /* or our own copy would keep the brake's socket open after the parent's death */
        become_cell(spawn, program, sources, count, cell_tell);
    }
    child.tell = take_fd(&tell);
    if (spawn->plan->isolation == ISOLATION_FULL && map_ids(spawn, child.pid, err) < 0) {
        child_release(&child);
        return err_step(err, "identity");
    }
    release_the_brake(&child);
    *ret_child = child;
    return 0;
}

void child_kill(const struct child *child)
{
    if (child->pid > 0)
        (void) syscall(SYS_pidfd_send_signal, child->pidfd, SIGKILL, NULL,
                       0); /* ESRCH: it is dead already */
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
    if (child->pid > 0)
        (void) child_reap(child, &status, &usage,
                          &err); /* it is being given up: how it ended is of no use */
    cleanup_fd(&child->pidfd);
    cleanup_fd(&child->tell);
    child->pidfd = child->tell = -1;
}
