#include "broker/place.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "broker/guise.h"
#include "plan/protected.h"

#define MAX_DEPTH 256
/* Of a walk that somebody's rename disturbed. */
#define MAX_TRIES 16
#define RESOLVE_IN_SCOPE (RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS)

/*
 * File systems whose files are not on a disk but act: they kill processes, load code, show and
 * change the memory of wasp itself. None of them is a place for a guest's files.
 */
static const long kernel_file_systems[] = {
    PROC_SUPER_MAGIC,
    SYSFS_MAGIC,
    DEBUGFS_MAGIC,
    TRACEFS_MAGIC,
    SECURITYFS_MAGIC,
    SELINUX_MAGIC,
    SMACK_MAGIC,
    BPF_FS_MAGIC,
    PSTOREFS_MAGIC,
    EFIVARFS_MAGIC,
    BINFMTFS_MAGIC,
    CGROUP_SUPER_MAGIC,
    CGROUP2_SUPER_MAGIC,
    DEVPTS_SUPER_MAGIC,
    NSFS_MAGIC,
    XENFS_SUPER_MAGIC,
    0x62656570 /* configfs */,
    0x65735543 /* fuse's control */,
};

void place_release(struct place *place)
{
    cleanup_fd(&place->dir);
    cleanup_fd(&place->file);
}

int place_fail(struct call *call, const char *path, const char *doing)
{
    int number = errno;
    struct err *err = &call->err;

    switch (number) {
    case ENOENT:
    case ENOTDIR:
        return err_set(err, ERR_NOT_FOUND, "there is no '%s'", path);
    case EXDEV:
    case ELOOP:
        (void) call_deny(call, RULE_OUTSIDE, "'%s' leads out of the directory it begins in", path);
        return err_hint(err, "name the place itself, in a directory that the run may use");
    case EACCES:
    case EPERM:
    case EROFS:
        return err_sys(err, ERR_UNREADABLE, "'%s' cannot be %s", path, doing);
    case ENAMETOOLONG:
        return err_set(err, ERR_REQUEST, "'%s' is too long a path", path);
    case ENOSPC:
    case EDQUOT:
        return call_fail(call, "limit", "'%s' cannot be %s: the disk is full", path, doing);
    default:
        return err_sys(err, ERR_HOST, "'%s' cannot be %s", path, doing);
    }
}

/* ---- as text --------------------------------------------------------------------------------- */

/* "/a//b/./c" as "/a/b/c". ".." would mean another thing before and behind a link: refused. */
static int tidy(struct call *call, const char *path, const char **ret_path)
{
    char *text = arena_alloc(call->arena, strlen(path) + 2);
    size_t len = 0;

    call->target = path;
    if (text == NULL)
        return err_no_memory(&call->err);
    if (path[0] != '/')
        return err_set(&call->err, ERR_REQUEST,
                       "'%s' is relative: a path here is the host's, and absolute", path);
    for (const char *at = path; *at != '\0';) {
        at += strspn(at, "/");
        size_t n = strcspn(at, "/");
        if (n == 2 && memcmp(at, "..", 2) == 0)
            return err_set(&call->err, ERR_REQUEST, "'%s' has a '..' in it: write the path without",
                           path);
        if (n > 0 && !(n == 1 && at[0] == '.')) {
            text[len++] = '/';
            memcpy(text + len, at, n);
            len += n;
        }
        at += n;
    }
    if (len == 0 || len >= PATH_MAX)
        return err_set(&call->err, ERR_REQUEST, "'%s' is not the path of a file", path);
    *ret_path = text;
    return 0;
}

/* What is behind the root's path, or NULL if the path does not begin with it. */
static const char *behind(const char *root, const char *path)
{
    size_t len = strlen(root);

    while (len > 0 && root[len - 1] == '/')
        len--;
    if (strncmp(root, path, len) != 0 || path[len] != '/')
        return NULL;
    return path + len + 1;
}

