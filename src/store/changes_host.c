#include "store/changes_host.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"

/* A rename or a symlink put in its way makes a walk fail, never lead elsewhere. */
#define RESOLVE_PLAIN \
    (RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV)

/* ---- where ----------------------------------------------------------------------------------- */

void changes_place_forget(struct changes_place *place)
{
    cleanup_fd(&place->parent);
    place->parent = -1;
}

void changes_place_release(struct changes_place *place)
{
    changes_place_forget(place);
}

static bool is_kept(const struct changes_place *place, const char *path, size_t len)
{
    return place->parent >= 0 && strlen(place->parent_path) == len &&
           memcmp(place->parent_path, path, len) == 0;
}

int changes_place_enter(struct changes_place *place, const char *path, int *ret_parent,
                        const char **ret_name)
{
    const char *slash = strrchr(path, '/');
    size_t len = slash ? (size_t) (slash - path) : 0;

    *ret_name = slash ? slash + 1 : path;
    *ret_parent = place->root;
    if (!slash)
        return 0;
    if (len >= sizeof(place->parent_path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    if (!is_kept(place, path, len)) {
        changes_place_forget(place);
        memcpy(place->parent_path, path, len);
        place->parent_path[len] = '\0';
        place->parent = fd_openat2(place->root, place->parent_path,
                                   O_PATH | O_DIRECTORY | O_NOFOLLOW, 0, RESOLVE_PLAIN);
    }
    *ret_parent = place->parent;
    return place->parent < 0 ? -1 : 0;
}

/* ---- what ------------------------------------------------------------------------------------ */

/* Times that no int64 holds are the farthest it has: a file system may have any. */
static int64_t time_ns(const struct statx_timestamp *time)
{
    int64_t ns;

    if (__builtin_mul_overflow(time->tv_sec, (int64_t) NS_PER_S, &ns) ||
        __builtin_add_overflow(ns, (int64_t) time->tv_nsec, &ns))
        return time->tv_sec < 0 ? INT64_MIN : INT64_MAX;
    return ns;
}

static enum change_type type_of(unsigned mode)
{
    switch (mode & S_IFMT) {
    case S_IFREG:
        return CHANGE_FILE;
    case S_IFDIR:
        return CHANGE_DIRECTORY;
    case S_IFLNK:
        return CHANGE_SYMLINK;
    case S_IFIFO:
        return CHANGE_FIFO;
    case S_IFSOCK:
        return CHANGE_SOCKET;
    default:
        return CHANGE_DEVICE;
    }
}

int changes_look(int parent, const char *name, struct change_host *ret_host)
{
    struct statx stx;

    *ret_host = (struct change_host){.there = false};
    if (statx(parent, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_BASIC_STATS, &stx) < 0)
        return errno == ENOENT ? 0 : -1;
    *ret_host = (struct change_host){
        .there = true,
        .type = type_of(stx.stx_mode),
        .mode = stx.stx_mode & 07777U,
        .dev = makedev(stx.stx_dev_major, stx.stx_dev_minor),
        .ino = stx.stx_ino,
        .size = stx.stx_size,
        .mtime_ns = time_ns(&stx.stx_mtime),
        .ctime_ns = time_ns(&stx.stx_ctime),
        .is_linked = stx.stx_nlink > 1,
    };
    if (!(stx.stx_attributes & STATX_ATTR_MOUNT_ROOT))
        return 0;
    errno = EXDEV;
    return -1;
}

bool changes_is_same(const struct change_host *a, const struct change_host *b, bool strictly)
{
    return a->there == b->there && a->type == b->type && a->dev == b->dev && a->ino == b->ino &&
           a->mode == b->mode && a->size == b->size && a->mtime_ns == b->mtime_ns &&
           (!strictly || a->ctime_ns == b->ctime_ns);
}

int changes_open_file(int parent, const char *name)
{
    _cleanup_fd_ int fd =
        openat(parent, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return -1;
    if (!S_ISREG(st.st_mode)) {
        errno = ELOOP; /* it was one a moment ago */
        return -1;
    }
    return take_fd(&fd);
}

int changes_read_link(int parent, const char *name, char ret_target[CHANGES_PATH_SIZE])
{
    ssize_t len = readlinkat(parent, name, ret_target, CHANGES_PATH_SIZE);

    if (len < 0)
        return -1;
    if (len == CHANGES_PATH_SIZE || len == 0) {
        errno = ENAMETOOLONG;
        return -1;
    }
    ret_target[len] = '\0';
    return 0;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

int changes_compare(int a, int b, bool *ret_equal)
{
    char from_a[16384], from_b[16384];
    struct stat st_a, st_b;
    off_t at = 0;

    if (fstat(a, &st_a) < 0 || fstat(b, &st_b) < 0)
        return -1;
    *ret_equal = false;
    if (st_a.st_size != st_b.st_size)
        return 0;
    if (lseek(a, 0, SEEK_SET) < 0 || lseek(b, 0, SEEK_SET) < 0)
        return -1;
    while (at < st_a.st_size) {
        ssize_t n = fd_read_full(a, from_a, sizeof(from_a));
        ssize_t m = fd_read_full(b, from_b, sizeof(from_b));
        if (n < 0 || m < 0)
            return -1;
        if (n != m || n == 0 || memcmp(from_a, from_b, (size_t) n) != 0)
            return 0; /* 0: both became shorter just now */
        at += n;
    }
    *ret_equal = true;
    return 0;
}

/* From `at` up to `end`, both with data. */
static int copy_data(int from, int to, off_t at, off_t end)
{
    if (lseek(to, at, SEEK_SET) < 0)
        return -1;
    while (at < end) {
        ssize_t n = sendfile(to, from, &at, (size_t) (end - at));
        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0)
            errno = EIO; /* it became shorter */
        if (n <= 0)
            return -1;
    }
    return 0;
}

int changes_copy(int from, int to, uint64_t size)
{
    off_t end = (off_t) size, hole;

    for (off_t at = 0; at < end; at = hole) {
        at = lseek(from, at, SEEK_DATA);
        if (at < 0 && errno == ENXIO)
            break; /* nothing but a hole from here on */
        hole = at < 0 ? -1 : lseek(from, at, SEEK_HOLE);
        if (hole < 0)
            return -1;
        if (hole > end)
            hole = end;
        if (copy_data(from, to, at, hole) < 0)
            return -1;
    }
    return ftruncate(to, end);
}

/* ---- the host's directories of a set --------------------------------------------------------- */

static int open_host(const struct changes_dir *dir, int *ret_fd, struct err *err)
{
    /* the owner's own symlink is followed; what it leads to must be what it was */
    _cleanup_fd_ int fd = open(dir->host, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return err_sys(err, ERR_HOST, "cannot open the directory '%s'", dir->host);
    if (st.st_dev != dir->dev || st.st_ino != dir->ino) {
        (void) err_set(err, ERR_DENIED, /* -1, as below */
                       "the directory '%s' is not the one that the run saw", dir->host);
        return err_hint(err, "put that one back in its place, or discard the changes");
    }
    *ret_fd = take_fd(&fd);
    return 0;
}

int changes_hosts_open(const struct changes *changes, struct changes_hosts *ret_hosts,
                       struct err *err)
{
    ret_hosts->count = 0;
    ret_hosts->place.root = ret_hosts->place.parent = -1;
    for (size_t i = 0; i < changes->n_dirs; i++) {
        if (open_host(&changes->dirs[i], &ret_hosts->fds[i], err) < 0)
            return -1;
        ret_hosts->count++;
    }
    return 0;
}

void changes_hosts_release(struct changes_hosts *hosts)
{
    for (size_t i = 0; i < hosts->count; i++)
        cleanup_fd(&hosts->fds[i]);
    if (hosts->count > 0)
        changes_place_forget(&hosts->place);
    hosts->count = 0;
}

int changes_hosts_enter(struct changes_hosts *hosts, const struct change *change, int *ret_parent,
                        const char **ret_name)
{
    if (hosts->place.root != hosts->fds[change->dir]) {
        changes_place_forget(&hosts->place);
        hosts->place.root = hosts->fds[change->dir];
    }
    return changes_place_enter(&hosts->place, change->path, ret_parent, ret_name);
}

void changes_temp_name(const char *run_id, const struct change *change,
                       char ret_name[CHANGES_TEMP_SIZE])
{
    (void) snprintf(ret_name, CHANGES_TEMP_SIZE, CHANGES_TEMP_PREFIX "%s-%" PRIu64, run_id,
                    change->number); /* fits */
}

void changes_host_clean(struct changes_hosts *hosts, const char *run_id,
                        const struct change *change)
{
    char temp[CHANGES_TEMP_SIZE];
    const char *name;
    int parent;

    if (change->kind == CHANGE_DELETED || change->type == CHANGE_DIRECTORY ||
        changes_hosts_enter(hosts, change, &parent, &name) < 0)
        return;
    changes_temp_name(run_id, change, temp);
    (void) unlinkat(parent, temp, 0); /* there is none, as a rule */
}
