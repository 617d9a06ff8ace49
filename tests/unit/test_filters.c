/*
 * Each call with arguments that do no harm, behind the filters of native jobs and without. What is
 * refused must reach the kernel where no filter stands, or the refusal proves nothing.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "filters_rig.h"

#define BAD 1 /* an address where nothing is */
#define NONE (-1)
#define HIGH (1L << 32) /* a bit that the kernel does not read of an int */

struct call {
    const char *name;
    long number;
    long args[6];
};

#define CALL(call, ...)    \
    {                      \
#call, SYS_##call, \
        {                  \
            __VA_ARGS__    \
        }                  \
    }

/* What became of a call: a number, or the signal that it died of. */
struct answer {
    int error; /* 0: it succeeded */
    int signal;
};

static struct answer ask(int filter, const struct call *call)
{
    const long *args = call->args;
    struct answer *shared =
        mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        rig_die("no shared memory");
    pid_t pid = fork();
    if (pid < 0)
        rig_die("cannot fork");
    if (pid == 0) {
        (void) setsid(); /* away from the terminal: vhangup; it cannot fail in a child */
        rig_load(filter);
        long rc = syscall(call->number, args[0], args[1], args[2], args[3], args[4], args[5]);
        shared->error = rc < 0 ? errno : 0;
        _exit(0);
    }
    int status = 0;
    if (waitpid(pid, &status, 0) != pid)
        rig_die("lost a child");
    struct answer answer = {shared->error, WIFSIGNALED(status) ? WTERMSIG(status) : 0};
    (void) munmap(shared, sizeof(*shared)); /* ours, mapped above */
    return answer;
}

/* ---- calls that are refused whatever their arguments ----------------------------------------- */

static const struct call refused[] = {
    CALL(ptrace, 0x7fffffff, 0),
    CALL(process_vm_readv, 0, 0, 0, 0, 0, 1),
    CALL(process_vm_writev, 0, 0, 0, 0, 0, 1),
    CALL(pidfd_getfd, NONE),
    CALL(kcmp, NONE, NONE, 99),
    CALL(get_robust_list, NONE, BAD, BAD),
    CALL(process_madvise, NONE),
    CALL(process_mrelease, NONE),
    CALL(move_pages, NONE, 1, BAD),
    CALL(migrate_pages, NONE, NONE),
    CALL(clone3, 0, 0),
    CALL(io_uring_setup, 0, 0),
    CALL(io_uring_enter, NONE),
    CALL(io_uring_register, NONE),
    CALL(io_setup, 0, 0),
    CALL(io_submit, 0, 1, BAD),
    CALL(io_getevents, 0, 0, 0),
    CALL(io_pgetevents, 0, 0, 0),
    CALL(io_cancel, 0, 0),
    CALL(io_destroy, 0),
    CALL(bpf, NONE, 0, 0),
    CALL(perf_event_open, 0),
    CALL(userfaultfd, NONE),
    CALL(keyctl, NONE),
    CALL(add_key, 0),
    CALL(request_key, 0),
    CALL(fanotify_init, NONE, NONE),
    CALL(fanotify_mark, NONE),
    CALL(vmsplice, NONE),
    CALL(remap_file_pages, BAD, 0, 1),
    CALL(mount, 0, BAD),
    CALL(umount2, BAD),
    CALL(pivot_root, BAD, BAD),
    CALL(chroot, BAD),
    CALL(open_tree, NONE, BAD, NONE),
    CALL(move_mount, NONE, BAD, NONE, BAD, NONE),
    CALL(fsopen, BAD, NONE),
    CALL(fsconfig, NONE),
    CALL(fsmount, NONE, NONE),
    CALL(fspick, NONE, BAD, NONE),
    CALL(mount_setattr, NONE, BAD, NONE),
    CALL(name_to_handle_at, NONE, BAD, BAD, BAD),
    CALL(open_by_handle_at, NONE, BAD),
    CALL(quotactl, NONE),
    CALL(quotactl_fd, NONE, NONE),
    CALL(reboot, 0),
    CALL(kexec_load, 0, 0, 0, NONE),
    CALL(init_module, 0, 0, BAD),
    CALL(finit_module, NONE, BAD, NONE),
    CALL(delete_module, BAD),
    CALL(swapon, BAD, NONE),
    CALL(swapoff, BAD),
    CALL(acct, BAD),
    CALL(settimeofday, BAD, BAD),
    CALL(clock_settime, NONE, BAD),
    CALL(adjtimex, BAD),
    CALL(clock_adjtime, NONE, BAD),
    CALL(sethostname, BAD, NONE),
    CALL(setdomainname, BAD, NONE),
    CALL(syslog, NONE),
    CALL(vhangup),
#ifdef __x86_64__
    CALL(iopl, 4),
    CALL(ioperm, NONE, NONE),
    CALL(modify_ldt, 0),
    CALL(set_thread_area, BAD),
    CALL(get_thread_area, BAD),
    CALL(kexec_file_load, NONE, NONE, 0, BAD, NONE),
    CALL(ustat, 0, BAD),
    CALL(sysfs, 99),
#endif
    {"statmount", 457, {BAD}},
    {"listmount", 458, {BAD}},
    {"lsm_set_self_attr", 460, {0, BAD, NONE, NONE}},
    {"open_tree_attr", 467, {NONE, BAD, NONE}},
    {"file_setattr", 469, {NONE, BAD, BAD, NONE, NONE}},
};

