#include <sys/syscall.h>
#include <unistd.h>

#include "cell/cell.h"

/*
 * Stops: seeing or signalling host processes, host sockets (abstract ones too), the host's network,
 * its SysV objects. The parent made all seven in the one clone3 that made us: it fails as a whole,
 * so being alive in full isolation with pid 1 means that they all stand. Only the pid can be
 * checked from here without /proc, and a parent that forgot the flags would show in it.
 */
int cell_check_namespaces(struct cell *cell, struct err *err)
{
    const uint32_t all = WALL_USER_NAMESPACE | WALL_MOUNT_NAMESPACE | WALL_PID_NAMESPACE |
                         WALL_IPC_NAMESPACE | WALL_UTS_NAMESPACE | WALL_NET_NAMESPACE |
                         WALL_CGROUP_NAMESPACE;
    if (cell->plan.isolation != ISOLATION_FULL)
        return 0;
    if (syscall(SYS_getpid) != 1 && !cell_without(cell, WALL_PID_NAMESPACE))
        return err_set(err, ERR_WALL, "the cell is not the first process of its own pid namespace");
    for (uint32_t wall = 1; wall <= all; wall <<= 1)
        if ((wall & all) && !cell_without(cell, wall))
            cell->walls |= wall;
    return 0;
}
