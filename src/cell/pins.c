/*
 * Protected names that are there when the run starts are held by a mount of their own. The kernel
 * refuses (EBUSY) to rename or remove what something is mounted on, and what is mounted there is
 * read-only. Each directory above gets a mount too, or it could be moved away with all in it and
 * another be put in its place. Nothing is written on the host: a mount goes with its namespace.
 *
 * What it does not hold: a name that is not there yet, for a mount needs a place; and a name that
 * the host itself replaces meanwhile (`git config` writes a new file and renames it), for then the
 * kernel takes the mount away with the old one. Both are reported after the run (run/protect.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/mount.h"
#include "cell/cell.h"

/*
 * Stops: a link that was put in the place since the parent looked. No component may be one, and
 * what the path means through the pins above it is what a guest will find.
 */
static int open_place(int mount, const char *path, int *ret_fd, struct err *err)
{
    int fd = fd_openat2(mount, path, O_PATH | O_NOFOLLOW, 0,
                        RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);

    if (fd < 0 && (errno == ELOOP || errno == EXDEV))
        return err_set(err, ERR_DENIED,
                       "the protected name '%s' became a symbolic link while the run started",
                       path);
    /* gone since the parent looked: if it comes back, that is reported like any new one */
    if (fd < 0 && errno != ENOENT && errno != ENOTDIR)
        return err_sys(err, ERR_WALL, "cannot open the protected name '%s'", path);
    *ret_fd = fd;
    return 0;
}

static int pin(int mount, const struct plan_pin *pin, int mask, struct err *err)
{
    _cleanup_fd_ int place = -1;

    if (open_place(mount, pin->path, &place, err) < 0)
        return -1;
    if (place < 0)
        return 0;
    _cleanup_fd_ int tree = mount_clone(pin->kind == PIN_MASK ? mask : place, "");
    if (tree < 0)
        return err_sys(err, ERR_WALL, "cannot clone the protected name '%s'", pin->path);
    /* its submounts too: a protected directory is protected whole */
    if (pin->kind == PIN_READ_ONLY && mount_set(tree, true, MOUNT_ATTR_RDONLY, 0) < 0)
        return err_sys(err, ERR_WALL, "cannot make the protected name '%s' read-only", pin->path);
    if (mount_attach(tree, place, "") < 0)
        return err_sys(err, ERR_WALL, "cannot hold the protected name '%s'", pin->path);
    return 0;
}

int cell_pin(int mount, const struct plan_pin *pins, size_t n, uint32_t grant, int mask,
             struct err *err)
{
    for (size_t i = 0; i < n; i++)
        if (pins[i].grant == grant && pin(mount, &pins[i], mask, err) < 0)
            return -1;
    return 0;
}