static void try_refused(const struct call *call)
{
    if (ask(FREE, call).error == ENOSYS) {
        skip("this kernel has no %s", call->name);
        return;
    }
    ok(ask(NATIVE, call).error == ENOSYS, "%s is not there", call->name);
}

/* ---- calls that go by their arguments -------------------------------------------------------- */

/* What each filter says; 0: the call reaches the kernel, which says something else. */
static const struct judged {
    const char *what;
    struct call call;
    int errors[N_FILTERS];
} judged[] = {
    {"TIOCSTI", CALL(ioctl, NONE, 0x5412), {0, EPERM, EPERM, EPERM}},
    {"TIOCSTI with a high bit", CALL(ioctl, NONE, HIGH | 0x5412), {0, EPERM, EPERM, EPERM}},
    {"TIOCLINUX", CALL(ioctl, NONE, 0x541c), {0, EPERM, EPERM, EPERM}},
    {"TIOCLINUX with a high bit", CALL(ioctl, NONE, HIGH | 0x541c), {0, EPERM, EPERM, EPERM}},
    {"TIOCSETD", CALL(ioctl, NONE, 0x5423), {0, EPERM, EPERM, EPERM}},
    {"TIOCGWINSZ", CALL(ioctl, NONE, 0x5413), {0}},
    /* CLONE_SIGHAND without CLONE_VM: the kernel makes nothing of it */
    {"clone", CALL(clone, CLONE_SIGHAND), {0}},
    {"clone with NEWUSER", CALL(clone, CLONE_SIGHAND | CLONE_NEWUSER), {0, EPERM, EPERM, EPERM}},
    {"clone with NEWNS", CALL(clone, CLONE_SIGHAND | CLONE_NEWNS), {0, EPERM, EPERM, EPERM}},
    {"clone with NEWPID", CALL(clone, CLONE_SIGHAND | CLONE_NEWPID), {0, EPERM, EPERM, EPERM}},
    {"clone with NEWNET", CALL(clone, CLONE_SIGHAND | CLONE_NEWNET), {0, EPERM, EPERM, EPERM}},
    {"clone with NEWIPC", CALL(clone, CLONE_SIGHAND | CLONE_NEWIPC), {0, EPERM, EPERM, EPERM}},
    {"clone with NEWUTS", CALL(clone, CLONE_SIGHAND | CLONE_NEWUTS), {0, EPERM, EPERM, EPERM}},
    {"clone with NEWCGROUP",
     CALL(clone, CLONE_SIGHAND | CLONE_NEWCGROUP),
     {0, EPERM, EPERM, EPERM}},
    {"clone with PARENT", CALL(clone, CLONE_SIGHAND | CLONE_PARENT), {0, EPERM, EPERM, EPERM}},
    {"unshare of files", CALL(unshare, CLONE_FILES), {0}},
    {"unshare of users", CALL(unshare, CLONE_NEWUSER | 1), {0, EPERM, EPERM, EPERM}},
    {"unshare of clocks", CALL(unshare, 0x80 | 1), {0, EPERM, EPERM, EPERM}},
    {"setns", CALL(setns, NONE, 0), {0, EPERM, EPERM, EPERM}},
    {"a FIFO", CALL(mknodat, NONE, BAD, S_IFIFO | 0600), {0}},
    {"a character device", CALL(mknodat, NONE, BAD, S_IFCHR | 0600), {0, EPERM, EPERM, EPERM}},
    {"a block device", CALL(mknodat, NONE, BAD, S_IFBLK | 0600), {0, EPERM, EPERM, EPERM}},
    {"a whiteout", CALL(renameat2, NONE, BAD, NONE, BAD, 4), {0, EINVAL, EINVAL, EINVAL}},
    {"a rename", CALL(renameat2, NONE, BAD, NONE, BAD, 1), {0}},
    {"fchmod", CALL(fchmod, NONE, 0755), {0, 0, 0, EPERM}},
    {"fchmod to set-uid", CALL(fchmod, NONE, 04755), {0, EPERM, EPERM, EPERM}},
    {"fchmodat to set-uid", CALL(fchmodat, NONE, BAD, 04755), {0, EPERM, EPERM, EPERM}},
    {"fchmodat2 to set-uid", {"fchmodat2", 452, {NONE, BAD, 04755, 0}}, {0, EPERM, EPERM, EPERM}},
    {"fchmodat2", {"fchmodat2", 452, {NONE, BAD, 0755, 0}}, {0, 0, 0, EPERM}},
    {"fchown", CALL(fchown, NONE, NONE, NONE), {0, 0, 0, EPERM}},
    {"setxattr", CALL(setxattr, BAD, BAD, BAD), {0, 0, 0, EPERM}},
    {"times by path", CALL(utimensat, NONE, BAD, 0, 0), {0, 0, 0, EPERM}},
    {"times of an open file", CALL(utimensat, NONE, 0, 0, 0), {0}},
    {"a watch", CALL(inotify_add_watch, NONE, BAD, 1), {0, 0, 0, EACCES}},
    {"reading the personality", CALL(personality, 0xffffffff), {0}},
    {"READ_IMPLIES_EXEC", CALL(personality, 0x400000), {0, EPERM, EPERM, EPERM}},
    {"a filter of its own", CALL(seccomp, 1, 0, BAD), {0}},
    {"a filter with a supervisor", CALL(seccomp, 1, 8, BAD), {0, EINVAL, EINVAL, EINVAL}},
    {"a filter with a log", CALL(seccomp, 1, 2, BAD), {0, EINVAL, EINVAL, EINVAL}},
    {"a name", CALL(prctl, PR_SET_NAME, BAD), {0}},
    {"PR_GET_TSC", CALL(prctl, 25, BAD), {0, EINVAL, EINVAL, EINVAL}},
    {"a stream socket", CALL(socket, AF_UNIX, SOCK_STREAM, 0), {0, 0, 0, EACCES}},
    {"a datagram socket",
     CALL(socket, AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0),
     {0, 0, EACCES, EACCES}},
    {"a datagram socket by its other name",
     CALL(socket, AF_UNIX, SOCK_RAW, 0),
     {0, 0, EACCES, EACCES}},
    {"TCP", CALL(socket, AF_INET, SOCK_STREAM, 0), {0, 0, EACCES, EACCES}},
    {"UDP over IPv6", CALL(socket, AF_INET6, SOCK_DGRAM, 17), {0, 0, EACCES, EACCES}},
    {"netlink", CALL(socket, AF_NETLINK, SOCK_RAW, 0), {0, 0, EACCES, EACCES}},
    {"netfilter's netlink",
     CALL(socket, AF_NETLINK, SOCK_RAW, 12),
     {0, EAFNOSUPPORT, EACCES, EACCES}},
    {"a packet socket", CALL(socket, AF_PACKET, SOCK_RAW, 0), {0, EAFNOSUPPORT, EACCES, EACCES}},
    {"a vsock", CALL(socket, AF_VSOCK, SOCK_STREAM, 0), {0, EAFNOSUPPORT, EACCES, EACCES}},
    {"a pair of streams", CALL(socketpair, AF_UNIX, SOCK_STREAM, 0, BAD), {0}},
    {"a pair of packets", CALL(socketpair, AF_UNIX, SOCK_SEQPACKET, 0, BAD), {0}},
    {"a pair of datagrams", CALL(socketpair, AF_UNIX, SOCK_DGRAM, 0, BAD), {0, 0, EACCES, EACCES}},
    {"connect", CALL(connect, NONE, 0, 0), {0, 0, EACCES, EACCES}},
    {"sendto", CALL(sendto, NONE, BAD, 1), {0}},
    {"sendto an address", CALL(sendto, NONE, BAD, 1, 0, BAD, 16), {0, 0, EACCES, EACCES}},
    {"shared memory", CALL(shmget, 0, 0, 0), {0, 0, 0, EACCES}},
    {"semaphores", CALL(semget, 0, NONE, 0), {0, 0, 0, EACCES}},
    {"queues", CALL(msgget, 0x7a5b3c1d, 0), {0, 0, 0, EACCES}},
    {"message queues", CALL(mq_open, BAD, 0), {0, 0, 0, EACCES}},
    {"its own limits", CALL(prlimit64, 0, 99), {0}},
    {"another's limits", CALL(prlimit64, 1, 99), {0, 0, 0, EPERM}},
    {"another's cores", CALL(sched_setaffinity, 1, 8, BAD), {0, 0, 0, EPERM}},
    {"everybody's niceness", CALL(setpriority, 99, 0, 0), {0, 0, 0, EPERM}},
    {"kill", CALL(kill, 0, 99), {0, 0, 0, 0}},
    {"tgkill", CALL(tgkill, 1, 1, 99), {0, 0, 0, 0}},
    {"a signal by pidfd", CALL(pidfd_send_signal, NONE, 0), {0, 0, 0, 0}},
    {"signals in its name", CALL(fcntl, NONE, F_SETOWN, 1), {0, 0, 0, 0}},
};

