/*
 * The upper layer of an overlay, as the kernel leaves it: a file there stands for that name; a
 * character device 0:0 (or an empty file with an attribute) says that the host's is gone; a
 * directory stands for its own attributes and lets the host's names through, unless it is opaque.
 *
 * Nobody writes there any more, so names do not move; but they, modes, depths and numbers are the
 * guest's choice. No descriptor is held from one level to the next, names of a directory are.
 */
#include "store/changes_scan.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "store/changes_host.h"
#include "store/changes_names.h"
#include "store/changes_rules.h"

#define MAX_DEPTH 512

/* What the host has where the guest's directory is. */
enum below {
    BELOW_NOTHING,
    BELOW_DIRECTORY,
    BELOW_MOUNT, /* the overlay did not see what is mounted there, and apply stays out of it */
};

struct scan {
    const struct changes_source *source;
    const struct changes_scanning *how;
    uint64_t dir;
    uint64_t *count;
    struct changes_place upper, lower;
    uint64_t held;     /* names of the directories that the walk is in */
    size_t depth, len; /* of the path */
    char path[CHANGES_PATH_SIZE];
    char target[CHANGES_PATH_SIZE], target_before[CHANGES_PATH_SIZE];
    struct err *err;
};

/* One name on both sides. */
struct pair {
    struct change_host upper, lower;
    bool is_mount; /* lower */
};

static int fail(struct scan *scan, const char *what)
{
    return err_sys(scan->err, ERR_HOST, "cannot read %s '%s' of the directory '%s'", what,
                   scan->path, scan->source->guest);
}

static int refuse_too_many(struct scan *scan)
{
    (void) err_set(scan->err, ERR_TOO_LARGE, /* -1, as below */
                   "the guest made more than %" PRIu64 " changes in '%s'", scan->how->max_entries,
                   scan->source->guest);
    return err_hint(scan->err, "grant a smaller directory, and what the run may fill freely as "
                               "one of its own");
}

/* ---- the path -------------------------------------------------------------------------------- */

/* Returns the length to pop to. Names fit: too_deep was asked before. */
static size_t push(struct scan *scan, const char *name)
{
    size_t before = scan->len;
    int n =
        snprintf(scan->path + before, sizeof(scan->path) - before, "%s%s", before ? "/" : "", name);

    scan->len += (size_t) n;
    scan->depth++;
    return before;
}

static void pop(struct scan *scan, size_t len)
{
    scan->len = len;
    scan->path[len] = '\0';
    scan->depth--;
}

static bool too_deep(const struct scan *scan)
{
    return scan->depth >= MAX_DEPTH || scan->len + 1 + CHANGES_NAME_MAX >= sizeof(scan->path);
}

/* ---- telling --------------------------------------------------------------------------------- */

static int64_t clamp_time(const struct scan *scan, int64_t ns)
{
    if (ns < (int64_t) scan->how->started_ns)
        return (int64_t) scan->how->started_ns;
    return ns > (int64_t) scan->how->ended_ns ? (int64_t) scan->how->ended_ns : ns;
}

/* A directory that only gets another mode: others may well be at work in it. */
static bool is_touched_directory(const struct change *change)
{
    return change->kind == CHANGE_CHANGED && change->type == CHANGE_DIRECTORY &&
           change->host.type == CHANGE_DIRECTORY;
}

static int tell(struct scan *scan, struct change *change, uint32_t raw_mode, int content)
{
    if (++*scan->count > scan->how->max_entries)
        return refuse_too_many(scan);
    change->dir = scan->dir;
    change->path = scan->path;
    change->protected_by = change_rule(scan->source->host, change, NULL);
    if (!change->refused)
        change->refused = change_flaw(change, raw_mode);
    if (!change->refused && change->host.there && !is_touched_directory(change) &&
        change->host.ctime_ns > (int64_t) scan->how->started_ns)
        change->refused = REFUSAL_CHANGED;
    return scan->how->take(change, content, scan->how->data, scan->err);
}

/* ---- deleted --------------------------------------------------------------------------------- */

