#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mount.h"
#include "cell/view.h"

/*
 * What of the host every native guest can read and run. A link is made anew, as it is on the host;
 * what is not there on this one is left out.
 */
static const struct source {
    const char *path; /* relative to / */
    bool is_file;
} sources[] = {
    {"usr", false},
    {"bin", false}, /* links to /usr on most hosts, directories on some */
    {"sbin", false},
    {"lib", false},
    {"lib32", false},
    {"lib64", false},
    {"libx32", false},
    {"etc/alternatives", false}, /* Debian: where links in /usr/bin lead */
    {"etc/ssl/certs", false},    /* the authorities that programs trust; their keys are beside */
    {"etc/pki", false},          /* the same on Fedora */
    {"etc/ld.so.cache", true},   /* where libraries are */
    {"etc/localtime", true},
};

static int make_link(const struct view *view, const char *path, char *target, size_t len,
                     struct err *err)
{
    target[len] = '\0';
    if (symlinkat(target, view->root, path) < 0)
        return err_sys(err, ERR_WALL, "cannot make the link '/%s' in the cell's root", path);
    return 0;
}

/* One of them, by a descriptor on the host's root. */
static int take_source(struct view *view, int host, const struct source *source, struct err *err)
{
    char target[PATH_MAX];
    ssize_t len = readlinkat(host, source->path, target, sizeof(target) - 1);

    if (len >= 0)
        return make_link(view, source->path, target, (size_t) len, err);
    if (errno == ENOENT || errno == ENOTDIR || errno == EACCES)
        return 0;
    int mount = mount_clone(host, source->path);
    if (mount < 0)
        return err_sys(err, ERR_WALL, "cannot make a mount of the host's '/%s'", source->path);
    if (view_add(&view->system, mount, source->path, err) < 0)
        return -1;
    if ((source->is_file ? view_make_file : view_make_dir)(view, source->path, err) < 0)
        return -1;
    if (strncmp(source->path, "etc/", 4) == 0)
        return 0; /* /etc is allowed as a whole: there is nothing else in it but ours */
    return view_allow(view->cell, mount, RIGHT_SYSTEM, source->path, err);
}

int view_take_system(struct view *view, struct err *err)
{
    if (view->cell->plan.native.rootfs[0] != '\0')
        return 0;
    _cleanup_fd_ int host = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (host < 0)
        return err_sys(err, ERR_WALL, "cannot open the host's root");
    if (view_make_dir(view, "etc/ssl", err) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_SIZE(sources); i++)
        if (take_source(view, host, &sources[i], err) < 0)
            return -1;
    return 0;
}

static int allow_host(struct cell *cell, const char *path, enum cell_right right, struct err *err)
{
    int fd = open(path, O_PATH | O_CLOEXEC);

    return fd < 0 ? 0 : view_allow(cell, fd, right, path, err); /* not there: nothing to allow */
}

/*
 * The landlock rung: the same places where they are on the host, and of its /etc what the view has
 * made up. There is no namespace, so Landlock is all that keeps the guest from the rest.
 */
int view_allow_host(struct cell *cell, struct err *err)
{
    static const char *const files[] = {"/etc/passwd", "/etc/group", "/etc/nsswitch.conf",
                                        "/etc/hosts", "/etc/ssl/openssl.cnf"};
    static const char *const devices[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random",
                                          "/dev/urandom"};
    char path[64] = "/";

    for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
        memcpy(path + 1, sources[i].path, strlen(sources[i].path) + 1);
        if (allow_host(cell, path, sources[i].is_file ? RIGHT_FILE : RIGHT_SYSTEM, err) < 0)
            return -1;
    }
    for (size_t i = 0; i < ARRAY_SIZE(files); i++)
        if (allow_host(cell, files[i], RIGHT_FILE, err) < 0)
            return -1;
    for (size_t i = 0; i < ARRAY_SIZE(devices); i++)
        if (allow_host(cell, devices[i], RIGHT_DEVICE, err) < 0)
            return -1;
    return 0;
}
