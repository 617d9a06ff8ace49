#include "store/changes_act.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/cleanup.h"

static int fail(const struct changes_acting *acting, const struct change *change, const char *what,
                struct err *err)
{
    return err_sys(err, ERR_HOST, "cannot %s '%s' in '%s'", what, change->path,
                   acting->changes->dirs[change->dir].host);
}

static int refuse_race(const struct changes_acting *acting, const struct change *change,
                       struct err *err)
{
    return err_set(err, ERR_DENIED, "'%s' in '%s' was changed on the host just now", change->path,
                   acting->changes->dirs[change->dir].host);
}

static bool is_leaf(const struct change *change)
{
    return change->kind != CHANGE_DELETED && change->type != CHANGE_DIRECTORY;
}

static bool replaces_directory(const struct change *change)
{
    return is_leaf(change) && change->host.there && change->host.type == CHANGE_DIRECTORY;
}

static bool is_late(struct changes_acting *acting, const struct change *change)
{
    bool makes_room = change->kind == CHANGE_CHANGED && change->type == CHANGE_DIRECTORY &&
                      change->host.type != CHANGE_DIRECTORY;

    if (makes_room)
        changes_above_set(&acting->late, change);
    return makes_room || changes_above_has(&acting->late, change);
}

/* ---- staging --------------------------------------------------------------------------------- */

/*
 * Started by root: a file that takes the place of another has its owner, a new one that of its
 * directory. Others own what they make, and give it the group it had if they can.
 */
static int give_owner(int parent, const char *name, const struct change *change, int fd,
                      const char *temp)
{
    bool replaces = change->host.there && !replaces_directory(change);
    bool is_root = geteuid() == 0;
    struct stat st;

    if (!is_root && !replaces)
        return 0;
    if (replaces ? fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) < 0 : fstat(parent, &st) < 0)
        return -1;
    uid_t owner = is_root ? st.st_uid : (uid_t) -1;
    int rc = fd >= 0 ? fchown(fd, owner, st.st_gid)
                     : fchownat(parent, temp, owner, st.st_gid, AT_SYMLINK_NOFOLLOW);
    return is_root ? rc : 0;
}

/* An access list narrows what the mode's group bits say: without it they would open the file. */
static int give_access_list(int parent, const char *name, const struct change *change, int fd)
{
    static const char attribute[] = "system.posix_acl_access";
    char list[4096];

    if (!change->host.there || change->host.type != CHANGE_FILE)
        return 0;
    _cleanup_fd_ int old = changes_open_file(parent, name);
    ssize_t len = old < 0 ? -1 : fgetxattr(old, attribute, list, sizeof(list));
    if (len < 0) /* not to be read: then nor could the guest; or it has none */
        return old < 0 || errno == ENODATA || errno == EOPNOTSUPP ? 0 : -1;
    return fsetxattr(fd, attribute, list, (size_t) len, 0);
}

static int finish_file(int parent, const char *name, const struct change *change, int fd)
{
    const struct timespec times[2] = {
        {.tv_nsec = UTIME_NOW},
        {.tv_sec = change->mtime_ns / (int64_t) NS_PER_S,
         .tv_nsec = change->mtime_ns % (int64_t) NS_PER_S},
    };

    if (give_owner(parent, name, change, fd, NULL) < 0 ||
        give_access_list(parent, name, change, fd) < 0 || fchmod(fd, change->mode & 0777) < 0)
        return -1;
    return futimens(fd, times);
}

