#include "base/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

int mount_detach(int dir, const char *name, bool read_only, int user_namespace, int *ret_fd,
                 struct err *err)
{
    _cleanup_fd_ int tree = (int) syscall(
        SYS_open_tree, dir, "", AT_EMPTY_PATH | AT_RECURSIVE | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
    if (tree < 0) {
        bool forbidden = errno == EPERM;
        (void) err_sys(err, ERR_WALL, "cannot make a detached mount of '%s'", name);
        if (forbidden)
            return err_hint(err, "mounts are forbidden to root here, as in a container without "
                                 "CAP_SYS_ADMIN: run wasp as an ordinary user, or ask for the "
                                 "weaker rung by name: --isolation landlock");
        return -1;
    }

    struct mount_attr attr = {
        .attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC,
    };
    if (read_only)
        attr.attr_set |= MOUNT_ATTR_RDONLY;
    if (user_namespace >= 0) {
        attr.attr_set |= MOUNT_ATTR_IDMAP;
        attr.userns_fd = (uint64_t) user_namespace;
    }
    if (syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof(attr)) <
        0) {
        bool no_idmap = errno == EINVAL && user_namespace >= 0;
        (void) err_sys(err, ERR_WALL, "cannot set the attributes of the mount of '%s'", name);
        if (no_idmap)
            return err_hint(err,
                            "a file system below '%s' cannot map owners: run wasp as an "
                            "ordinary user, or grant a directory on another file system",
                            name);
        return -1;
    }
    *ret_fd = take_fd(&tree);
    return 0;
}
