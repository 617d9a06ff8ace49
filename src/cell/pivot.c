#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mount.h"
#include "cell/cell.h"

/*
 * Stops: every path of the host. The old root is not hidden under the new one but detached: after
 * this there is no mount of the host left in the namespace. Our copies of the host's mounts are
 * slaves (a new user namespace makes them so), so the host never sees it.
 */
int cell_pivot(int root, struct err *err)
{
    if (mount_attach(root, AT_FDCWD, "/") < 0)
        return err_sys(err, ERR_WALL, "cannot place the cell's root");
    if (fchdir(root) < 0)
        return err_sys(err, ERR_WALL, "cannot enter the cell's root");
    if (syscall(SYS_pivot_root, ".", ".") < 0)
        return err_sys(err, ERR_WALL, "cannot pivot into the cell's root");
    if (umount2(".", MNT_DETACH) < 0)
        return err_sys(err, ERR_WALL, "cannot detach the host's root");
    if (chdir("/") < 0)
        return err_sys(err, ERR_WALL, "cannot change to the new root");
    return 0;
}