/* The nearest root above it that does for what is wanted. */
static int choose_scope(struct call *call, bool writing, struct place *place, const char **ret_rest)
{
    const struct broker *broker = call->broker;
    size_t most = 0;
    bool is_read_only = false;

    for (size_t i = 0; i < broker->n_scopes; i++) {
        const struct broker_scope *scope = &broker->scopes[i];
        const char *rest = behind(scope->path, place->path);
        size_t len = strlen(scope->path);
        if (rest == NULL || (place->scope && len <= most))
            continue;
        if (writing && !scope->writable) {
            is_read_only = true;
            continue;
        }
        place->scope = scope;
        *ret_rest = rest;
        most = len;
    }
    if (place->scope)
        return 0;
    if (is_read_only) {
        (void) call_deny(call, RULE_READ_ONLY, "'%s' is in a directory for reading only",
                         place->path); /* -1, as below */
        return err_hint(&call->err, "whoever starts the run can grant it: --allow-dir PATH, or "
                                    "--capability fs_write=PATH");
    }
    (void) call_deny(call, RULE_OUTSIDE, "'%s' is in no directory that the run may use",
                     place->path); /* likewise */
    return err_hint(&call->err,
                    "whoever starts the run can grant it: --allow-dir PATH, or "
                    "--capability %s=PATH",
                    writing ? "fs_write" : "fs_read");
}

/* ---- as it is -------------------------------------------------------------------------------- */

/* Beneath the scope, with its owner's rights. -1 and call->err. */
static int find(struct call *call, const struct place *place, const char *rest, uint64_t flags,
                int *ret_fd)
{
    struct guise guise = GUISE_NONE;
    int fd = -1;

    if (guise_on(&guise, place->scope->fd, &call->err) < 0)
        return -1;
    for (int i = 0; i < MAX_TRIES && (i == 0 || errno == EAGAIN) && fd < 0; i++)
        fd = fd_openat2(place->scope->fd, rest, O_PATH | flags, 0, RESOLVE_IN_SCOPE);
    guise_off(&guise);
    if (fd < 0)
        return place_fail(call, place->path, "found");
    *ret_fd = fd;
    return 0;
}

static int real_of(struct call *call, int fd, char real[PATH_MAX])
{
    char link[32];

    (void) snprintf(link, sizeof(link), "/proc/self/fd/%d", fd); /* fits */
    ssize_t len = readlink(link, real, PATH_MAX - 1);
    if (len <= 0 || len >= PATH_MAX - 1 || real[0] != '/')
        return err_set(&call->err, ERR_HOST, "cannot see where the file lies");
    real[len] = '\0';
    return 0;
}

int place_check_kernel_file(struct call *call, int fd, const char *path)
{
    struct statfs fs;

    if (fstatfs(fd, &fs) < 0)
        return place_fail(call, path, "looked at");
    for (size_t i = 0; i < ARRAY_SIZE(kernel_file_systems); i++)
        if ((uint32_t) fs.f_type == (uint32_t) kernel_file_systems[i])
            return call_deny(call, RULE_KERNEL_FILE,
                             "'%s' is a file of the kernel's, not of a disk", path);
    return 0;
}

/* Whatever path leads there: by identity, at every step up to the root. */
static int check_own(struct call *call, int dir, const char *path)
{
    const struct broker *broker = call->broker;
    char up[3 * MAX_DEPTH + 2] = ".";
    struct stat st, below = {.st_ino = 0};

    for (size_t len = 1; len + 3 < sizeof(up); len += 3) {
        if (fstatat(dir, up, &st, 0) < 0)
            return place_fail(call, path, "looked at");
        for (size_t i = 0; i < broker->n_own; i++)
            if (broker->own[i].dev == st.st_dev && broker->own[i].ino == st.st_ino)
                return call_deny(call, RULE_OWN_FOLDER, "'%s' is in one of wasp's own folders",
                                 path);
        if (st.st_dev == below.st_dev && st.st_ino == below.st_ino)
            return 0; /* the root is its own parent */
        below = st;
        memcpy(up + len, "/..", 4);
    }
    return err_set(&call->err, ERR_REQUEST, "'%s' lies too deep", path);
}

static int check_kind(struct call *call, const struct stat *st, const char *path)
{
    if (S_ISREG(st->st_mode))
        return 0;
    if (S_ISDIR(st->st_mode))
        return err_set(&call->err, ERR_REQUEST, "'%s' is a directory", path);
    if (S_ISLNK(st->st_mode)) {
        (void) call_deny(call, RULE_SPECIAL, "'%s' is a link, and writing follows none",
                         path); /* always -1 */
        return err_hint(&call->err, "write to the file that it leads to, by its own path");
    }
    return call_deny(call, RULE_SPECIAL, "'%s' is not a regular file", path);
}