static int stage_file(const struct changes_acting *acting, const struct change *change, int parent,
                      const char *name, const char *temp, struct err *err)
{
    _cleanup_fd_ int from = changes_set_content(acting->set, change, err);

    if (from < 0)
        return -1;
    _cleanup_fd_ int to =
        openat(parent, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (to < 0 || changes_copy(from, to, change->size) < 0 ||
        finish_file(parent, name, change, to) < 0)
        return fail(acting, change, "write", err);
    return 0;
}

static int stage_link(const struct changes_acting *acting, const struct change *change, int parent,
                      const char *name, const char *temp, struct err *err)
{
    if (symlinkat(change->target, parent, temp) < 0 ||
        give_owner(parent, name, change, -1, temp) < 0)
        return fail(acting, change, "make the symlink", err);
    return 0;
}

static int make_directory(const struct changes_acting *acting, const struct change *change,
                          int parent, const char *name, struct err *err)
{
    struct change_host now;

    const struct change new = {.kind = CHANGE_ADDED};
    bool is_made = mkdirat(parent, name, 0700) == 0;

    if (!is_made && errno == EEXIST && !acting->resumed)
        return refuse_race(acting, change, err);
    /* It is there: the apply that was interrupted came that far. */
    bool is_there = !is_made && errno == EEXIST && changes_look(parent, name, &now) == 0 &&
                    now.type == CHANGE_DIRECTORY;
    if (!is_made && !is_there)
        return fail(acting, change, "make the directory", err);
    if (give_owner(parent, name, &new, -1, name) < 0)
        return fail(acting, change, "give its owner the directory", err);
    return 0;
}

static int stage(const struct changes_acting *acting, const struct change *change, struct err *err)
{
    char temp[CHANGES_TEMP_SIZE];
    const char *name;
    int parent;

    if (changes_hosts_enter(acting->hosts, change, &parent, &name) < 0)
        return fail(acting, change, "reach", err);
    if (change->type == CHANGE_DIRECTORY)
        return make_directory(acting, change, parent, name, err);
    changes_temp_name(acting->set->run_id, change, temp);
    if (acting->resumed)
        (void) unlinkat(parent, temp, 0); /* if there is one that cannot go, what follows sees it */
    return change->type == CHANGE_SYMLINK ? stage_link(acting, change, parent, name, temp, err)
                                          : stage_file(acting, change, parent, name, temp, err);
}

/* Whether there is anything to make for it: not for one that goes, or gets another mode alone. */
static bool needs_staging(const struct change *change)
{
    if (change->kind == CHANGE_DELETED)
        return false;
    if (change->type == CHANGE_DIRECTORY)
        return !change->host.there || change->host.type != CHANGE_DIRECTORY;
    return change->type == CHANGE_SYMLINK || change->content;
}

int changes_act_stage(struct changes_acting *acting, const struct change *change, struct err *err)
{
    return is_late(acting, change) || !needs_staging(change) ? 0 : stage(acting, change, err);
}

/* ---- names ----------------------------------------------------------------------------------- */

/* As renameat2, for file systems that cannot refuse to replace: a link never replaces. */
static int name_unless_there(int parent, const char *temp, const char *name)
{
    int rc = renameat2(parent, temp, parent, name, RENAME_NOREPLACE);

    if (rc == 0 || errno != EINVAL)
        return rc;
    rc = linkat(parent, temp, parent, name, 0);
    return rc < 0 ? rc : unlinkat(parent, temp, 0);
}

/* What was judged is looked at once more: the time since then is as long as staging took. */
static int check_untouched(const struct changes_acting *acting, const struct change *change,
                           int parent, const char *name, struct err *err)
{
    struct change_host now;

    if (changes_look(parent, name, &now) < 0)
        return fail(acting, change, "look at", err);
    return changes_is_same(&now, &change->host, false) ? 0 : refuse_race(acting, change, err);
}

static int commit(const struct changes_acting *acting, const struct change *change, struct err *err)
{
    bool replaces = change->kind == CHANGE_CHANGED && !replaces_directory(change);
    char temp[CHANGES_TEMP_SIZE];
    const char *name;
    int parent;

    if (changes_hosts_enter(acting->hosts, change, &parent, &name) < 0)
        return fail(acting, change, "reach", err);
    if (replaces && check_untouched(acting, change, parent, name, err) < 0)
        return -1;
    if (!needs_staging(change)) /* glibc never follows the link that it may have become */
        return fchmodat(parent, name, change->mode & 0777, AT_SYMLINK_NOFOLLOW) < 0
                   ? fail(acting, change, "change the mode of", err)
                   : 0;
    changes_temp_name(acting->set->run_id, change, temp);
    int rc =
        replaces ? renameat(parent, temp, parent, name) : name_unless_there(parent, temp, name);
    if (rc < 0 && errno == EEXIST)
        return refuse_race(acting, change, err);
    return rc < 0 ? fail(acting, change, "name", err) : 0;
}

int changes_act_commit(struct changes_acting *acting, const struct change *change, struct err *err)
{
    if (is_late(acting, change) || !is_leaf(change) || replaces_directory(change))
        return 0;
    return commit(acting, change, err);
}

/* The file goes, unless it did already; then the directory can come. */
static int make_room(const struct changes_acting *acting, const struct change *change,
                     struct err *err)
{
    struct change_host now;
    const char *name;
    int parent;

    if (changes_hosts_enter(acting->hosts, change, &parent, &name) < 0 ||
        changes_look(parent, name, &now) < 0)
        return fail(acting, change, "reach", err);
    if (!now.there || now.type == CHANGE_DIRECTORY)
        return 0;
    if (!changes_is_same(&now, &change->host, false))
        return refuse_race(acting, change, err);
    return unlinkat(parent, name, 0) < 0 ? fail(acting, change, "remove", err) : 0;
}

int changes_act_late(struct changes_acting *acting, const struct change *change, struct err *err)
{
    if (!is_late(acting, change))
        return 0;
    if (change->kind == CHANGE_CHANGED && make_room(acting, change, err) < 0)
        return -1;
    if (stage(acting, change, err) < 0)
        return -1;
    return change->type == CHANGE_DIRECTORY ? 0 : commit(acting, change, err);
}

/* ---- removing -------------------------------------------------------------------------------- */

static int remove_directory(struct changes_acting *acting, const struct change *change, int parent,
                            const char *name, const struct change_host *now, struct err *err)
{
    if (now->ino != change->host.ino || now->dev != change->host.dev)
        return refuse_race(acting, change, err);
    if (unlinkat(parent, name, AT_REMOVEDIR) == 0)
        return 0;
    if (errno != ENOTEMPTY && errno != EEXIST)
        return fail(acting, change, "remove the directory", err);
    if (acting->skip_refused) {
        acting->n_left++;
        return 0;
    }
    return err_set(err, ERR_DENIED, "the directory '%s' in '%s' has something new in it",
                   change->path, acting->changes->dirs[change->dir].host);
}

static int remove_old(struct changes_acting *acting, const struct change *change, struct err *err)
{
    struct change_host now;
    const char *name;
    int parent;

    if (changes_hosts_enter(acting->hosts, change, &parent, &name) < 0 ||
        changes_look(parent, name, &now) < 0)
        return fail(acting, change, "reach", err);
    if (!now.there)
        return 0;
    if (now.type != change->host.type)
        return refuse_race(acting, change, err);
    if (now.type == CHANGE_DIRECTORY)
        return remove_directory(acting, change, parent, name, &now, err);
    if (!changes_is_same(&now, &change->host, false))
        return refuse_race(acting, change, err);
    return unlinkat(parent, name, 0) < 0 ? fail(acting, change, "remove", err) : 0;
}

int changes_act_remove(struct changes_acting *acting, const struct change *change, struct err *err)
{
    if (change->kind == CHANGE_DELETED)
        return remove_old(acting, change, err);
    if (!replaces_directory(change))
        return 0;
    uint64_t left = acting->n_left;
    if (remove_old(acting, change, err) < 0)
        return -1;
    if (left == acting->n_left)
        return commit(acting, change, err);
    changes_host_clean(acting->hosts, acting->set->run_id, change);
    return 0;
}

int changes_act_modes(struct changes_acting *acting, const struct change *change, struct err *err)
{
    struct change_host now;
    const char *name;
    int parent;

    if (change->kind == CHANGE_DELETED || change->type != CHANGE_DIRECTORY)
        return 0;
    if (changes_hosts_enter(acting->hosts, change, &parent, &name) < 0 ||
        changes_look(parent, name, &now) < 0)
        return fail(acting, change, "reach", err);
    if (!now.there || now.type != CHANGE_DIRECTORY)
        return refuse_race(acting, change, err);
    /* A new one may have got a setgid bit from the directory above. */
    uint32_t mode = (change->mode & 01777) | (now.mode & 06000);
    if (fchmodat(parent, name, mode, AT_SYMLINK_NOFOLLOW) < 0)
        return fail(acting, change, "change the mode of", err);
    return 0;
}

/* ---- taking it back -------------------------------------------------------------------------- */

/* Innermost first. */
static void remove_directories(struct changes_hosts *hosts, const struct change *directories,
                               size_t count)
{
    const char *name;
    int parent;

    for (size_t i = count; i > 0; i--)
        if (changes_hosts_enter(hosts, &directories[i - 1], &parent, &name) == 0)
            (void) unlinkat(parent, name, AT_REMOVEDIR); /* what has something in it stays */
}

void changes_undo(const struct changes_set *set, const struct changes *changes,
                  struct changes_hosts *hosts, const uint8_t *verdicts)
{
    _cleanup_(changes_entries_release) struct changes_entries entries = {.fd = -1};
    struct arena *arena = arena_new();
    struct change *directories = NULL;
    const struct change *change;
    struct err ignored;
    size_t count = 0;

    if (arena)
        directories = arena_array(arena, changes->counts[CHANGE_ADDED] + 1, sizeof(*directories));
    if (!directories || changes_entries_open(set, changes, &entries, &ignored) < 0) {
        arena_free(arena);
        return;
    }
    while (changes_entries_next(&entries, &change, &ignored) == 0 && change) {
        if (verdicts && verdicts[change->number] != VERDICT_DO)
            continue;
        changes_host_clean(hosts, set->run_id, change);
        if (change->kind == CHANGE_ADDED && change->type == CHANGE_DIRECTORY &&
            count < changes->counts[CHANGE_ADDED] &&
            change_copy(change, arena, &directories[count], &ignored) == 0)
            count++;
    }
    remove_directories(hosts, directories, count);
    arena_free(arena);
}
