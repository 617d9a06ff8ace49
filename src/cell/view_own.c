#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/mount.h"
#include "cell/terminal.h"
#include "cell/view.h"

/* ---- texts ----------------------------------------------------------------------------------- */

static const struct text {
    const char *path, *text;
} texts[] = {
    {"etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\nservices: files\n"},
    {"etc/hosts", "127.0.0.1 localhost wasp\n::1 localhost\n"},
};

static int write_text(const struct view *view, const char *path, const char *text, size_t len,
                      struct err *err)
{
    _cleanup_fd_ int fd =
        openat(view->root, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0444);
    if (fd < 0 || fd_write_all(fd, text, len) < 0)
        return err_sys(err, ERR_WALL, "cannot write '/%s' of the cell's root", path);
    return 0;
}

/* Two users: the guest, and everybody whom its user namespace does not know. */
static int write_users(const struct view *view, struct err *err)
{
    const struct plan *plan = &view->cell->plan;
    char passwd[256], group[128];
    int passwd_len = snprintf(passwd, sizeof(passwd),
                              "wasp:x:%u:%u:wasp:" CELL_HOME ":/bin/sh\n"
                              "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
                              plan->uid, plan->gid);
    int group_len =
        snprintf(group, sizeof(group), "wasp:x:%u:\nnogroup:x:65534:\n", plan->gid); /* both fit */

    if (write_text(view, "etc/passwd", passwd, (size_t) passwd_len, err) < 0)
        return -1;
    return write_text(view, "etc/group", group, (size_t) group_len, err);
}

static int allow_dir(const struct view *view, const char *path, enum cell_right right,
                     struct err *err)
{
    int fd = openat(view->root, path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return err_sys(err, ERR_WALL, "cannot open '/%s' of the cell's root", path);
    return view_allow(view->cell, fd, right, path, err);
}

static int write_source(const struct view *view, struct err *err)
{
    const struct plan_native *native = &view->cell->plan.native;
    const char *name = native->source_name;

    if (name[0] == '\0')
        return 0;
    if (view_make_dir(view, "code", err) < 0 || allow_dir(view, "code", RIGHT_READ, err) < 0)
        return -1;
    return write_text(view, name + strspn(name, "/"), native->source, strlen(native->source), err);
}

int view_write_files(struct view *view, struct err *err)
{
    if (view->cell->plan.native.rootfs[0] == '\0') {
        if (view_make_dir(view, "etc", err) < 0 || allow_dir(view, "etc", RIGHT_SYSTEM, err) < 0)
            return -1;
        if (write_users(view, err) < 0)
            return -1;
        for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
            if (write_text(view, texts[i].path, texts[i].text, strlen(texts[i].text), err) < 0)
                return -1;
    }
    return write_source(view, err);
}

/* ---- devices --------------------------------------------------------------------------------- */

/* They give or swallow bytes, and nothing else. */
static const char *const devices[] = {"dev/null", "dev/zero", "dev/full", "dev/random",
                                      "dev/urandom"};

static const struct link {
    const char *path, *target;
} links[] = {
    {"dev/fd", "/proc/self/fd"},
    {"dev/stdin", "/proc/self/fd/0"},
    {"dev/stdout", "/proc/self/fd/1"},
    {"dev/stderr", "/proc/self/fd/2"},
};

/* A user namespace can make no device: the host's own node is mounted. It must be one. */
static int take_device(struct view *view, int host, const char *path, struct err *err)
{
    struct stat st;
    int mount = mount_clone(host, path);

    if (mount < 0 || fstat(mount, &st) < 0)
        return err_sys(err, ERR_WALL, "cannot make a mount of the host's '/%s'", path);
    if (!S_ISCHR(st.st_mode))
        return err_set(err, ERR_WALL, "the host's '/%s' is no device", path);
    /* a device is written to all the same; its mode, owner and times are the host's business */
    if (mount_set(mount, false, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, 0) < 0)
        return err_sys(err, ERR_WALL, "cannot make the mount of '/%s' read-only", path);
    if (view_make_file(view, path, err) < 0)
        return -1;
    return view_add(&view->own, mount, path, err);
}

int view_take_devices(struct view *view, struct err *err)
{
    _cleanup_fd_ int host = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

    if (host < 0)
        return err_sys(err, ERR_WALL, "cannot open the host's root");
    if (view_make_dir(view, "dev", err) < 0 || allow_dir(view, "dev", RIGHT_DEVICES, err) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_SIZE(devices); i++)
        if (take_device(view, host, devices[i], err) < 0)
            return -1;
    for (size_t i = 0; i < ARRAY_SIZE(links); i++)
        if (symlinkat(links[i].target, view->root, links[i].path) < 0)
            return err_sys(err, ERR_WALL, "cannot make '/%s' in the cell's root", links[i].path);
    if (!view->cell->plan.native.tty)
        return 0;
    if (take_device(view, host, "dev/tty", err) < 0)
        return -1;
    return terminal_make(view, err);
}

/* ---- places to write ------------------------------------------------------------------------- */

static const char *const scratch[] = {"tmp", "dev/shm", "home/wasp"};

/*
 * Mounts of directories of the one tmpfs, so that its size bounds them together. They are cloned
 * here, while the root can still be written to, and so stay writable.
 */
int view_take_scratch(struct view *view, struct err *err)
{
    if (view_make_dir(view, "home", err) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_SIZE(scratch); i++) {
        if (view_make_dir(view, scratch[i], err) < 0)
            return -1;
        int mount = mount_clone(view->root, scratch[i]);
        if (mount < 0)
            return err_sys(err, ERR_WALL, "cannot make a mount for '/%s'", scratch[i]);
        if (view_add(&view->own, mount, scratch[i], err) < 0 ||
            view_allow(view->cell, mount, RIGHT_WORK, scratch[i], err) < 0)
            return -1;
    }
    if (fchmodat(view->root, "tmp", 01777, 0) < 0 || fchmodat(view->root, "dev/shm", 01777, 0) < 0)
        return err_sys(err, ERR_WALL, "cannot open /tmp to all");
    return 0;
}
