#include "run/protect_walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "plan/protected.h"

/* About 2,000 names of usual length. */
#define READ_BYTES 65536
/* Directories that are still to be read, by their paths. */
#define MAX_PENDING_BYTES (32 << 20)

/* As the kernel writes it, by man 2 getdents64. */
struct kernel_dirent {
    uint64_t ino;
    int64_t off;
    uint16_t len;
    uint8_t type;
    char name[];
};

struct place {
    uint16_t len; /* of the path before it */
    uint8_t at;
};
_Static_assert(PATH_MAX <= UINT16_MAX, "a path's length fits");

struct state {
    const struct protect_walk *walk;
    int root;
    size_t entries;
    struct buf pending; /* a stack: each a path, and a struct place behind it */
    bool failed;        /* somewhere, while the rest is still to be seen; the error is set */
    char path[PATH_MAX];
    size_t path_len; /* of the directory at hand; its names are put behind it */
};

static int too_large(const struct protect_walk *walk, const char *what, struct err *err)
{
    (void) err_set(err, ERR_DENIED,
                   "the directory '%s' is too %s to look for protected names in it", walk->name,
                   what);
    return err_hint(err, "grant a smaller one, or grant it as ':overlay' or ':ro'");
}

/* ---- what is still to be read ---------------------------------------------------------------- */

static int push(struct state *state, uint8_t at, struct err *err)
{
    size_t before = state->pending.len;
    struct place place = {.len = (uint16_t) strlen(state->path), .at = at};

    if (buf_add(&state->pending, state->path, place.len) == 0 &&
        buf_add(&state->pending, &place, sizeof(place)) == 0)
        return 0;
    state->pending.len = before;
    return too_large(state->walk, "large", err);
}

/* The last one becomes the directory at hand. False: there is none. */
static bool pop(struct state *state, uint8_t *ret_at)
{
    struct buf *pending = &state->pending;
    struct place place;

    if (pending->len == 0)
        return false;
    pending->len -= sizeof(place);
    memcpy(&place, pending->data + pending->len, sizeof(place));
    pending->len -= place.len;
    memcpy(state->path, pending->data + pending->len, place.len);
    state->path[place.len] = '\0';
    state->path_len = place.len;
    *ret_at = place.at;
    return true;
}

/* ---- reading --------------------------------------------------------------------------------- */

static int open_beneath(const struct state *state, int flags)
{
    const char *path = state->path_len > 0 ? state->path : ".";

    return fd_openat2(state->root, path, (unsigned int) flags | O_DIRECTORY, 0,
                      RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
}

static int cannot_look(const struct state *state, struct err *err)
{
    return err_sys(err, ERR_HOST, "cannot look for protected names in '%s/%.*s'", state->walk->name,
                   (int) state->path_len, state->path);
}

/* A guest with our rights may have closed it, to hide what is in it. */
static bool may_be_ours(const struct state *state)
{
    _cleanup_fd_ int fd = open_beneath(state, O_PATH);
    struct stat st;

    return fd < 0 || fstat(fd, &st) < 0 || st.st_uid == geteuid();
}

/*
 * What changed since its parent was read, or is not for us to read, is passed over: 0 and
 * *ret_fd -1.
 */
static int open_directory(struct state *state, int *ret_fd, struct err *err)
{
    int fd = open_beneath(state, O_RDONLY | O_NONBLOCK);
    int number = fd < 0 ? errno : 0;
    bool is_gone = number == ENOENT || number == ENOTDIR || number == ELOOP || number == EXDEV;
    bool is_closed = number == EACCES || number == EPERM;

    *ret_fd = fd;
    if (fd >= 0 || is_gone)
        return 0;
    if (is_closed && (!state->walk->must_see || !may_be_ours(state)))
        return 0;
    errno = number;
    if (!is_closed)
        return cannot_look(state, err);
    if (!state->failed)
        (void) cannot_look(state, err); /* told in the end: there is more to see */
    state->failed = true;
    return 0;
}

/* Not every file system says of what type a name is. */
static uint8_t type_of(int dir, const struct kernel_dirent *dirent)
{
    struct stat st;

    if (dirent->type != DT_UNKNOWN)
        return dirent->type;
    if (fstatat(dir, dirent->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return DT_REG; /* it is gone, or as good as that */
    return IFTODT(st.st_mode);
}

static bool is_dots(const char *name)
{
    return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

static int add_name(struct state *state, const char *name, struct err *err)
{
    size_t len = strlen(name), at = state->path_len;

    if (at + 1 + len >= sizeof(state->path))
        return too_large(state->walk, "deep", err);
    if (at > 0)
        state->path[at++] = '/';
    memcpy(state->path + at, name, len + 1);
    return 0;
}

static int take_entry(struct state *state, int dir, uint8_t at, const struct kernel_dirent *dirent,
                      struct err *err)
{
    const struct protect_walk *walk = state->walk;
    struct protect_entry entry = {
        .dir = dir,
        .name = dirent->name,
        .path = state->path,
        .type = type_of(dir, dirent),
        .above = at,
        .at = protected_walk(at, dirent->name, walk->unprotected),
    };

    if (++state->entries > walk->max_entries)
        return too_large(walk, "large", err);
    /* most are neither, and their paths are nobody's business */
    bool enters = entry.type == DT_DIR && (walk->whole || protected_at_rule(entry.at) == NULL);
    bool is_of_interest = entry.at != PROTECTED_NOWHERE || entry.type == DT_SOCK;
    if (!enters && !is_of_interest)
        return 0;
    if (add_name(state, dirent->name, err) < 0) {
        state->failed = true;
        return walk->must_see ? 0 : -1;
    }
    if (is_of_interest && walk->visit(walk->data, &entry, err) < 0)
        return -1;
    return enters ? push(state, entry.at, err) : 0;
}

static int read_directory(struct state *state, uint8_t at, struct err *err)
{
    _Alignas(struct kernel_dirent) char bytes[READ_BYTES];
    _cleanup_fd_ int dir = -1;
    long len;

    if (open_directory(state, &dir, err) < 0)
        return -1;
    if (dir < 0)
        return 0;
    while ((len = syscall(SYS_getdents64, dir, bytes, sizeof(bytes))) > 0)
        for (long done = 0; done < len;) {
            const struct kernel_dirent *dirent = (const void *) (bytes + done);
            done += dirent->len;
            if (!is_dots(dirent->name) && take_entry(state, dir, at, dirent, err) < 0)
                return -1;
        }
    if (len < 0 && errno != ENOENT) /* ENOENT: removed meanwhile */
        return cannot_look(state, err);
    return 0;
}

int protect_walk(int dir, uint8_t at, const struct protect_walk *walk, struct err *err)
{
    struct state state = {
        .walk = walk,
        .root = dir,
        .pending = BUF_INIT(MAX_PENDING_BYTES),
    };
    int rc = 0;

    do
        rc = read_directory(&state, at, err);
    while (rc == 0 && pop(&state, &at));
    buf_release(&state.pending);
    return state.failed ? -1 : rc;
}
