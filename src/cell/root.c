#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mount.h"
#include "cell/cell.h"

/*
 * Stops: a grant that was swapped between the parent's look and ours (CVE-2021-30465), and a
 * directory descriptor that still lies in the host's mount, from which `..` leads to the host's
 * /etc. The parent recorded device and inode; what the path means now, in our own mount namespace,
 * must be the same directory.
 */
static int clone_grant(const struct plan_grant *grant, int *ret_fd, struct err *err)
{
    _cleanup_fd_ int dir = open(grant->host, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return err_sys(err, ERR_HOST, "cannot open the granted directory '%s'", grant->host);
    struct stat st;
    if (fstat(dir, &st) < 0)
        return err_sys(err, ERR_HOST, "cannot stat the granted directory '%s'", grant->host);
    if (st.st_dev != grant->dev || st.st_ino != grant->ino)
        return err_set(err, ERR_DENIED,
                       "the granted directory '%s' was replaced while the run started",
                       grant->host);
    return mount_detach(dir, grant->host, grant->access == ACCESS_RO, -1, ret_fd, err);
}

static int clone_grants(struct cell *cell, struct err *err)
{
    for (size_t i = 0; i < cell->plan.n_grants; i++)
        if (clone_grant(&cell->plan.grants[i], &cell->grants[i], err) < 0)
            return -1;
    return 0;
}

/* An empty, read-only tmpfs: nothing to find, nothing to fill. */
static int make_empty_mount(int *ret_fd, struct err *err)
{
    _cleanup_fd_ int context = (int) syscall(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC);
    if (context < 0)
        return err_sys(err, ERR_WALL, "cannot open a tmpfs for the empty root");
    if (syscall(SYS_fsconfig, context, FSCONFIG_SET_STRING, "mode", "0555", 0) < 0 ||
        syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
        return err_sys(err, ERR_WALL, "cannot configure the empty root");
    int fd =
        (int) syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC,
                      MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
    if (fd < 0)
        return err_sys(err, ERR_WALL, "cannot mount the empty root");
    *ret_fd = fd;
    return 0;
}

/*
 * Stops: every path of the host. The old root is not hidden under the new one but detached: after
 * this there is no mount of the host left in the namespace. Our copies of the host's mounts are
 * slaves (a new user namespace makes them so), so the host never sees it.
 */
static int leave_host_root(int empty, struct err *err)
{
    if (syscall(SYS_move_mount, empty, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH) < 0)
        return err_sys(err, ERR_WALL, "cannot place the empty root");
    if (fchdir(empty) < 0)
        return err_sys(err, ERR_WALL, "cannot enter the empty root");
    if (syscall(SYS_pivot_root, ".", ".") < 0)
        return err_sys(err, ERR_WALL, "cannot pivot into the empty root");
    if (umount2(".", MNT_DETACH) < 0)
        return err_sys(err, ERR_WALL, "cannot detach the host's root");
    if (chdir("/") < 0)
        return err_sys(err, ERR_WALL, "cannot change to the new root");
    return 0;
}

int cell_enter_root(struct cell *cell, struct err *err)
{
    if (cell->plan.isolation != ISOLATION_FULL)
        return 0; /* the landlock rung keeps the host's tree and is open about it */
    if (cell->plan.identity == IDENTITY_USER && clone_grants(cell, err) < 0)
        return -1;
    if (cell_without(cell, WALL_EMPTY_ROOT))
        return 0;
    _cleanup_fd_ int empty = -1;
    if (make_empty_mount(&empty, err) < 0 || leave_host_root(empty, err) < 0)
        return -1;
    cell->walls |= WALL_EMPTY_ROOT;
    return 0;
}
