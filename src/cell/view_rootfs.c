#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mount.h"
#include "cell/view.h"

#define PLACE ".wasp/rootfs"

/* What the cell has of its own, and what a guest has no use for. */
static const char *const left_out[] = {".",    "..",    "proc",       "sys",  "dev",
                                       "run",  "tmp",   "home",       "code", "mnt",
                                       "boot", "media", "lost+found", ".wasp"};

static bool is_left_out(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(left_out); i++)
        if (strcmp(name, left_out[i]) == 0)
            return true;
    return false;
}

/* As clone_grant, for the tree: the path must still mean what the parent saw. */
static int open_tree_root(const struct plan_native *native, int *ret_fd, struct err *err)
{
    struct stat st;
    _cleanup_fd_ int dir = open(native->rootfs, O_PATH | O_DIRECTORY | O_CLOEXEC);

    if (dir < 0 || fstat(dir, &st) < 0)
        return err_sys(err, ERR_HOST, "cannot open the root file system '%s'", native->rootfs);
    if (st.st_dev != native->rootfs_dev || st.st_ino != native->rootfs_ino)
        return err_set(err, ERR_DENIED,
                       "the root file system '%s' was replaced while the run started",
                       native->rootfs);
    return mount_detach(dir, native->rootfs, MOUNT_TAME | MOUNT_ATTR_RDONLY, -1, ret_fd, err);
}

int view_take_rootfs(struct view *view, struct err *err)
{
    struct cell *cell = view->cell;

    if (cell->plan.native.rootfs[0] == '\0')
        return 0;
    if (view_make_dir(view, PLACE, err) < 0)
        return -1;
    if (cell->rootfs >= 0)
        return 0; /* the parent was root and made the mount */
    return open_tree_root(&cell->plan.native, &cell->rootfs, err);
}

static int take_dir(struct view *view, int tree, const char *name, struct err *err)
{
    const char *kept = strdup(name); /* lives as long as the cell */

    if (kept == NULL)
        return err_no_memory(err);
    int mount = mount_clone(tree, name);
    if (mount < 0)
        return err_sys(err, ERR_WALL, "cannot make a mount of '/%s' of the root file system", name);
    if (view_make_dir(view, name, err) < 0 || view_add(&view->system, mount, kept, err) < 0)
        return -1;
    return view_allow(view->cell, mount, RIGHT_SYSTEM, kept, err);
}

/* Files directly in the root of a tree are nobody's: they are left out. */
static int take_entry(struct view *view, int tree, const char *name, struct err *err)
{
    char target[PATH_MAX];
    struct stat st;
    ssize_t len = readlinkat(tree, name, target, sizeof(target) - 1);

    if (len < 0 && fstatat(tree, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return err_sys(err, ERR_HOST, "cannot look at '/%s' of the root file system", name);
    if (len < 0)
        return S_ISDIR(st.st_mode) ? take_dir(view, tree, name, err) : 0;
    target[len] = '\0';
    if (symlinkat(target, view->root, name) < 0)
        return err_sys(err, ERR_WALL, "cannot make the link '/%s' in the cell's root", name);
    return 0;
}

static int take_entries(struct view *view, int tree, struct err *err)
{
    int fd = openat(tree, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;
    int rc = 0;

    if (dir == NULL)
        return err_sys(err, ERR_HOST, "cannot read the root file system");
    while (rc == 0 && (entry = readdir(dir)) != NULL)
        if (!is_left_out(entry->d_name))
            rc = take_entry(view, tree, entry->d_name, err);
    (void) closedir(dir); /* only read from */
    return rc;
}

/*
 * The tree is hung up for the moment: before 6.15 a mount can be cloned only where it is mounted.
 * What the guest sees are clones of what is in it, beside the cell's own.
 */
int view_enter_rootfs(struct view *view, struct err *err)
{
    int tree = view->cell->rootfs;

    if (tree < 0)
        return 0;
    if (mount_attach(tree, view->root, PLACE) < 0)
        return err_sys(err, ERR_WALL, "cannot hang up the root file system");
    if (take_entries(view, tree, err) < 0)
        return -1;
    if (umount2(PLACE, MNT_DETACH) < 0) /* relative to the root, where we stand */
        return err_sys(err, ERR_WALL, "cannot take down the root file system");
    return 0;
}
