#include <errno.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cell/cell.h"

int cell_refuse_namespaces(struct err *err)
{
    bool forbidden = errno == EPERM || errno == EACCES;
    bool full = errno == ENOSPC || errno == EUSERS;
    (void) err_sys(err, ERR_WALL, "cannot make the namespaces of the cell");
    if (forbidden)
        return err_hint(err, "something forbids namespaces to wasp, such as AppArmor (sysctl "
                             "kernel.apparmor_restrict_unprivileged_userns=0) or an outer "
                             "container; there, ask for the weaker rung by name: --isolation "
                             "landlock");
    if (full)
        return err_hint(err, "raise the sysctls user.max_*_namespaces; where that is not yours to "
                             "do, ask for the weaker rung by name: --isolation landlock");
    return err_hint(err, "wasp needs mount, ipc, uts, net and cgroup namespaces of the kernel");
}

/*
 * Stops: seeing or signalling host processes, host sockets (abstract ones too), the host's network,
 * its SysV objects, its mounts. The parent made the user and pid namespace with the clone that made
 * us; the rest is made here, while it still looks for the code. One call: all of them or none.
 */
int cell_enter_namespaces(struct cell *cell, struct err *err)
{
    int flags = CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS;
    uint32_t walls = WALL_USER_NAMESPACE | WALL_PID_NAMESPACE | WALL_MOUNT_NAMESPACE |
                     WALL_IPC_NAMESPACE | WALL_UTS_NAMESPACE;
    /* a native cell makes the one when it is in its cgroup, the other beside its root */
    if (!cell_is_native) {
        flags |= CLONE_NEWCGROUP | CLONE_NEWNET;
        walls |= WALL_CGROUP_NAMESPACE | WALL_NET_NAMESPACE;
    }
    if (cell->isolation != ISOLATION_FULL)
        return 0;
    if (cell_without(cell, WALL_NET_NAMESPACE))
        flags &= ~CLONE_NEWNET;
    if (cell_without(cell, WALL_IPC_NAMESPACE))
        flags &= ~CLONE_NEWIPC;
    if (syscall(SYS_getpid) != 1 && !cell_without(cell, WALL_PID_NAMESPACE))
        return err_set(err, ERR_WALL, "the cell is not the first process of its own pid namespace");
    if (unshare(flags) < 0)
        return cell_refuse_namespaces(err);
    cell->walls |= walls;
    for (uint32_t wall = 1; wall <= walls; wall <<= 1)
        if (cell_without(cell, (enum tell_wall) wall))
            cell->walls &= ~wall;
    return 0;
}
