/*
 * The native job. The cell's process stays as the first of its pid namespace: it starts the
 * program, passes signals on to it, reaps whatever is left to it, and ends when the program does;
 * the kernel then ends everything else in the namespace.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "cell/cell.h"
#include "cell/tell.h"

/* Between clone and exec the program borrows our memory: a few calls and a path on the stack. */
#define START_STACK_BYTES (32 * 1024)
#define PATH_SIZE 4096

struct start {
    const struct cell *cell;
    int failed; /* errno of the exec; 0: it went well */
};

#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC 4
#endif

/* What the parent may send us, and we hand to the program. */
static const int forwarded[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH};

/* ---- the program, between clone and exec ----------------------------------------------------- */

/* Whoever started wasp may have ignored some: nohup, a shell's background, wasp itself. */
static void reset_signals(void)
{
    static const unsigned long standard[4]; /* the kernel's sigaction: SIG_DFL and nothing else */
    sigset_t none;

    /* the bare call: the C library keeps a few for itself and would leave them as they are */
    for (int number = 1; number < _NSIG; number++)
        (void) syscall(SYS_rt_sigaction, number, standard, NULL, _NSIG / 8); /* EINVAL: SIGKILL */
    sigemptyset(&none);
    (void) sigprocmask(SIG_SETMASK, &none, NULL); /* likewise */
}

/* A terminal becomes its controlling one; pipes need only survive the exec. */
static int place_streams(int terminal)
{
    for (int fd = CELL_FD_STDIN; fd <= CELL_FD_STDERR; fd++)
        if (terminal >= 0 ? dup2(terminal, fd) < 0 : fcntl(fd, F_SETFD, 0) < 0)
            return -1;
    return terminal >= 0 ? ioctl(CELL_FD_STDIN, TIOCSCTTY, 0) : 0;
}

/* Here and not with the other limits: the cell itself has more open until now. */
static int limit_files(const struct plan *plan)
{
    struct err ignored; /* errno says it too */

    return cell_limit(RLIMIT_NOFILE, "open files", plan->limits.value[LIMIT_OPEN_FILES], &ignored);
}

/*
 * A policy that allowed a program judged a file of the host's. In the guest's view another one may
 * lie at its place: a directory that was granted there, say. errno of the refusal, or 0.
 */
static int check_judged(const struct plan *plan, const char *path)
{
    struct stat st;

    if (plan->native.program_ino == 0 || stat(path, &st) < 0)
        return 0; /* none was judged; or exec says what is wrong */
    return st.st_dev == plan->native.program_dev && st.st_ino == plan->native.program_ino ? 0
                                                                                          : ESTALE;
}

/* Comes back only if it failed, with what errno says of it. */
static int exec_judged(const struct plan *plan, const char *path, char *const *argv,
                       char *const *env)
{
    int refused = check_judged(plan, path);

    if (refused != 0)
        return refused;
    (void) execve(path, argv, env); /* as above: errno says why */
    return errno;
}

/* Each place of the fixed path in turn, as execvp does; what is there but cannot run says so. */
static int exec_on_path(const struct plan *plan, const char *name, char *const *argv,
                        char *const *env)
{
    char path[PATH_SIZE];
    int found = ENOENT;
    size_t name_len = strlen(name);

    for (const char *at = CELL_PATH; *at != '\0';) {
        size_t len = strcspn(at, ":");
        if (len + 1 + name_len < sizeof(path)) {
            memcpy(path, at, len);
            path[len] = '/';
            memcpy(path + len + 1, name, name_len + 1);
            int failed = exec_judged(plan, path, argv, env);
            if (failed == ESTALE)
                return failed;
            if (failed != ENOENT && failed != ENOTDIR)
                found = failed;
        }
        at += len + (at[len] == ':');
    }
    return found;
}

static int become_program(void *data)
{
    struct start *start = data;
    const struct plan *plan = &start->cell->plan;
    const char *program = plan->native.program;
    char *const *argv = (char *const *) (uintptr_t) plan->args;
    char *const *env = (char *const *) (uintptr_t) plan->env;

    reset_signals();
    /* the socket to the parent and all else stays behind, with the first process */
    if (syscall(SYS_close_range, CELL_FD_TELL, ~0U, CLOSE_RANGE_CLOEXEC) < 0 || setsid() < 0 ||
        place_streams(start->cell->terminal) < 0 || limit_files(plan) < 0 ||
        (plan->isolation == ISOLATION_LANDLOCK && cell_scope_signals() < 0))
        start->failed = errno;
    else if (strchr(program, '/') == NULL)
        start->failed = exec_on_path(plan, program, argv, env);
    else
        start->failed = exec_judged(plan, program, argv, env);
    _exit(127);
}

/* ---- the first process ----------------------------------------------------------------------- */

static int refuse_program(const char *program, int number, struct err *err)
{
    errno = number;
    if (number == ENOENT || number == ENOTDIR) {
        (void) err_set(err, ERR_NOT_FOUND, "program '%s' is not there in the guest's view",
                       program);
        return err_hint(err, "the view has the system's programs and what you grant: look for it "
                             "on the path " CELL_PATH ", or grant its directory with --allow-dir");
    }
    if (number == ESTALE)
        return err_set(err, ERR_UNREADABLE,
                       "'%s' in the guest's view is not the program that the policy judged",
                       program);
    if (number == EAGAIN || number == ENOMEM)
        return err_sys(err, ERR_BACKEND, "cannot start '%s'", program);
    return err_sys(err, ERR_UNREADABLE, "cannot run '%s'", program);
}