/* The directory that a file is in, of which only the kernel's word for its place is known. */
static int find_parent(struct call *call, struct place *place)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(place->real, '/');
    size_t len = (size_t) (slash - place->real) + 1; /* with the slash, for "/name" */
    struct stat st;

    memcpy(folder, place->real, len);
    folder[len] = '\0';
    place->name = slash + 1;
    place->dir = fd_openat2(AT_FDCWD, folder, O_PATH | O_DIRECTORY, 0, RESOLVE_NO_SYMLINKS);
    if (place->dir >= 0 && fstatat(place->dir, place->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        st.st_dev == place->st.st_dev && st.st_ino == place->st.st_ino)
        return 0;
    return err_set(&call->err, ERR_HOST, "'%s' was moved or removed meanwhile", place->path);
}

int place_to_read(struct call *call, const char *path, struct place *place)
{
    const char *rest = "";

    if (tidy(call, path, &place->path) < 0 || choose_scope(call, false, place, &rest) < 0 ||
        find(call, place, rest, 0, &place->file) < 0)
        return -1;
    if (fstat(place->file, &place->st) < 0)
        return place_fail(call, place->path, "looked at");
    place->exists = true;
    if (check_kind(call, &place->st, place->path) < 0 ||
        place_check_kernel_file(call, place->file, place->path) < 0 ||
        real_of(call, place->file, place->real) < 0 || find_parent(call, place) < 0)
        return -1;
    return check_own(call, place->dir, place->path);
}

/* ---- for writing ----------------------------------------------------------------------------- */

static int check_protected(struct call *call, const struct place *place)
{
    const char *const *unprotected = call->broker->unprotected;
    char root[PATH_MAX];

    if (real_of(call, place->scope->fd, root) < 0)
        return -1;
    const char *rest = behind(root, place->real);
    if (rest == NULL)
        return err_set(&call->err, ERR_HOST, "'%s' was moved meanwhile", place->path);
    uint8_t at = protected_walk(protected_root(root, unprotected), rest, unprotected);
    const char *rule = protected_at_move(at);
    if (rule == NULL)
        return 0;
    (void) call_deny(call, RULE_PROTECTED, "'%s' is protected ('%s'): the host may run it later",
                     place->path, rule); /* -1, as below */
    return err_hint(&call->err, "whoever starts the run can allow it: --unprotect %s", rule);
}

static int find_folder(struct call *call, struct place *place, const char *rest)
{
    const char *slash = strrchr(rest, '/');
    const char *folder = slash ? arena_strndup(call->arena, rest, (size_t) (slash - rest)) : ".";
    size_t len;

    place->name = slash ? slash + 1 : rest;
    if (folder == NULL)
        return err_no_memory(&call->err);
    if (find(call, place, folder, O_DIRECTORY, &place->dir) < 0 ||
        real_of(call, place->dir, place->real) < 0)
        return -1;
    len = strlen(place->real);
    if (len == 1)
        len = 0; /* "/" */
    if (snprintf(place->real + len, PATH_MAX - len, "/%s", place->name) >= (int) (PATH_MAX - len))
        return err_set(&call->err, ERR_REQUEST, "'%s' is too long a path", place->path);
    return 0;
}

int place_to_write(struct call *call, const char *path, struct place *place)
{
    const char *rest = "";

    if (tidy(call, path, &place->path) < 0 || choose_scope(call, true, place, &rest) < 0 ||
        find_folder(call, place, rest) < 0 ||
        place_check_kernel_file(call, place->dir, place->path) < 0 ||
        check_own(call, place->dir, place->path) < 0 || check_protected(call, place) < 0)
        return -1;
    struct guise guise = GUISE_NONE;
    if (guise_on(&guise, place->scope->fd, &call->err) < 0)
        return -1;
    place->exists = fstatat(place->dir, place->name, &place->st, AT_SYMLINK_NOFOLLOW) == 0;
    guise_off(&guise);
    if (!place->exists)
        return errno == ENOENT ? 0 : place_fail(call, place->path, "looked at");
    return check_kind(call, &place->st, place->path);
}