static int delete_tree(struct scan *scan, const struct change_host *lower, bool is_mount);

/* The name at the end of the path, on the host. */
static int look_below(struct scan *scan, struct change_host *ret_lower, bool *ret_is_mount)
{
    const char *name;
    int parent;

    *ret_is_mount = false;
    *ret_lower = (struct change_host){.there = false};
    if (changes_place_enter(&scan->lower, scan->path, &parent, &name) < 0)
        return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ? 0 : fail(scan, "the host's");
    if (changes_look(parent, name, ret_lower) == 0)
        return 0;
    *ret_is_mount = errno == EXDEV;
    return *ret_is_mount ? 0 : fail(scan, "the host's");
}

/*
 * The names in the directory at the path. A directory may be full of directories that are full: all
 * names of those that the walk is in count.
 */
static int list(struct scan *scan, struct changes_place *place, struct changes_names *ret_names)
{
    const char *name = ".";
    int parent = place->root;

    if (scan->len > 0 && changes_place_enter(place, scan->path, &parent, &name) < 0)
        return fail(scan, "the directory");
    if (changes_names_read(parent, name, 2 * scan->how->max_entries - scan->held, ret_names) < 0)
        return errno == EFBIG ? refuse_too_many(scan) : fail(scan, "the directory");
    scan->held += ret_names->count;
    return 0;
}

static int delete_name(struct scan *scan, const char *name)
{
    struct change_host lower;
    bool is_mount;
    size_t before = push(scan, name);
    int rc = look_below(scan, &lower, &is_mount);

    if (rc == 0 && lower.there)
        rc = delete_tree(scan, &lower, is_mount);
    pop(scan, before);
    return rc;
}

/* All that the host has in the directory and the guest's has not; `but` may be NULL. */
static int delete_names(struct scan *scan, const struct changes_names *but)
{
    _cleanup_(changes_names_release) struct changes_names names = {0};

    if (list(scan, &scan->lower, &names) < 0)
        return -1;
    for (size_t i = 0; i < names.count; i++)
        if ((!but || !changes_names_have(but, names.items[i])) &&
            delete_name(scan, names.items[i]) < 0)
            return -1;
    scan->held -= names.count;
    return 0;
}

static int delete_tree(struct scan *scan, const struct change_host *lower, bool is_mount)
{
    struct change change = {.kind = CHANGE_DELETED, .type = lower->type, .host = *lower};

    if (is_mount)
        change.refused = REFUSAL_MOUNT;
    else if (lower->type == CHANGE_DIRECTORY && too_deep(scan))
        change.refused = REFUSAL_DEPTH;
    else if (lower->type == CHANGE_DIRECTORY && delete_names(scan, NULL) < 0)
        return -1;
    return tell(scan, &change, 0, -1);
}

/* ---- files ----------------------------------------------------------------------------------- */

/*
 * The guest's files are ours to read, but for a mode that says otherwise. It is put back: a hard
 * link has the same.
 */
static int open_upper(int parent, const char *name, uint32_t mode)
{
    int fd = changes_open_file(parent, name);

    if (fd >= 0 || errno != EACCES || fchmodat(parent, name, 0600, AT_SYMLINK_NOFOLLOW) < 0)
        return fd;
    fd = changes_open_file(parent, name);
    if (fd >= 0)
        (void) fchmod(fd, mode); /* it worked a moment ago; a link would show another mode */
    return fd;
}

/* Whether the host's file has the same bytes. If it cannot be read, it has not. */
static int compare_file(struct scan *scan, int upper, bool *ret_equal)
{
    const char *name;
    int parent;

    *ret_equal = false;
    if (changes_place_enter(&scan->lower, scan->path, &parent, &name) < 0)
        return 0;
    _cleanup_fd_ int lower = changes_open_file(parent, name);
    if (lower < 0)
        return 0;
    return changes_compare(upper, lower, ret_equal) < 0 ? fail(scan, "the file") : 0;
}

