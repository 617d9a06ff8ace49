#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/mount.h"
#include "base/remedy.h"
#include "cell/view.h"

/*
 * What /proc shows of the host as a whole, or does to it. Most of it belongs to the host's root and
 * is closed to a guest by that alone; a mask does not depend on it. Writing is closed everywhere:
 * the mount is read-only.
 */
static const struct mask {
    const char *name;
    bool is_dir;
} masks[] = {
    {"acpi", true},           {"asound", true},         {"scsi", true},
    {"interrupts", false},    {"kcore", false},         {"key-users", false},
    {"keys", false},          {"latency_stats", false}, {"sched_debug", false},
    {"sysrq-trigger", false}, {"timer_list", false},
};

#define EMPTY ".wasp/empty"

static int refuse_proc(struct err *err)
{
    bool masked = errno == EPERM;

    (void) err_sys(err, ERR_WALL, "cannot make a /proc of the cell's own");
    return masked ? err_hint(err, "%s", remedy_text(REMEDY_PROC)) : -1;
}

/*
 * Stops: nested user namespaces, and with them most of the kernel that an ordinary user cannot
 * reach otherwise (CVE-2022-0185 and many more). The sysctl is this user namespace's own.
 */
static int forbid_nesting(int proc, struct cell *cell, struct err *err)
{
    if (cell_without(cell, WALL_NO_NESTING))
        return 0;
    _cleanup_fd_ int fd = openat(proc, "sys/user/max_user_namespaces", O_WRONLY | O_CLOEXEC);
    if (fd < 0 || fd_write_all(fd, "0", 1) < 0)
        return err_sys(err, ERR_WALL, "cannot forbid user namespaces inside the cell");
    cell->walls |= WALL_NO_NESTING;
    return 0;
}

int view_take_proc(struct view *view, struct err *err)
{
    struct cell *cell = view->cell;

    if (view_make_dir(view, "proc", err) < 0)
        return -1;
    if (cell->plan.native.proc == PROC_NONE) {
        _cleanup_fd_ int host = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (host >= 0 && forbid_nesting(host, cell, err) < 0 && err->errnum != EROFS)
            return -1;
        return 0; /* an outer container closed its sysctls: `enforced` lacks it, seccomp stays */
    }
    if (view_make_dir(view, EMPTY, err) < 0)
        return -1;
    view->empty = openat(view->root, EMPTY, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (view->empty < 0)
        return err_sys(err, ERR_WALL, "cannot open an empty directory");
    view->proc = mount_new("proc", NULL, 0, MOUNT_TAME | MOUNT_ATTR_NOEXEC);
    if (view->proc < 0)
        return refuse_proc(err);
    if (forbid_nesting(view->proc, cell, err) < 0)
        return -1;
    if (mount_set(view->proc, false, MOUNT_ATTR_RDONLY, 0) < 0)
        return err_sys(err, ERR_WALL, "cannot make /proc read-only");
    if (view_add(&view->own, view->proc, "proc", err) < 0)
        return -1;
    return view_allow(cell, view->proc, RIGHT_READ, "/proc", err);
}

/*
 * Sources are ours: a clone of the /dev/null that was checked, an empty directory of the root. What
 * is not there on this kernel leaves its cover to the next one.
 */
int view_mask_proc(struct view *view, struct err *err)
{
    int covers[2] = {-1, -1}; /* of a file, of a directory */

    if (view->proc < 0)
        return 0;
    for (size_t i = 0; i < ARRAY_SIZE(masks); i++) {
        int *cover = &covers[masks[i].is_dir];
        if (*cover < 0)
            *cover = masks[i].is_dir ? mount_clone(view->empty, "")
                                     : mount_clone(view->root, "dev/null");
        if (*cover < 0)
            return err_sys(err, ERR_WALL, "cannot make a mask for /proc");
        if (mount_attach(*cover, view->proc, masks[i].name) == 0)
            *cover = -1; /* it stays open until the program starts: one call less now */
        else if (errno != ENOENT)
            return err_sys(err, ERR_WALL, "cannot mask /proc/%s", masks[i].name);
    }
    return 0;
}
