/*
 * A run's cgroup, made in the machine's real ones. `test_cgroup v1|v2|none` is told what there must
 * be, and runs so inside a virtual machine (tests/system/microvm.py); without a word it takes what
 * it finds.
 */
#include "cgroup_rig.h"

#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/clock.h"

#define PATIENCE_MS 10000

static bool read_in(int folder, const char *name, char *text, size_t size)
{
    _cleanup_fd_ int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);
    text[n < 0 ? 0 : n] = '\0';
    return n >= 0;
}

static bool says(const struct cgroup *cgroup, enum cgroup_slot slot, const char *name,
                 const char *expected)
{
    char text[128];
    int folder = cgroup->folders[cgroup->kind == CGROUP_V2 ? 0 : slot];
    bool holds = read_in(folder, name, text, sizeof(text)) && strcmp(text, expected) == 0;
    if (!holds)
        printf("# %s is %s", name, text);
    return holds;
}

/* How many hierarchies it is in: several controllers of v1 may have one in common. */
static int hierarchies(const struct cgroup *cgroup)
{
    struct stat seen[CGROUP_SLOTS];
    int count = 0;
    for (int i = 0; i < CGROUP_SLOTS; i++) {
        bool is_new = cgroup->folders[i] >= 0 && fstat(cgroup->folders[i], &seen[count]) == 0;
        for (int k = 0; k < count; k++)
            is_new = is_new &&
                     (seen[k].st_dev != seen[count].st_dev || seen[k].st_ino != seen[count].st_ino);
        count += is_new;
    }
    return count;
}

/* True if the process is in that cgroup, in all its hierarchies. */
static bool is_in(pid_t pid, const struct cgroup *cgroup)
{
    char path[64], text[8192];
    int count = 0;
    (void) snprintf(path, sizeof(path), "/proc/%d/cgroup", (int) pid);
    if (!read_in(AT_FDCWD, path, text, sizeof(text)))
        return false;
    for (const char *at = text; (at = strstr(at, cgroup->name)) != NULL; at++)
        count++;
    return count == hierarchies(cgroup);
}

/* ---- what runs in it ------------------------------------------------------------------------- */

/* A child that enters and then acts: its exit status is what the act returns. */
static pid_t start(const struct cgroup *cgroup, int (*act)(void))
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(cgroup_enter_self(cgroup) < 0 ? 99 : act());
    return pid;
}

static bool comes(int fd, short events, int patience_ms)
{
    struct pollfd slot = {.fd = fd, .events = events};
    return poll(&slot, 1, patience_ms) == 1 && (slot.revents & events) != 0;
}

static bool is_quiet(int fd, short events)
{
    struct pollfd slot = {.fd = fd, .events = events};
    return poll(&slot, 1, 0) == 0;
}

static int touch(size_t size)
{
    char *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (bytes == MAP_FAILED)
        return 1;
    for (size_t i = 0; i < size; i += 4096)
        ((volatile char *) bytes)[i] = 1;
    return 0;
}

static int touch_within(void)
{
    return touch(MEMORY_LIMIT / 2);
}

static int touch_beyond(void)
{
    return touch(MEMORY_LIMIT * 2);
}

static int sleep_on(void)
{
    while (pause() < 0)
        ;
    return 0;
}

static int stop(void)
{
    (void) raise(SIGSTOP);
    return sleep_on();
}

/* Forks until it is refused, at most twice as often as it may: how many there are. */
static int fork_on(void)
{
    for (int i = 0; i < 2 * PROCESSES; i++) {
        pid_t pid = fork();
        if (pid == 0)
            (void) sleep_on();
        if (pid < 0)
            return errno == EAGAIN ? i : 98;
    }
    return 2 * PROCESSES;
}

static int burn_nothing(void)
{
    return 0;
}

static int burn(void)
{
    struct timespec used = {.tv_sec = 0};
    while ((uint64_t) used.tv_nsec < 60 * NS_PER_MS && used.tv_sec == 0)
        if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) < 0)
            return 1;
    return 0;
}

