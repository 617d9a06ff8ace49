#include <sched.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "cell/cell.h"

/* Not 0: with that a core_pattern that is a program would still be run, as root, on the host. */
#define NO_CORE_BYTES 1
/* The cell's own first process. */
#define INIT_PROCESSES 1
/* What the kernel's own count is above the cgroup's. */
#define CGROUP_FIRST 8

/*
 * The parent's watch is exact and comes first; this holds for each process if the parent is held
 * up.
 */
static uint64_t cpu_seconds(uint64_t ns)
{
    return ns == UNITS_UNLIMITED ? UINT64_MAX : ns / NS_PER_S + 2;
}

/*
 * Without a cgroup: private writable memory of each process, never the address space, which node
 * and others reserve by the gigabyte; the parent watches the sum.
 */
static int limit_memory(const struct cell *cell, struct err *err)
{
    if (cell->in_cgroup)
        return 0;
    return cell_limit(RLIMIT_DATA, "memory", cell->plan.limits.value[LIMIT_MEMORY], err);
}

/*
 * The kernel counts in the user namespace; without one the count is the caller's whole session. A
 * cgroup that counts too comes first: it tells how often it refused.
 */
static int limit_processes(struct cell *cell, struct err *err)
{
    uint64_t most = cell->plan.limits.value[LIMIT_PROCESSES] + INIT_PROCESSES;

    if (cell->plan.identity == IDENTITY_CALLER)
        return 0;
    if (cell_limit(RLIMIT_NPROC, "processes", cell->in_cgroup ? most + CGROUP_FIRST : most, err) <
        0)
        return -1;
    cell->walls |= WALL_NPROC;
    return 0;
}

/*
 * Made here and not with the other namespaces: now we are in the cgroup, and the guest sees that
 * one as the root.
 */
static int enter_cgroup_namespace(struct cell *cell, struct err *err)
{
    if (cell->plan.isolation != ISOLATION_FULL || cell_without(cell, WALL_CGROUP_NAMESPACE))
        return 0;
    if (unshare(CLONE_NEWCGROUP) < 0)
        return err_sys(err, ERR_WALL, "cannot make a cgroup namespace");
    cell->walls |= WALL_CGROUP_NAMESPACE;
    return 0;
}

/*
 * Stops: using up the host, process by process. What the run may use as a whole is held from
 * outside: by a cgroup, or by the parent's watch.
 */
int cell_set_limits(struct cell *cell, struct err *err)
{
    const uint64_t *limit = cell->plan.limits.value;

    if (cell_await_go(cell, err) < 0 || enter_cgroup_namespace(cell, err) < 0)
        return -1;
    if (cell_without(cell, WALL_RLIMITS))
        return 0;
    if (limit_memory(cell, err) < 0 || limit_processes(cell, err) < 0)
        return -1;
    if (cell_limit(RLIMIT_CPU, "CPU time", cpu_seconds(limit[LIMIT_CPU]), err) < 0 ||
        cell_limit(RLIMIT_CORE, "core dumps", NO_CORE_BYTES, err) < 0 ||
        cell_limit(RLIMIT_RTPRIO, "real-time priority", 0, err) < 0 ||
        cell_limit(RLIMIT_NICE, "niceness", 0, err) < 0 ||
        cell_limit(RLIMIT_FSIZE, "file size", limit[LIMIT_FILE], err) < 0)
        return -1;
    cell->walls |= WALL_RLIMITS;
    return 0;
}