static void try_judged(const struct judged *row)
{
    int unwalled = ask(FREE, &row->call).error;
    for (int filter = NATIVE; filter < N_FILTERS; filter++) {
        int expected = row->errors[filter];
        struct answer answer = ask(filter, &row->call);
        if (unwalled == ENOSYS || (expected != 0 && unwalled == expected))
            skip("%s: the kernel itself says '%s'", row->what, strerror(unwalled));
        else if (expected != 0)
            ok(answer.error == expected, "%s refuses %s with '%s'", filters[filter].name, row->what,
               strerror(expected));
        else
            ok(answer.error == unwalled && answer.signal == 0, "%s has %s", filters[filter].name,
               row->what);
    }
}

/* ---- calls that every filter has ------------------------------------------------------------- */

static const struct call allowed[] = {
    CALL(read, NONE),
    CALL(pwritev2, NONE),
    CALL(openat2, NONE, BAD),
    CALL(statx, NONE, BAD),
    CALL(faccessat2, NONE, BAD),
    CALL(close_range, NONE, 0),
    CALL(copy_file_range, NONE, 0, NONE),
    CALL(splice, NONE, 0, NONE),
    CALL(sendfile, NONE, NONE),
    CALL(flock, NONE),
    CALL(fallocate, NONE),
    CALL(getdents64, NONE),
    CALL(getxattr, BAD),
    CALL(linkat, NONE, BAD),
    CALL(syncfs, NONE),
    CALL(epoll_pwait2, NONE),
    CALL(epoll_create1, NONE),
    CALL(eventfd2, 0, NONE),
    CALL(signalfd4, NONE, BAD, 8),
    CALL(timerfd_create, NONE, NONE),
    CALL(inotify_init1, NONE),
    CALL(pipe2, BAD, 0),
    CALL(mprotect, BAD),
    CALL(mremap, BAD),
    CALL(madvise, BAD),
    CALL(mlock2, BAD, 0, NONE),
    CALL(memfd_create, BAD),
    CALL(membarrier, NONE, NONE),
    CALL(mbind, BAD, 0, NONE),
    CALL(get_mempolicy, 0, 0, 0, 0, NONE),
    CALL(pkey_alloc, NONE),
    CALL(execveat, NONE, BAD),
    CALL(waitid, NONE),
    CALL(pidfd_open, NONE),
    CALL(rseq, BAD, 0, NONE),
    CALL(set_robust_list, BAD, 0),
    CALL(futex, BAD, 1),
    CALL(futex_waitv, BAD, 0),
    CALL(rt_sigaction, NONE, BAD, BAD, 8),
    CALL(rt_sigtimedwait, BAD, BAD, BAD, 8),
    CALL(sched_getattr, NONE),
    CALL(sched_setaffinity, 0, 8, BAD),
    CALL(setpriority, 0, 0, 0),
    CALL(getrusage, NONE),
    CALL(landlock_create_ruleset, BAD, 0, NONE),
    CALL(clock_nanosleep, NONE),
    CALL(timer_create, NONE, BAD, BAD),
    CALL(setitimer, NONE),
    CALL(getrandom, BAD, 8, 0),
    CALL(capget, BAD),
    CALL(setgroups, NONE, BAD),
    CALL(recvmmsg, NONE),
    CALL(sendmsg, NONE, BAD),
    CALL(accept4, NONE),
    CALL(restart_syscall),
};