/* In a grandchild that nobody waits for: it is a stranger's when it ends. */
static int burn_apart(void)
{
    int ends[2];
    char byte;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return 1;
    pid_t pid = fork();
    if (pid == 0) {
        pid = fork();
        _exit(pid == 0 ? burn() : 0);
    }
    (void) close(ends[1]);
    return wait_for(pid) == 0 && read(ends[0], &byte, 1) == 0 ? 0 : 1;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void test_limits(void)
{
    struct cgroup cgroup;
    if (!ok(make(&cgroup, 1, MEMORY_LIMIT, PROCESSES) == 0, "a cgroup is made"))
        return;
    bool v2 = cgroup.kind == CGROUP_V2;
    ok(folders_there(cgroup.parents, 1) == (v2 ? 1 : CGROUP_SLOTS),
       "it has a folder in each hierarchy, named after the run");
    ok(says(&cgroup, CGROUP_MEMORY, v2 ? "memory.max" : "memory.limit_in_bytes", "16777216\n"),
       "its memory is limited");
    ok(says(&cgroup, CGROUP_PIDS, "pids.max", "9\n"),
       "its processes are limited, with room for the cell's own");
    const char *swap = v2 ? "memory.swap.max" : "memory.memsw.limit_in_bytes";
    if (faccessat(cgroup.folders[0], swap, F_OK, 0) == 0)
        ok(says(&cgroup, CGROUP_MEMORY, swap, v2 ? "0\n" : "16777216\n"), "it has no swap");
    else
        skip("it has no swap: this kernel does not account for any");
    if (v2)
        ok(says(&cgroup, CGROUP_MEMORY, "memory.oom.group", "1\n"),
           "memory ends all of it or none");
    cgroup_release(&cgroup);
    ok(cgroup.kind == CGROUP_NONE, "a released one is none");
    cgroup_release(&cgroup);
}

static void test_unlimited(void)
{
    struct cgroup cgroup;
    if (make(&cgroup, 2, UNITS_UNLIMITED, UNITS_UNLIMITED) < 0)
        return;
    struct cgroup largest;
    const char *memory = cgroup.kind == CGROUP_V2 ? "memory.max" : "memory.limit_in_bytes";
    char text[64];
    ok(read_in(cgroup.folders[0], memory, text, sizeof(text)) &&
           (strcmp(text, "max\n") == 0 || strtoull(text, NULL, 10) > 1ULL << 60),
       "what is unlimited is not set");
    ok(says(&cgroup, CGROUP_PIDS, "pids.max", "max\n"), "nor are processes");
    ok(make(&largest, 3, INT64_MAX, 4194304) == 0 && largest.kind == cgroup.kind,
       "the largest limits that wasp takes are taken");
    cgroup_release(&largest);
    cgroup_release(&cgroup);
}

static void test_entering(void)
{
    struct cgroup cgroup;
    struct err err;
    if (make(&cgroup, 4, MEMORY_LIMIT, PROCESSES) < 0)
        return;
    pid_t outside = fork();
    if (outside == 0)
        (void) sleep_on();
    ok(!is_in(outside, &cgroup), "a process is not in it");
    ok(cgroup_enter(&cgroup, outside, &err) == 0 && is_in(outside, &cgroup),
       "until it is moved into it");
    pid_t inside = start(&cgroup, stop);
    int status;
    ok(waitpid(inside, &status, WUNTRACED) == inside && WIFSTOPPED(status) &&
           is_in(inside, &cgroup),
       "a child that enters by itself is in it");
    if (cgroup.kind == CGROUP_V2) {
        struct clone_args args = {.flags = CLONE_INTO_CGROUP | CLONE_NEWUSER | CLONE_NEWPID,
                                  .exit_signal = SIGCHLD,
                                  .cgroup = (uint64_t) cgroup.folders[0]};
        pid_t born = (pid_t) syscall(SYS_clone3, &args, sizeof(args));
        if (born == 0)
            (void) sleep_on();
        ok(born > 0 && is_in(born, &cgroup), "a child is born in it, with namespaces of its own");
    }
    cgroup_release(&cgroup);
    ok(wait_for(inside) == SIGKILL && wait_for(outside) == SIGKILL,
       "a release kills what still runs in it, stopped or not");
    while (waitpid(-1, NULL, 0) > 0)
        ; /* the one born in it */
}

/* The kernel keeps back what follows within 10 ms and tells it then: a look may come too early. */
static bool quiets(const struct cgroup *cgroup, short events)
{
    struct cgroup_usage usage;
    for (int looks = 0; looks < 100; looks++) {
        cgroup_usage(cgroup, &usage);
        if (!comes(cgroup->memory_events, events, 20))
            return true;
    }
    return false;
}

static void test_memory(void)
{
    struct cgroup cgroup;
    struct cgroup_usage usage;
    if (make(&cgroup, 5, MEMORY_LIMIT, PROCESSES) < 0)
        return;
    short events = cgroup.kind == CGROUP_V2 ? POLLPRI : POLLIN;
    ok(wait_for(start(&cgroup, touch_within)) == 0, "who keeps within the memory ends by itself");
    cgroup_usage(&cgroup, &usage);
    ok(usage.oom_kills == 0 && is_quiet(cgroup.memory_events, events), "and nothing is told");
    if (usage.memory_peak == 0 && faccessat(cgroup.folders[0], "memory.peak", F_OK, 0) < 0)
        skip("the peak of its memory is known: not by this kernel");
    else
        ok(usage.memory_peak >= MEMORY_LIMIT / 2 && usage.memory_peak <= MEMORY_LIMIT,
           "the peak of its memory is known");
    pid_t pid = start(&cgroup, touch_beyond);
    ok(comes(cgroup.memory_events, events, PATIENCE_MS), "memory that runs out is told");
    ok(wait_for(pid) == SIGKILL, "the kernel kills who wants more");
    cgroup_usage(&cgroup, &usage);
    ok(usage.oom_kills >= 1, "and counts it");
    ok(quiets(&cgroup, events), "looking at it quiets what told it");
    cgroup_release(&cgroup);
}

/* Whoever is told looks at once, while the kernel may still be choosing whom to kill. */
static void test_prompt(void)
{
    struct cgroup cgroup;
    struct cgroup_usage usage = {.oom_kills = 0};
    bool knew = true;
    for (int i = 0; i < 5 && knew; i++) {
        if (make(&cgroup, 6, MEMORY_LIMIT, PROCESSES) < 0)
            return;
        pid_t pid = start(&cgroup, touch_beyond);
        for (int woken = 0; woken < 1000 && usage.oom_kills == 0; woken++) {
            knew = comes(cgroup.memory_events, cgroup.kind == CGROUP_V2 ? POLLPRI : POLLIN,
                         PATIENCE_MS);
            cgroup_usage(&cgroup, &usage);
        }
        knew = knew && usage.oom_kills > 0;
        usage.oom_kills = 0;
        (void) wait_for(pid);
        cgroup_release(&cgroup);
    }
    ok(knew, "whoever is told that memory ran out sees it in the usage");
}

static void test_processes(void)
{
    struct cgroup cgroup;
    struct cgroup_usage usage;
    if (make(&cgroup, 7, MEMORY_LIMIT, 2 * PROCESSES) < 0)
        return;
    ok(wait_for(start(&cgroup, fork_on)) == (2 * PROCESSES) << 8, "who may fork so often forks");
    cgroup_usage(&cgroup, &usage);
    ok(usage.forks_refused == 0 && is_quiet(cgroup.pids_events, POLLPRI),
       "and nothing is told or counted");
    cgroup_release(&cgroup);
    if (make(&cgroup, 8, MEMORY_LIMIT, PROCESSES) < 0)
        return;
    ok(wait_for(start(&cgroup, fork_on)) == PROCESSES << 8,
       "a fork past the limit is refused, and none before it");
    bool v2 = cgroup.kind == CGROUP_V2;
    if (v2)
        ok(comes(cgroup.pids_events, POLLPRI, PATIENCE_MS), "it is told");
    cgroup_usage(&cgroup, &usage);
    ok(usage.forks_refused == 1, "and counted");
    ok(is_quiet(cgroup.pids_events, POLLPRI), "looking at it quiets what told it");
    cgroup_release(&cgroup);
}

static void test_cpu(void)
{
    struct cgroup cgroup;
    struct cgroup_usage usage;
    if (make(&cgroup, 9, MEMORY_LIMIT, PROCESSES) < 0)
        return;
    ok(cgroup_cpu_ns(&cgroup) == 0, "a new one has used no CPU");
    ok(wait_for(start(&cgroup, burn_apart)) == 0 && cgroup_cpu_ns(&cgroup) >= 60 * NS_PER_MS,
       "CPU time counts that of processes nobody waited for");
    cgroup_usage(&cgroup, &usage);
    ok(usage.cpu_ns >= 60 * NS_PER_MS, "the whole usage says it, too");
    cgroup_release(&cgroup);
    ok(cgroup_cpu_ns(&cgroup) == 0, "of none it is nothing");
}

static void test_sweep(void)
{
    struct cgroup lives, busy;
    if (make(&lives, 10, MEMORY_LIMIT, PROCESSES) < 0 || make(&busy, 11, MEMORY_LIMIT, 1) < 0)
        return;
    int folders = folders_there(lives.parents, 10);
    pid_t sleeper = start(&busy, stop);
    ok(waitpid(sleeper, NULL, WUNTRACED) == sleeper, "somebody is in one");
    for (int i = 0; i < CGROUP_SLOTS; i++)
        if (busy.folders[i] >= 0)
            (void) flock(busy.folders[i], LOCK_UN); /* as if its run had died */
    pid_t killed = fork();
    if (killed == 0) {
        struct cgroup left;
        _exit(make(&left, 12, MEMORY_LIMIT, PROCESSES) < 0);
    }
    ok(wait_for(killed) == 0, "a run died and left its own");
    ok(mkdirat(lives.parents[0], "wasp-keeper", 0755) == 0, "somebody has a similar name");
    ok(cgroup_sweep(NEITHER) == 0, "a sweep of nothing sweeps nothing");
    ok(folders_there(lives.parents, 12) == folders && cgroup_sweep(0) >= hierarchies(&lives) &&
           folders_there(lives.parents, 12) == 0,
       "a sweep removes what the dead run left");
    ok(folders_there(lives.parents, 10) == folders, "an empty one that is held stays");
    ok(folders_there(lives.parents, 11) == folders, "one with a process in it stays");
    ok(unlinkat(lives.parents[0], "wasp-keeper", AT_REMOVEDIR) == 0, "another's stays");
    cgroup_release(&lives);
    cgroup_release(&busy);
    (void) wait_for(sleeper);
}

/* The lock is all that keeps a sweep from taking an empty one before its run is in it. */
static void test_sweeps_meanwhile(enum cgroup_kind kind)
{
    pid_t sweeper = fork();
    if (sweeper == 0)
        for (;;)
            (void) cgroup_sweep(0);
    bool all_fine = true;
    for (int i = 0; i < 50 && all_fine; i++) {
        struct cgroup cgroup;
        all_fine = make(&cgroup, 100 + i, MEMORY_LIMIT, PROCESSES) == 0 && cgroup.kind == kind &&
                   wait_for(start(&cgroup, burn_nothing)) == 0;
        cgroup_release(&cgroup);
    }
    ok(all_fine, "sweeps all the time take nothing from a run that begins");
    (void) kill(sweeper, SIGKILL);
    (void) wait_for(sweeper);
}

int main(int argc, char **argv)
{
    enum cgroup_kind kind = find_kind(argc, argv);
    if (kind == CGROUP_NONE)
        return done();
    test_limits();
    test_unlimited();
    test_entering();
    test_memory();
    test_prompt();
    test_processes();
    test_cpu();
    test_sweep();
    test_sweeps_meanwhile(kind);
    test_nothing_left();
    return done();
}
