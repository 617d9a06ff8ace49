/* The filters of native jobs; each is a whole one, and a run has one of them. */
#include "cell/cell.h"
#include "cell/filter.h"
#include "filters.h"

enum filter {
    FILTER_NATIVE, /* with a loopback of its own */
    FILTER_QUIET,  /* without: nothing connects */
    FILTER_RUNG,   /* no namespaces: what they would have walled is refused */
    FILTERS
};

/* Each of them once more where no cgroup counts memory. */
static const struct sock_fprog programs[FILTERS][2] = {
    [FILTER_NATIVE] = {PROGRAM(filter_native), PROGRAM(filter_native_loose)},
    [FILTER_QUIET] = {PROGRAM(filter_native_quiet), PROGRAM(filter_native_quiet_loose)},
    [FILTER_RUNG] = {PROGRAM(filter_native_rung), PROGRAM(filter_native_rung_loose)},
};

static enum filter choose(const struct cell *cell)
{
    if (cell->plan.isolation == ISOLATION_LANDLOCK)
        return FILTER_RUNG;
    return cell->plan.native.network == NETWORK_NONE ? FILTER_QUIET : FILTER_NATIVE;
}

/*
 * Stops: the doors of the kernel that no ordinary program uses (mounts, namespaces, io_uring, bpf,
 * keyrings, ptrace, perf, userfaultfd), typing into the caller's terminal, and sockets of the host
 * that lie in a granted directory. An allow-list: what it does not name answers ENOSYS, a call of a
 * foreign architecture kills.
 */
int cell_load_filter(struct cell *cell, struct err *err)
{
    if (!cell_without(cell, WALL_SECCOMP)) {
        if (filter_load(&programs[choose(cell)][!cell->in_cgroup], err) < 0)
            return -1;
        cell->walls |= WALL_SECCOMP;
    }
    /* a test that leaves it out: what the filter needed instead goes now (privileges.c) */
    return cell_without(cell, WALL_NO_NEW_PRIVS) ? cell_empty_capabilities(err) : 0;
}