static void try_allowed(const struct call *call)
{
    struct answer free = ask(FREE, call);
    if (free.error == ENOSYS) {
        skip("this kernel has no %s", call->name);
        return;
    }
    bool is_same = true;
    for (int filter = NATIVE; filter < N_FILTERS; filter++) {
        struct answer answer = ask(filter, call);
        is_same = is_same && answer.error == free.error && answer.signal == free.signal;
    }
    ok(is_same, "%s is as without a filter", call->name);
}

/* ---- numbers of nobody and of other architectures -------------------------------------------- */

static void try_numbers(void)
{
    bool is_refused = true;
    for (long number = 480; number < 1100; number += 31)
        is_refused = is_refused && ask(NATIVE, &(struct call){"?", number, {0}}).error == ENOSYS;
    ok(is_refused, "calls that the next kernels may bring are not there");
#ifdef __x86_64__
    struct call x32 = {"getpid of x32", 0x40000000 | SYS_getpid, {0}};
    struct call nobody = {"call -1", NONE, {0}};
    ok(ask(FREE, &x32).signal == 0, "without a filter an x32 number is survived");
    for (int filter = NATIVE; filter < N_FILTERS; filter++)
        ok(ask(filter, &x32).signal == SIGSYS, "%s: an x32 number kills", filters[filter].name);
    ok(ask(NATIVE, &nobody).error == ENOSYS, "call -1 is not there, and no reason to die");
#endif
}

#ifdef __x86_64__
/* getpid by i386's gate; what a child that does it dies of, 0 if it lives. */
static int death_by_gate(int filter)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        rig_load(filter);
        long number = 20;
        __asm__ volatile("int $0x80" : "+a"(number) : : "memory", "r8", "r9", "r10", "r11");
        _exit(0);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        rig_die("lost a child");
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}
#endif

static void try_gate(void)
{
#ifdef __x86_64__
    if (death_by_gate(FREE) != 0)
        skip("this kernel has no i386 gate");
    else
        ok(death_by_gate(NATIVE) == SIGSYS && death_by_gate(QUIET) == SIGSYS &&
               death_by_gate(RUNG) == SIGSYS,
           "a call by i386's gate kills");
#endif
}

int main(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
        try_refused(&refused[i]);
    for (size_t i = 0; i < ARRAY_SIZE(judged); i++)
        try_judged(&judged[i]);
    for (size_t i = 0; i < ARRAY_SIZE(allowed); i++)
        try_allowed(&allowed[i]);
    try_numbers();
    try_gate();
    return done();
}
