#include <grp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cell/cell.h"

/*
 * Stops: acting with the rights of the host's root. Started by root, the run has a uid that owns
 * nothing; the parent has mapped exactly one uid and one gid, so setuid inside cannot reach
 * another. Raw calls: one thread, nothing to keep in step.
 */
static int take_own_uid(const struct plan *plan, struct err *err)
{
    if (setgroups(0, NULL) < 0)
        return err_sys(err, ERR_WALL, "cannot leave the groups of root");
    if (syscall(SYS_setresgid, plan->gid, plan->gid, plan->gid) < 0 ||
        syscall(SYS_setresuid, plan->uid, plan->uid, plan->uid) < 0)
        return err_sys(err, ERR_WALL, "cannot take uid %u", plan->uid);
    return 0;
}

/* A parent that died before the death signal was set sends none, but its end of the socket is
 * closed. */
static bool parent_is_gone(void)
{
    struct pollfd line = {.fd = CELL_FD_TELL};
    return poll(&line, 1, 0) > 0 && (line.revents & POLLHUP) != 0;
}

/* A change of uid clears the death signal, and exec makes a process dumpable: both again. */
static int bind_to_parent(struct err *err)
{
    if (prctl(PR_SET_PDEATHSIG, 9, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
        return err_sys(err, ERR_WALL, "cannot bind the cell to its parent");
    if (parent_is_gone())
        _exit(1); /* and there is nobody to tell */
    return 0;
}

int cell_take_identity(struct cell *cell, struct err *err)
{
    if (cell->plan.identity == IDENTITY_RANGE) {
        if (take_own_uid(&cell->plan, err) < 0)
            return -1;
        cell->walls |= WALL_UID_RANGE;
    }
    if (cell->plan.identity != IDENTITY_CALLER && getuid() != cell->plan.uid)
        return err_set(err, ERR_WALL, "the cell runs as uid %u, planned was %u", getuid(),
                       cell->plan.uid);
    return bind_to_parent(err);
}