static int start_program(const struct cell *cell, pid_t *ret_pid, struct err *err)
{
    _Alignas(16) char stack[START_STACK_BYTES];
    struct start start = {.cell = cell};
    pid_t pid =
        clone(become_program, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, &start);

    if (pid < 0)
        return err_sys(err, ERR_BACKEND, "cannot start a process in the cell");
    if (start.failed != 0)
        return refuse_program(cell->plan.native.program, start.failed, err);
    *ret_pid = pid;
    return 0;
}

/* Reaps all that are dead. True, and its status, once the program is among them. */
static bool reap(pid_t program, int *ret_status)
{
    bool ended = false;
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        if (pid == program) {
            *ret_status = status;
            ended = true;
        }
    return ended;
}

/*
 * True, and its status, once the program has ended; false if the parent wants all of it to end.
 * Who sends from outside of the pid namespace has no number in it; what the guest sends counts as
 * for any first process: not at all.
 */
static bool watch(const struct cell *cell, pid_t program, const sigset_t *set, int *ret_status)
{
    bool has_namespace = cell->plan.isolation == ISOLATION_FULL;

    for (;;) {
        siginfo_t info;
        int number = sigwaitinfo(set, &info);
        if (number == SIGCHLD && reap(program, ret_status))
            return true;
        if (number < 0 || number == SIGCHLD || (has_namespace && info.si_pid != 0))
            continue;
        if (number == CELL_SIGNAL_END)
            return false;
        (void) kill(-program, number); /* its whole group; ESRCH: it is on its way out */
    }
}

/*
 * Without a pid namespace its processes do not end with us. They are all that we may signal: our
 * Landlock domain is theirs, too. One that is killed forks no more, so this ends.
 */
static void end_all(void)
{
    do
        (void) kill(-1, SIGKILL); /* ESRCH: none is left */
    while (waitpid(-1, NULL, 0) > 0 || errno == EINTR);
}

/*
 * Stops: processes of the guest outliving the run. They are left to us; and when the parent dies we
 * are told to end them, instead of being killed as a cell with a pid namespace is.
 */
static int keep_orphans(struct err *err)
{
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0 || prctl(PR_SET_PDEATHSIG, CELL_SIGNAL_END) < 0)
        return err_sys(err, ERR_WALL, "cannot be the one who is left the guest's orphans");
    return 0;
}

/* A full scratch is worth a word: the guest has seen ENOSPC and may have hidden it. */
static uint32_t limits_hit(void)
{
    struct statfs fs;

    return statfs("/tmp", &fs) == 0 && (fs.f_bavail == 0 || fs.f_ffree == 0) ? HIT_DISK : 0;
}

static void tell_end(const struct cell *cell, int status)
{
    struct tell_done done = {
        .kind = WIFSIGNALED(status) ? DONE_SIGNALLED : DONE_EXITED,
        .exit_code = (uint32_t) (WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status)),
        .limits_hit = cell->walls & WALL_SCRATCH ? limits_hit() : 0,
    };
    tell_done(&done);
}

/*
 * What is blocked, a guest too can send to the first process of its namespace; all else the kernel
 * keeps from it. So the signal that ends the cell is none where nobody sends it.
 */
static void block_signals(enum isolation isolation, sigset_t *ret_set)
{
    sigemptyset(ret_set);
    sigaddset(ret_set, SIGCHLD);
    if (isolation == ISOLATION_LANDLOCK)
        sigaddset(ret_set, CELL_SIGNAL_END);
    for (size_t i = 0; i < ARRAY_SIZE(forwarded); i++)
        sigaddset(ret_set, forwarded[i]);
    (void) sigprocmask(SIG_SETMASK, ret_set, NULL); /* cannot fail with these arguments */
}

/*
 * The streams are the program's alone: when it and its children are gone, they end. A terminal is
 * kept: without anybody who has it open it would hang up, on a program that is about to exit.
 */
static void leave_streams(int terminal)
{
    unsigned int first = CELL_FD_PLAN;

    (void) syscall(SYS_close_range, CELL_FD_STDIN, CELL_FD_STDERR, 0); /* valid numbers */
    if (terminal >= 0 && dup2(terminal, CELL_FD_PLAN) >= 0)
        first++;
    (void) syscall(SYS_close_range, first, ~0U, 0); /* likewise */
}

/* Stops: a working directory outside of the root (CVE-2024-21626): it is opened inside of it. */
static int enter_cwd(const struct cell *cell, struct err *err)
{
    const char *cwd = cell->plan.native.cwd;
    _cleanup_fd_ int dir = cell->plan.isolation == ISOLATION_FULL
                               ? fd_openat2(AT_FDCWD, cwd, O_PATH | O_DIRECTORY, 0,
                                            RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS)
                               : open(cwd, O_PATH | O_DIRECTORY | O_CLOEXEC);

    if (dir >= 0 && fchdir(dir) == 0)
        return 0;
    (void) err_sys(err, ERR_REQUEST, "cannot use '%s' as the working directory", cwd);
    return err_hint(err, "it must be a directory in the guest's view: grant it with --allow-dir");
}

const bool cell_is_native = true;

int cell_job(struct cell *cell, struct err *err)
{
    sigset_t set;
    pid_t program;
    int status = 0;

    if (enter_cwd(cell, err) < 0)
        return err_step(err, "job");
    block_signals(cell->plan.isolation, &set);
    if (cell->plan.isolation == ISOLATION_LANDLOCK && keep_orphans(err) < 0)
        return -1;
    tell_ready(cell->walls, cell->landlock_abi);
    if (start_program(cell, &program, err) < 0)
        return err_step(err, "job");
    leave_streams(cell->terminal);
    bool ended = watch(cell, program, &set, &status);
    if (cell->plan.isolation == ISOLATION_LANDLOCK)
        end_all();
    if (ended)
        tell_end(cell, status);
    return 0;
}
