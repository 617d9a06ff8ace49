#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/mount.h"
#include "cell/tell.h"
#include "cell/view.h"

/* ---- overlays -------------------------------------------------------------------------------- */

/* Where the layers lie, each overlay in a folder with its number. Names without a ':' or ','. */
enum layer { LOWER, UPPER, WORK, LAYERS };
#define LAYER_PATH_SIZE 32

static const char *const layer_names[LAYERS] = {"lower", "upper", "work"};

static int make_layers(const struct view *view, size_t grant, char paths[LAYERS][LAYER_PATH_SIZE],
                       struct err *err)
{
    (void) snprintf(paths[0], LAYER_PATH_SIZE, ".wasp/%zu", grant); /* fits, as below */
    if (view_make_dir(view, paths[0], err) < 0)
        return -1;
    for (size_t i = 0; i < LAYERS; i++) {
        (void) snprintf(paths[i], LAYER_PATH_SIZE, ".wasp/%zu/%s", grant,
                        layer_names[i]); /* fits */
        if (view_make_dir(view, paths[i], err) < 0)
            return -1;
    }
    return 0;
}

/* The guest sees the upper layer's mode at the root of its directory. */
static int copy_mode(const struct view *view, int lower, const char *upper, struct err *err)
{
    struct stat st;

    if (fstat(lower, &st) < 0 || fchmodat(view->root, upper, st.st_mode & 0777, 0) < 0)
        return err_sys(err, ERR_WALL, "cannot prepare the upper layer");
    return 0;
}

static int refuse_overlay(const char *host, struct err *err)
{
    (void) err_sys(err, ERR_WALL, "cannot make an overlay of '%s'", host);
    return err_hint(err, "overlays in a user namespace need Linux 6.6 or newer and a file system "
                         "that can be a lower layer: grant it with ':ro' or ':rw', or a directory "
                         "elsewhere; 'wasp doctor' says what this machine has");
}

/* The parent looks at the changes afterwards, through a mount that it can write to. */
static int hand_out_upper(const struct view *view, size_t grant, const char *upper, struct err *err)
{
    _cleanup_fd_ int mount = mount_clone(view->root, upper);

    if (mount < 0 || tell_handle(HANDLE_UPPER, (uint32_t) grant, mount) < 0)
        return err_sys(err, ERR_WALL, "cannot hand out the upper layer");
    return 0;
}

/*
 * Stops: changing anything of the directory on the host. The lower layer hangs in the root for the
 * moment only: an overlay takes no layers that are mounted nowhere before 6.15.
 */
static int make_overlay(struct view *view, size_t grant, struct err *err)
{
    struct cell *cell = view->cell;
    const char *host = cell->plan.grants[grant].host;
    char paths[LAYERS][LAYER_PATH_SIZE];
    const struct mount_option options[] = {{"lowerdir", paths[LOWER]},
                                           {"upperdir", paths[UPPER]},
                                           {"workdir", paths[WORK]},
                                           {"userxattr", NULL}};

    if (make_layers(view, grant, paths, err) < 0 ||
        copy_mode(view, cell->grants[grant], paths[UPPER], err) < 0 ||
        hand_out_upper(view, grant, paths[UPPER], err) < 0)
        return -1;
    if (mount_attach(cell->grants[grant], view->root, paths[LOWER]) < 0)
        return err_sys(err, ERR_WALL, "cannot hang up the lower layer");
    int overlay = mount_new("overlay", options, ARRAY_SIZE(options), MOUNT_TAME);
    if (overlay < 0)
        return refuse_overlay(host, err);
    if (umount2(paths[LOWER], MNT_DETACH) < 0)
        return err_sys(err, ERR_WALL, "cannot take down the lower layer");
    (void) close(cell->grants[grant]); /* only a path */
    cell->grants[grant] = overlay;
    return 0;
}

int view_make_overlays(struct view *view, struct err *err)
{
    const struct plan *plan = &view->cell->plan;

    for (size_t i = 0; i < plan->n_grants; i++)
        if (plan->grants[i].access == ACCESS_OVERLAY && make_overlay(view, i, err) < 0)
            return -1;
    /* places for what lies in the root itself; the others are made where they belong */
    for (size_t i = 0; i < plan->n_grants; i++)
        if (view_make_place(view, plan->grants[i].guest, err) < 0)
            return -1;
    /* the layers are nobody's business: no guest has the capability to pass this */
    if (fchmodat(view->root, ".wasp", 0, 0) < 0)
        return err_sys(err, ERR_WALL, "cannot close the folder of the layers");
    return 0;
}

/* ---- grants ---------------------------------------------------------------------------------- */

/*
 * A place is where a directory is already: one of ours, or one inside an earlier grant, where none
 * is made, for it would stay on the host. No link is followed: a guest before us may have made it.
 */
static int place_grant(const struct view *view, int mount, const struct plan_grant *grant,
                       struct err *err)
{
    const char *path = grant->guest + strspn(grant->guest, "/");
    _cleanup_fd_ int place = fd_openat2(view->root, path, O_PATH | O_DIRECTORY, 0,
                                        RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS);

    if (place >= 0 && mount_attach(mount, place, "") == 0)
        return 0;
    (void) err_sys(err, ERR_REQUEST, "cannot put the directory '%s' in its place '%s'", grant->host,
                   grant->guest);
    return err_hint(err, "a place inside another directory or inside the system must be there "
                         "already: make it, or name another guest path (HOST::GUEST)");
}

int view_place_grants(struct view *view, struct err *err)
{
    struct cell *cell = view->cell;
    const struct plan *plan = &cell->plan;
    _cleanup_fd_ int mask = openat(view->root, "dev/null", O_PATH | O_NOFOLLOW | O_CLOEXEC);

    if (mask < 0)
        return err_sys(err, ERR_WALL, "cannot open the cell's /dev/null");
    size_t n_pins = cell_without(cell, WALL_PINS) ? 0 : plan->n_pins;
    for (size_t i = 0; i < plan->n_grants; i++)
        if (place_grant(view, cell->grants[i], &plan->grants[i], err) < 0 ||
            cell_pin(cell->grants[i], plan->pins, n_pins, (uint32_t) i, mask, err) < 0)
            return -1;
    if (n_pins > 0)
        cell->walls |= WALL_PINS;
    return 0;
}
