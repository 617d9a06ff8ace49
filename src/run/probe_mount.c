/*
 * What a cell's root is made of: file systems of its own and clones of the host's mounts.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/mount.h"
#include "run/identity.h"
#include "run/probing.h"

/* The new mount API is whole since then. */
#define MOUNT_SINCE "5.12"

void finding_mount_failed(struct finding *finding, const struct scene *scene, const char *call)
{
    int number = errno;

    finding_set(finding, PROBE_MISSING, number, "%s", call);
    finding_advise(finding, host_why_capability(scene->host, number, MOUNT_SINCE), MOUNT_SINCE);
}

static int new_tmpfs(const char *size)
{
    const struct mount_option options[] = {{"mode", "0755"}, {"size", size}, {"nr_inodes", "64"}};

    return mount_new("tmpfs", options, ARRAY_SIZE(options), MOUNT_TAME);
}

/* ---- tmpfs ----------------------------------------------------------------------------------- */

static void fill_tmpfs(const struct scene *scene, struct finding *finding)
{
    static const char page[4096] = {1};

    if (birth_enter(scene, finding) < 0)
        return;
    _cleanup_fd_ int root = new_tmpfs("65536");
    if (root < 0) {
        finding_mount_failed(finding, scene, "a tmpfs (fsopen, fsconfig, fsmount)");
        return;
    }
    _cleanup_fd_ int fd = openat(root, "file", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) {
        finding_mount_failed(finding, scene, "making a file in a tmpfs");
        return;
    }
    /* one page more than all of it, whatever the size of a page */
    for (size_t written = 0; written <= 65536; written += sizeof(page))
        if (fd_write_all(fd, page, sizeof(page)) < 0)
            return; /* as it should be */
    finding_set(finding, PROBE_MISSING, 0, "a tmpfs took more than its size");
    finding_advise(finding, REMEDY_KERNEL, MOUNT_SINCE);
}

void probe_tmpfs(const struct scene *scene, struct finding *finding)
{
    born_in_user_namespace(scene, finding, fill_tmpfs);
}

/* ---- clones of the host's mounts ------------------------------------------------------------- */

/* Of the root, the one directory that is always there. */
static void clone_root(const struct scene *scene, struct finding *finding)
{
    if (birth_enter(scene, finding) < 0)
        return;
    _cleanup_fd_ int clone = mount_clone(AT_FDCWD, "/");
    if (clone < 0)
        finding_mount_failed(finding, scene, "a clone of a mount (open_tree)");
    else if (mount_set(clone, true, MOUNT_TAME | MOUNT_ATTR_RDONLY, 0) < 0)
        finding_mount_failed(finding, scene, "making it read-only (mount_setattr)");
    else if (mount_attach(clone, AT_FDCWD, "/") < 0)
        finding_mount_failed(finding, scene, "putting it in its place (move_mount)");
}

void probe_mount_clones(const struct scene *scene, struct finding *finding)
{
    born_in_user_namespace(scene, finding, clone_root);
}

/* As the cell does it. */
static int pivot(const struct scene *scene, int root, struct finding *finding)
{
    if (mount_attach(root, AT_FDCWD, "/") == 0 && fchdir(root) == 0 &&
        syscall(SYS_pivot_root, ".", ".") == 0 && umount2(".", MNT_DETACH) == 0 && chdir("/") == 0)
        return 0;
    finding_mount_failed(finding, scene, "a root of its own (pivot_root)");
    return -1;
}

int birth_enter_root(const struct scene *scene, struct finding *finding)
{
    _cleanup_fd_ int root = new_tmpfs("1048576");

    if (root < 0) {
        finding_mount_failed(finding, scene, "a tmpfs");
        return -1;
    }
    return pivot(scene, root, finding);
}

static void leave_host(const struct scene *scene, struct finding *finding)
{
    struct stat before, after;

    if (birth_enter(scene, finding) < 0 || stat("/", &before) < 0 ||
        birth_enter_root(scene, finding) < 0)
        return;
    if (stat("/..", &after) < 0 ||
        (before.st_dev == after.st_dev && before.st_ino == after.st_ino)) {
        finding_set(finding, PROBE_MISSING, 0, "the host's root is still there");
        finding_advise(finding, REMEDY_KERNEL, MOUNT_SINCE);
    }
}

void probe_pivot_root(const struct scene *scene, struct finding *finding)
{
    born_in_user_namespace(scene, finding, leave_host);
}

/* ---- owners ---------------------------------------------------------------------------------- */

/* A clone of the directory's mount on which its owner appears as another: 0, or -1 and errno. */
static int map_owner(const char *path, uint32_t host_uid, struct err *err)
{
    _cleanup_(identity_maps_release) struct identity_maps maps = {.count = 0};
    struct mount_attr attr = {.attr_set = MOUNT_ATTR_IDMAP};
    struct stat st;
    int map;

    /* not what is mounted below it: that is for a grant to say */
    _cleanup_fd_ int tree =
        (int) syscall(SYS_open_tree, AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
    if (tree < 0 || fstat(tree, &st) < 0)
        return err_sys(err, ERR_HOST, "a clone of the mount of '%s'", path);
    if (identity_map(&maps, st.st_uid, st.st_gid, host_uid, &map, err) < 0)
        return -1;
    attr.userns_fd = (uint64_t) map;
    if (syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0)
        return err_sys(err, ERR_WALL, "mapping owners in '%s'", path);
    return 0;
}

void probe_idmap(const struct scene *scene, struct finding *finding)
{
    const char *const paths[] = {".", scene->home};
    enum identity identity;
    uint32_t host_uid = 0;
    int lock = -1; /* until the child ends */
    struct err err;

    if (identity_choose(ISOLATION_FULL, scene->places, &identity, &host_uid, &lock, &err) < 0) {
        finding_set(finding, PROBE_MISSING, 0, "%s", err.message);
        finding_advise(finding, REMEDY_UID_RANGE, NULL);
        return;
    }
    if (identity != IDENTITY_RANGE) {
        finding_set(finding, PROBE_NOT_NEEDED, 0, "for wasp started by root");
        return;
    }
    for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
        if (!paths[i] || map_owner(paths[i], host_uid, &err) == 0)
            continue;
        /* EINVAL: that file system cannot, but others may */
        bool is_local = err.errnum == EINVAL || err.errnum == ENOENT;
        enum remedy why = host_why_call(scene->host, err.errnum, MOUNT_SINCE);
        finding_set(finding, is_local ? PROBE_DEGRADED : PROBE_MISSING, 0, "%s", err.message);
        if (is_local)
            finding_advise(finding, REMEDY_IDMAP, paths[i]);
        else
            finding_advise(finding, why == REMEDY_FORBIDDEN ? REMEDY_ROOT_MOUNTS : why,
                           MOUNT_SINCE);
        return;
    }
}
