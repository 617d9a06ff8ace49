#include "base/cleanup.h"
#include "base/mount.h"
#include "cell/cell.h"

/* An empty, read-only tmpfs: nothing to find, nothing to fill. */
int cell_enter_root(struct cell *cell, struct err *err)
{
    static const struct mount_option options[] = {{"mode", "0555"}};

    if (cell->plan.isolation != ISOLATION_FULL)
        return 0; /* the landlock rung keeps the host's tree and is open about it */
    if (cell->plan.identity == IDENTITY_USER && cell_clone_grants(cell, err) < 0)
        return -1;
    if (cell_without(cell, WALL_EMPTY_ROOT))
        return 0;
    _cleanup_fd_ int empty = mount_new("tmpfs", options, ARRAY_SIZE(options),
                                       MOUNT_TAME | MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOEXEC);
    if (empty < 0)
        return err_sys(err, ERR_WALL, "cannot make the empty root");
    if (cell_pivot(empty, err) < 0)
        return -1;
    cell->walls |= WALL_EMPTY_ROOT;
    return 0;
}