static int scan_file(struct scan *scan, struct change *change, const struct pair *pair, int upper)
{
    bool equal = false;

    if (change->host.there && change->host.type == CHANGE_FILE &&
        pair->upper.size == pair->lower.size && compare_file(scan, upper, &equal) < 0)
        return -1;
    /* A mode is that of all names: to change it under one alone, the file is made anew. */
    change->content = !equal || change->host.is_linked;
    change->size = pair->upper.size;
    bool new_bits = (pair->upper.mode & ~pair->lower.mode & 06000) != 0;
    if (equal && !new_bits && (change->mode & 0777) == (pair->lower.mode & 0777))
        return 0;
    return tell(scan, change, pair->upper.mode, change->content ? upper : -1);
}

static int scan_link(struct scan *scan, struct change *change, int parent, const char *name)
{
    const char *lower_name;
    int lower;

    if (changes_read_link(parent, name, scan->target) < 0)
        return fail(scan, "the symlink");
    if (change->host.there && change->host.type == CHANGE_SYMLINK &&
        changes_place_enter(&scan->lower, scan->path, &lower, &lower_name) == 0 &&
        changes_read_link(lower, lower_name, scan->target_before) == 0 &&
        strcmp(scan->target, scan->target_before) == 0)
        return 0;
    change->target = scan->target;
    change->size = strlen(scan->target);
    return tell(scan, change, 0, -1);
}

/* Whatever is no directory. `upper` is the file opened, or -1 if it is none. */
static int scan_leaf(struct scan *scan, struct pair *pair, int parent, const char *name, int upper)
{
    struct change change = {
        .kind = pair->lower.there ? CHANGE_CHANGED : CHANGE_ADDED,
        .type = pair->upper.type,
        .host = pair->lower,
        .mtime_ns = clamp_time(scan, pair->upper.mtime_ns),
        .refused = pair->is_mount ? REFUSAL_MOUNT : REFUSAL_NONE,
    };

    change.mode = change_mode(&change, pair->upper.mode, scan->how->mask);
    if (pair->lower.there && pair->lower.type == CHANGE_DIRECTORY && !pair->is_mount) {
        if (too_deep(scan))
            change.refused = REFUSAL_DEPTH;
        else if (delete_names(scan, NULL) < 0)
            return -1;
    }
    if (change.type == CHANGE_FILE)
        return scan_file(scan, &change, pair, upper);
    if (change.type == CHANGE_SYMLINK)
        return scan_link(scan, &change, parent, name);
    return tell(scan, &change, 0, -1);
}

/* ---- directories ----------------------------------------------------------------------------- */

static int scan_names(struct scan *scan, enum below below, bool opaque);

static bool has_attribute(int fd, const char *name, const char *value)
{
    char found[4] = "";
    ssize_t len = fgetxattr(fd, name, found, sizeof(found));

    return len >= 0 &&
           (!value || (len == (ssize_t) strlen(value) && memcmp(found, value, (size_t) len) == 0));
}

/* A directory that may be listed and entered, whatever mode the guest gave it; or -1 and errno. */
static int open_upper_directory(int parent, const char *name)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    struct stat st;
    int fd = openat(parent, name, flags);

    if (fd < 0 && errno == EACCES && fchmodat(parent, name, 0700, AT_SYMLINK_NOFOLLOW) == 0)
        fd = openat(parent, name, flags);
    if (fd >= 0 && fstat(fd, &st) == 0 && (st.st_mode & 0700) != 0700)
        (void) fchmod(fd, 0700); /* root needs none; others own it, and see it fail below */
    return fd;
}

