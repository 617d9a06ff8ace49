#include "base/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

int mount_clone(int dir, const char *path)
{
    return (int) syscall(SYS_open_tree, dir, path,
                         AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW | AT_RECURSIVE | OPEN_TREE_CLONE |
                             OPEN_TREE_CLOEXEC);
}

int mount_attach(int mount, int dir, const char *path)
{
    unsigned int flags = MOVE_MOUNT_F_EMPTY_PATH;

    if (path[0] == '\0')
        flags |= MOVE_MOUNT_T_EMPTY_PATH;
    return (int) syscall(SYS_move_mount, mount, "", dir, path, flags);
}

static int set_attributes(int mount, bool recursive, const struct mount_attr *attr)
{
    unsigned int flags = AT_EMPTY_PATH | (recursive ? AT_RECURSIVE : 0);

    return (int) syscall(SYS_mount_setattr, mount, "", flags, attr, sizeof(*attr));
}

int mount_set(int mount, bool recursive, uint64_t set, uint64_t clear)
{
    struct mount_attr attr = {.attr_set = set, .attr_clr = clear};

    return set_attributes(mount, recursive, &attr);
}

int mount_new(const char *type, const struct mount_option *options, size_t n, uint64_t attributes)
{
    _cleanup_fd_ int context = (int) syscall(SYS_fsopen, type, FSOPEN_CLOEXEC);

    if (context < 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        unsigned int kind = options[i].value ? FSCONFIG_SET_STRING : FSCONFIG_SET_FLAG;
        if (syscall(SYS_fsconfig, context, kind, options[i].key, options[i].value, 0) < 0)
            return -1;
    }
    if (syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
        return -1;
    return (int) syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, attributes);
}

int mount_detach(int dir, const char *name, uint64_t attributes, int user_namespace, int *ret_fd,
                 struct err *err)
{
    _cleanup_fd_ int tree = mount_clone(dir, "");
    if (tree < 0) {
        bool forbidden = errno == EPERM;
        (void) err_sys(err, ERR_WALL, "cannot make a detached mount of '%s'", name);
        if (forbidden)
            return err_hint(err, "mounts are forbidden to root here, as in a container without "
                                 "CAP_SYS_ADMIN: run wasp as an ordinary user, or ask for the "
                                 "weaker rung by name: --isolation landlock");
        return -1;
    }

    struct mount_attr attr = {.attr_set = attributes};
    if (user_namespace >= 0) {
        attr.attr_set |= MOUNT_ATTR_IDMAP;
        attr.userns_fd = (uint64_t) user_namespace;
    }
    if (set_attributes(tree, true, &attr) < 0) {
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
