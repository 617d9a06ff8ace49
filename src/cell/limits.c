#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "cell/cell.h"

/*
 * What the runner needs for itself beside the guest's memory and the code: heap, tables, signal
 * stack.
 */
#define RUNNER_BYTES (64ULL << 20)
/* The runner's own frames below the guest's. */
#define RUNNER_STACK_BYTES (1ULL << 20)
/*
 * Standard streams, plan, tell, code, door, grants and the resolver's short-lived parents, beside
 * the guest's files.
 */
#define RUNNER_FILES 16
/* Cranelift's workers: one a core, with room. */
#define COMPILE_TASKS 512

static uint64_t add_capped(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/*
 * Private writable memory, not address space: the engine reserves 4 GiB and more that it never
 * touches. The code is mapped private and writable for a moment while it is loaded, so it counts as
 * well.
 */
static int limit_memory(const struct plan *plan, struct err *err)
{
    struct stat code;
    if (fstat(CELL_FD_CODE, &code) < 0)
        return err_sys(err, ERR_BACKEND, "cannot stat the code");
    uint64_t own = RUNNER_BYTES + (uint64_t) code.st_size;
    return cell_limit(RLIMIT_DATA, "memory", add_capped(plan->limits.value[LIMIT_MEMORY], own),
                      err);
}

/*
 * The parent's watch is exact and comes first; this holds if the parent is held up. In whole
 * seconds, rounded up.
 */
static int limit_cpu(const struct plan *plan, struct err *err)
{
    uint64_t ns = plan->limits.value[LIMIT_CPU];
    uint64_t seconds = ns == UNITS_UNLIMITED ? UINT64_MAX : ns / NS_PER_S + 2;
    return cell_limit(RLIMIT_CPU, "CPU time", seconds, err);
}

static int limit_tasks(const struct plan *plan, struct err *err)
{
    /*
     * without a user namespace the count is the caller's whole session: there the filter alone says
     * no
     */
    if (plan->identity == IDENTITY_CALLER)
        return 0;
    return cell_limit(RLIMIT_NPROC, "processes", plan->job == JOB_COMPILE ? COMPILE_TASKS : 1, err);
}

/*
 * Stops: using up the host. One run is one process, so limits on the process are limits on the run,
 * and no cgroup is needed for a wasm job.
 */
int cell_set_limits(struct cell *cell, struct err *err)
{
    const struct plan *plan = &cell->plan;
    const uint64_t *limit = plan->limits.value;

    /*
     * a write past the file limit must answer EFBIG, not kill the runner before it can say what
     * happened
     */
    if (signal(SIGXFSZ, SIG_IGN) == SIG_ERR || signal(SIGPIPE, SIG_IGN) == SIG_ERR)
        return err_sys(err, ERR_WALL, "cannot ignore SIGXFSZ and SIGPIPE");
    if (limit_memory(plan, err) < 0 || limit_cpu(plan, err) < 0 || limit_tasks(plan, err) < 0)
        return -1;
    if (cell_limit(RLIMIT_CORE, "core dumps", 0, err) < 0 ||
        cell_limit(RLIMIT_MEMLOCK, "locked memory", 0, err) < 0 ||
        cell_limit(RLIMIT_MSGQUEUE, "message queues", 0, err) < 0 ||
        cell_limit(RLIMIT_FSIZE, "file size", plan->job == JOB_COMPILE ? 0 : limit[LIMIT_FILE],
                   err) < 0 ||
        cell_limit(RLIMIT_STACK, "stack", add_capped(limit[LIMIT_STACK], RUNNER_STACK_BYTES), err) <
            0 ||
        cell_limit(
            RLIMIT_NOFILE, "open files",
            add_capped(limit[LIMIT_OPEN_FILES], RUNNER_FILES + CELL_FD_DOOR + 1 + plan->n_grants),
            err) < 0)
        return -1;
    cell->walls |= WALL_RLIMITS;
    return 0;
}