static int scan_directory(struct scan *scan, const struct pair *pair, int parent, const char *name)
{
    bool over_directory = pair->lower.there && pair->lower.type == CHANGE_DIRECTORY;
    struct change change = {
        .kind = pair->lower.there ? CHANGE_CHANGED : CHANGE_ADDED,
        .type = CHANGE_DIRECTORY,
        .host = pair->lower,
        .mtime_ns = clamp_time(scan, pair->upper.mtime_ns),
        .refused = pair->is_mount   ? REFUSAL_MOUNT
                   : too_deep(scan) ? REFUSAL_DEPTH
                                    : REFUSAL_NONE,
    };
    _cleanup_fd_ int fd = open_upper_directory(parent, name);

    if (fd < 0)
        return fail(scan, "the directory");
    change.mode = change_mode(&change, pair->upper.mode, scan->how->mask);
    bool opaque = has_attribute(fd, "user.overlay.opaque", "y");
    cleanup_fd(&fd);
    fd = -1;
    if ((!over_directory || change.mode != pair->lower.mode || change.refused == REFUSAL_DEPTH) &&
        tell(scan, &change, pair->upper.mode, -1) < 0)
        return -1;
    if (change.refused == REFUSAL_DEPTH)
        return 0;
    enum below below = pair->is_mount   ? BELOW_MOUNT
                       : over_directory ? BELOW_DIRECTORY
                                        : BELOW_NOTHING;
    return scan_names(scan, below, opaque);
}

/* What the kernel puts in the place of a name that is gone. `fd` is the file opened, or -1. */
static bool is_whiteout(int parent, const char *name, const struct change_host *upper, int fd)
{
    struct stat st;

    if (upper->type == CHANGE_FILE)
        return upper->size == 0 && has_attribute(fd, "user.overlay.whiteout", NULL);
    return upper->type == CHANGE_DEVICE && fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISCHR(st.st_mode) && st.st_rdev == 0;
}

static int scan_name(struct scan *scan, enum below below)
{
    _cleanup_fd_ int file = -1;
    struct pair pair = {.is_mount = below == BELOW_MOUNT};
    const char *name;
    int parent;

    if (changes_place_enter(&scan->upper, scan->path, &parent, &name) < 0 ||
        changes_look(parent, name, &pair.upper) < 0)
        return fail(scan, "the guest's");
    if (below == BELOW_DIRECTORY && look_below(scan, &pair.lower, &pair.is_mount) < 0)
        return -1;
    if (pair.upper.type == CHANGE_FILE) {
        file = open_upper(parent, name, pair.upper.mode);
        if (file < 0)
            return fail(scan, "the file");
    }
    if (is_whiteout(parent, name, &pair.upper, file))
        return pair.lower.there ? delete_tree(scan, &pair.lower, pair.is_mount) : 0;
    if (pair.upper.type == CHANGE_DIRECTORY)
        return scan_directory(scan, &pair, parent, name);
    return scan_leaf(scan, &pair, parent, name, file);
}

static int scan_names(struct scan *scan, enum below below, bool opaque)
{
    _cleanup_(changes_names_release) struct changes_names names = {0};

    if (list(scan, &scan->upper, &names) < 0)
        return -1;
    for (size_t i = 0; i < names.count; i++) {
        size_t before = push(scan, names.items[i]);
        int rc = scan_name(scan, below);
        pop(scan, before);
        if (rc < 0)
            return -1;
    }
    int rc = opaque && below == BELOW_DIRECTORY ? delete_names(scan, &names) : 0;
    scan->held -= names.count;
    return rc;
}

/* The root of a walk has no name to change its mode by, and may be open by its path alone. */
static int open_root(int upper)
{
    char self[32];
    struct stat st;

    if (fstat(upper, &st) < 0)
        return -1;
    (void) snprintf(self, sizeof(self), "/proc/self/fd/%d", upper); /* fits */
    if ((st.st_mode & 0700) != 0700)
        (void) chmod(self, 0700); /* opening it tells */
    return openat(upper, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

int changes_scan(const struct changes_source *source, uint64_t dir,
                 const struct changes_scanning *how, uint64_t *count, struct err *err)
{
    struct scan scan = {
        .source = source,
        .how = how,
        .dir = dir,
        .count = count,
        .upper = {.parent = -1},
        .lower = {.root = source->lower, .parent = -1},
        .err = err,
    };
    _cleanup_fd_ int upper = open_root(source->upper);

    if (upper < 0)
        return fail(&scan, "the directory");
    scan.upper.root = upper;
    int rc = scan_names(&scan, BELOW_DIRECTORY, false);
    changes_place_release(&scan.upper);
    changes_place_release(&scan.lower);
    return rc;
}
