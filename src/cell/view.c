#include "cell/view.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/mount.h"

/* What lies in the tmpfs besides the guest's files: a few directories and small texts. */
#define OWN_BYTES ((uint64_t) 1 << 20)
/* An empty file costs the kernel about this much, and so counts as that. */
#define BYTES_PER_INODE 1024
#define LEAST_INODES 4096

/* ---- words for the stages -------------------------------------------------------------------- */

int view_add(struct view_parts *parts, int mount, const char *path, struct err *err)
{
    if (parts->count == VIEW_MAX_PARTS)
        return err_set(err, ERR_BACKEND, "the view has too many parts");
    parts->items[parts->count++] = (struct view_part){mount, path};
    return 0;
}

int view_attach(const struct view *view, const struct view_parts *parts, struct err *err)
{
    for (size_t i = 0; i < parts->count; i++)
        if (mount_attach(parts->items[i].mount, view->root, parts->items[i].path) < 0)
            return err_sys(err, ERR_WALL, "cannot put '/%s' in its place", parts->items[i].path);
    return 0;
}

int view_allow(struct cell *cell, int fd, enum cell_right right, const char *name, struct err *err)
{
    if (cell->n_places == CELL_MAX_PLACES)
        return err_set(err, ERR_BACKEND, "the view has too many places");
    cell->places[cell->n_places++] = (struct cell_place){fd, right, name};
    return 0;
}

/* A component at a time, never through a link: a link here can only be one of ours, to /usr. */
static int enter_or_make(int dir, const char *name)
{
    if (mkdirat(dir, name, 0755) < 0 && errno != EEXIST)
        return -1;
    return openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

int view_make_dir(const struct view *view, const char *path, struct err *err)
{
    if (mkdirat(view->root, path, 0755) < 0)
        return err_sys(err, ERR_WALL, "cannot make '/%s' in the cell's root", path);
    return 0;
}

int view_make_place(const struct view *view, const char *path, struct err *err)
{
    _cleanup_fd_ int dir = -1;
    const char *at = path;
    char name[256];

    for (at += strspn(at, "/"); *at != '\0'; at += strspn(at, "/")) {
        size_t len = strcspn(at, "/");
        if (len >= sizeof(name))
            return err_set(err, ERR_REQUEST, "a name in the path '%s' is too long", path);
        memcpy(name, at, len);
        name[len] = '\0';
        at += len;
        int next = enter_or_make(dir < 0 ? view->root : dir, name);
        if (next < 0) {
            (void) err_sys(err, ERR_REQUEST, "cannot make the place '%s' in the guest's view",
                           path);
            return err_hint(err, "what is granted can lie beside the system's directories and "
                                 "where a directory is already, but not behind a link or in a "
                                 "read-only tree: name another guest path (HOST::GUEST)");
        }
        cleanup_fd(&dir);
        dir = next;
    }
    return 0;
}

int view_make_file(const struct view *view, const char *path, struct err *err)
{
    _cleanup_fd_ int fd =
        openat(view->root, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0444);
    if (fd < 0)
        return err_sys(err, ERR_WALL, "cannot make '/%s' in the cell's root", path);
    return 0;
}

/* ---- the root -------------------------------------------------------------------------------- */

static int make_root(struct view *view, struct err *err)
{
    uint64_t bytes = view->cell->plan.limits.value[LIMIT_DISK];
    uint64_t inodes = bytes / BYTES_PER_INODE + LEAST_INODES;
    char size[24], count[24];
    const struct mount_option options[] = {{"mode", "0755"}, {"size", size}, {"nr_inodes", count}};

    if (bytes > UINT64_MAX - OWN_BYTES)
        return err_set(err, ERR_REQUEST, "a scratch of so many bytes is too large");
    (void) snprintf(size, sizeof(size), "%" PRIu64, bytes + OWN_BYTES); /* both fit */
    (void) snprintf(count, sizeof(count), "%" PRIu64, inodes);
    view->root = mount_new("tmpfs", options, ARRAY_SIZE(options), MOUNT_TAME);
    if (view->root < 0)
        return err_sys(err, ERR_WALL, "cannot make the tmpfs of the cell's root");
    if (view_make_dir(view, ".wasp", err) < 0) /* for what the guest does not see */
        return -1;
    return view_allow(view->cell, view->root, RIGHT_LIST, "/", err);
}

static int run_stages(struct view *view, view_stage *const *stages, size_t n, struct err *err)
{
    for (size_t i = 0; i < n; i++)
        if (stages[i](view, err) < 0)
            return -1;
    return 0;
}

/* The system, and with it the root, read-only in one call; what comes later stays as it is. */
static int close_root(struct view *view, struct err *err)
{
    if (view_attach(view, &view->system, err) < 0)
        return -1;
    if (mount_set(view->root, true, MOUNT_TAME | MOUNT_ATTR_RDONLY, 0) < 0)
        return err_sys(err, ERR_WALL, "cannot make the cell's root read-only");
    return 0;
}

static int build(struct view *view, struct err *err)
{
    static view_stage *const with_host[] = {view_write_files, view_take_system, view_take_rootfs,
                                            view_take_devices, view_take_proc};
    static view_stage *const without_host[] = {view_enter_rootfs, view_take_scratch,
                                               view_make_overlays};
    if (run_stages(view, with_host, ARRAY_SIZE(with_host), err) < 0 ||
        cell_pivot(view->root, err) < 0 ||
        run_stages(view, without_host, ARRAY_SIZE(without_host), err) < 0)
        return -1;
    if (close_root(view, err) < 0 || view_attach(view, &view->own, err) < 0)
        return -1;
    return view_mask_proc(view, err) < 0 ? -1 : view_place_grants(view, err);
}

/*
 * Stops: every file of the host but its programs and libraries, and writing to those; devices that
 * do more than give or swallow bytes; sockets in /run, secrets in /etc, /sys, other processes'
 * /proc; filling the host's disk.
 */
int cell_enter_root(struct cell *cell, struct err *err)
{
    struct view view = {.cell = cell, .root = -1, .proc = -1, .empty = -1};

    (void) umask(022); /* cannot fail */
    if (cell->plan.isolation != ISOLATION_FULL)
        return view_allow_host(cell, err);
    if (cell_begin_net(cell, err) < 0 ||
        (cell->plan.identity == IDENTITY_USER && cell_clone_grants(cell, err) < 0))
        return -1;
    if (cell_without(cell, WALL_OWN_ROOT))
        return view_allow_host(cell, err) < 0 ? -1 : cell_join_net(cell, err);
    if (sethostname("wasp", 4) < 0)
        return err_sys(err, ERR_WALL, "cannot give the cell a host name of its own");
    if (make_root(&view, err) < 0 || build(&view, err) < 0 || cell_join_net(cell, err) < 0 ||
        view_raise_loopback(&view, err) < 0)
        return -1;
    cell->walls |= WALL_OWN_ROOT | WALL_SCRATCH;
    return 0;
}
