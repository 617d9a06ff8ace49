#include "store/changes_set.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/fd.h"
#include "base/folder.h"

/* Nothing in the folder is a link, and nothing may keep us waiting. */
#define READ_FLAGS (O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
#define DIRECTORY_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* ---- the folder ------------------------------------------------------------------------------ */

int changes_store_open(const char *state_dir, struct changes_store *ret_store, struct err *err)
{
    _cleanup_fd_ int state = -1;

    *ret_store = (struct changes_store) CHANGES_STORE_NONE;
    ret_store->state_dir = state_dir;
    if (!state_dir) {
        (void) err_set(err, ERR_HOST, /* -1, as below */
                       "no HOME and no XDG_STATE_HOME: nowhere to keep changes");
        return err_hint(err, "set one of them, or WASP_STATE_DIR, to an absolute path");
    }
    if (folder_open(state_dir, &state, err) < 0)
        return -1;
    if (folder_open_in(state, "changes", &ret_store->folder, err) < 0 ||
        folder_open_in(ret_store->folder, "tmp", &ret_store->temp, err) < 0)
        return err_prefix(err, "state folder '%s'", state_dir);
    return 0;
}

void changes_store_release(struct changes_store *store)
{
    cleanup_fd(&store->folder);
    cleanup_fd(&store->temp);
    store->folder = store->temp = -1;
}

void changes_unlock(const int *folder)
{
    if (*folder >= 0)
        (void) flock(*folder, LOCK_UN); /* cannot fail on a lock that is held */
}

int changes_store_lock(const struct changes_store *store, struct err *err)
{
    if (flock(store->folder, LOCK_EX) < 0)
        return err_sys(err, ERR_HOST, "cannot lock the folder '%s/changes'", store->state_dir);
    return store->folder;
}

/* ---- a set ----------------------------------------------------------------------------------- */

static int refuse_missing(const char *run_id, struct err *err)
{
    return err_set(err, ERR_NOT_FOUND,
                   "there are no changes of run '%s': 'wasp changes list' shows those there are",
                   run_id);
}

/* It is our own file that is wrong, not what the caller asks. */
static int refuse_damaged(const char *run_id, struct err *err)
{
    (void) err_prefix(err, "the changes of run '%s' are damaged", run_id); /* -1, as below */
    err->code = ERR_HOST;
    return err_hint(err, "'wasp changes discard %s' removes them", run_id);
}

/* With the lock it may turn out that who had it before removed the set. */
static int lock_set(const struct changes_store *store, const struct changes_set *set, int operation,
                    struct err *err)
{
    struct stat held, named;

    if (flock(set->dir, operation | LOCK_NB) < 0) {
        if (errno == EWOULDBLOCK)
            return err_set(err, ERR_HOST,
                           "the changes of run '%s' are in use by another wasp: try again later",
                           set->run_id);
        return err_sys(err, ERR_HOST, "cannot lock the changes of run '%s'", set->run_id);
    }
    if (fstat(set->dir, &held) == 0 &&
        fstatat(store->folder, set->run_id, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
        held.st_ino == named.st_ino)
        return 0;
    return refuse_missing(set->run_id, err);
}

int changes_set_open(const struct changes_store *store, const char *run_id, int operation,
                     struct changes_set *ret_set, struct err *err)
{
    *ret_set = (struct changes_set) CHANGES_SET_NONE;
    if (changes_check_run_id(run_id, err) < 0)
        return -1;
    memcpy(ret_set->run_id, run_id, CHANGES_RUN_ID_SIZE);
    ret_set->dir = openat(store->folder, run_id, DIRECTORY_FLAGS);
    if (ret_set->dir < 0 && errno == ENOENT)
        return refuse_missing(run_id, err);
    if (ret_set->dir < 0)
        return err_sys(err, ERR_HOST, "cannot open the changes of run '%s'", run_id);
    return operation ? lock_set(store, ret_set, operation, err) : 0;
}

void changes_set_release(struct changes_set *set)
{
    cleanup_fd(&set->dir);
    set->dir = -1;
}

static bool has(const struct changes_set *set, const char *name)
{
    struct stat st;

    return fstatat(set->dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

enum changes_state changes_set_state(const struct changes_set *set)
{
    if (has(set, CHANGES_APPLIED_FILE))
        return CHANGES_APPLIED;
    return has(set, CHANGES_APPLYING_FILE) ? CHANGES_APPLYING : CHANGES_KEPT;
}

int changes_set_load(const struct changes_set *set, const char *name, struct buf *text,
                     struct err *err)
{
    _cleanup_fd_ int fd = openat(set->dir, name, READ_FLAGS);
    struct stat st;
    char *room;

    if (fd < 0 || fstat(fd, &st) < 0)
        return err_sys(err, ERR_HOST, "cannot open '%s'", name);
    if (!S_ISREG(st.st_mode) || st.st_size > (off_t) text->max)
        return err_set(err, ERR_HOST, "'%s' is no regular file, or too large", name);
    if (buf_reserve(text, (size_t) st.st_size, &room) < 0)
        return err_no_memory(err);
    ssize_t n = fd_read_full(fd, room, (size_t) st.st_size);
    if (n < 0)
        return err_sys(err, ERR_HOST, "cannot read '%s'", name);
    buf_commit(text, (size_t) n);
    return 0;
}

int changes_set_read(const struct changes_set *set, struct arena *arena, struct changes *ret,
                     struct err *err)
{
    _cleanup_(buf_release) struct buf text = BUF_INIT(CHANGES_RECORD_MAX);
    _cleanup_(buf_release) struct buf applied = BUF_INIT(4096);
    struct changes changes;

    if (changes_set_load(set, CHANGES_RECORD_FILE, &text, err) < 0 ||
        changes_parse(text.data, text.len, set->run_id, arena, &changes, err) < 0)
        return refuse_damaged(set->run_id, err);
    changes.state = changes_set_state(set);
    if (changes.state == CHANGES_APPLIED &&
        (changes_set_load(set, CHANGES_APPLIED_FILE, &applied, err) < 0 ||
         changes_parse_applied(applied.data, applied.len, &changes, err) < 0))
        return refuse_damaged(set->run_id, err);
    *ret = changes;
    return 0;
}

static void drop(struct temp_file *file)
{
    if (file->fd >= 0)
        temp_drop(file);
}

int changes_set_write(const struct changes_set *set, const char *name, const void *bytes,
                      size_t len, struct err *err)
{
    _cleanup_(drop) struct temp_file file = {.fd = -1};

    if (temp_create(set->dir, &file) < 0 || fd_write_all(file.fd, bytes, len) < 0 ||
        fsync(file.fd) < 0 || temp_rename(&file, set->dir, name) < 0 ||
        (fsync(set->dir) < 0 && errno != EINVAL)) /* not all can */
        return err_sys(err, ERR_HOST, "cannot write '%s' of the changes of run '%s'", name,
                       set->run_id);
    return 0;
}

int changes_set_content(const struct changes_set *set, const struct change *change, struct err *err)
{
    char name[40];
    struct stat st;

    (void) snprintf(name, sizeof(name), CHANGES_FILES "/%" PRIu64, change->number); /* fits */
    _cleanup_fd_ int fd = openat(set->dir, name, READ_FLAGS);
    if (fd < 0 || fstat(fd, &st) < 0) {
        (void) err_sys(err, ERR_HOST, "cannot open '%s'", name); /* -1, as below */
        return refuse_damaged(set->run_id, err);
    }
    if (!S_ISREG(st.st_mode) || (uint64_t) st.st_size != change->size) {
        (void) err_set(err, ERR_HOST, "'%s' has not the size it had", name); /* as above */
        return refuse_damaged(set->run_id, err);
    }
    return take_fd(&fd);
}

int change_copy(const struct change *change, struct arena *arena, struct change *ret,
                struct err *err)
{
    struct change copy = *change;

    copy.path = arena_strdup(arena, change->path);
    copy.target = change->target ? arena_strdup(arena, change->target) : NULL;
    copy.protected_by = change->protected_by ? arena_strdup(arena, change->protected_by) : NULL;
    if (!copy.path || (change->target && !copy.target) ||
        (change->protected_by && !copy.protected_by))
        return err_no_memory(err);
    *ret = copy;
    return 0;
}

/* ---- entries --------------------------------------------------------------------------------- */

int changes_entries_open(const struct changes_set *set, const struct changes *changes,
                         struct changes_entries *ret_entries, struct err *err)
{
    ret_entries->run_id = set->run_id;
    ret_entries->n_dirs = changes->n_dirs;
    ret_entries->total = changes_total(changes);
    ret_entries->number = 0;
    ret_entries->at = ret_entries->used = 0;
    ret_entries->fd = openat(set->dir, CHANGES_ENTRIES_FILE, READ_FLAGS);
    if (ret_entries->fd >= 0)
        return 0;
    (void) err_sys(err, ERR_HOST, "cannot open '" CHANGES_ENTRIES_FILE "'"); /* -1, as below */
    return refuse_damaged(set->run_id, err);
}

void changes_entries_release(struct changes_entries *entries)
{
    cleanup_fd(&entries->fd);
    entries->fd = -1;
}

int changes_entries_rewind(struct changes_entries *entries, struct err *err)
{
    if (lseek(entries->fd, 0, SEEK_SET) < 0)
        return err_sys(err, ERR_HOST, "cannot read the changes again");
    entries->number = 0;
    entries->at = entries->used = 0;
    return 0;
}

/* The end of the next line in the buffer, or NULL if there is no more. -1 and *err. */
static int find_line(struct changes_entries *entries, char **ret_end, struct err *err)
{
    char *buffer = entries->buffer;

    *ret_end = memchr(buffer + entries->at, '\n', entries->used - entries->at);
    if (*ret_end)
        return 0;
    memmove(buffer, buffer + entries->at, entries->used - entries->at);
    entries->used -= entries->at;
    entries->at = 0;
    ssize_t n =
        fd_read_full(entries->fd, buffer + entries->used, sizeof(entries->buffer) - entries->used);
    if (n < 0)
        return err_sys(err, ERR_HOST, "cannot read '" CHANGES_ENTRIES_FILE "'");
    size_t old = entries->used;
    entries->used += (size_t) n;
    *ret_end = memchr(buffer + old, '\n', (size_t) n);
    if (*ret_end || entries->used == 0)
        return 0;
    return err_set(err, ERR_HOST, "line %" PRIu64 " is cut or too long", entries->number + 1);
}

static int read_entry(struct changes_entries *entries, const char *end, struct err *err)
{
    const char *start = entries->buffer + entries->at;

    if (entries->number == entries->total)
        return err_set(err, ERR_HOST, "there are more entries than the record says");
    if (change_parse(start, (size_t) (end - start), &entries->line, err) < 0)
        return err_prefix(err, "line %" PRIu64, entries->number + 1);
    if (entries->line.change.dir >= entries->n_dirs)
        return err_set(err, ERR_HOST, "line %" PRIu64 ": there is no such directory",
                       entries->number + 1);
    entries->line.change.number = entries->number++;
    entries->at = (size_t) (end - entries->buffer) + 1;
    return 0;
}

int changes_entries_next(struct changes_entries *entries, const struct change **ret_change,
                         struct err *err)
{
    char *end;

    if (find_line(entries, &end, err) < 0 || (end && read_entry(entries, end, err) < 0))
        return refuse_damaged(entries->run_id, err);
    if (!end && entries->number < entries->total) {
        (void) err_set(err, ERR_HOST,
                       "there are fewer entries than the record says"); /* as above */
        return refuse_damaged(entries->run_id, err);
    }
    *ret_change = end ? &entries->line.change : NULL;
    return 0;
}

/* ---- removing -------------------------------------------------------------------------------- */

static void close_dir(DIR **dir)
{
    if (*dir != NULL)
        (void) closedir(*dir); /* only read from */
}

static int remove_level(int folder, const char *name, int levels)
{
    int fd = openat(folder, name, DIRECTORY_FLAGS);
    _cleanup_(close_dir) DIR *dir = fd < 0 ? NULL : fdopendir(fd);

    if (dir == NULL)
        return -1;
    for (const struct dirent *entry; (errno = 0, entry = readdir(dir)) != NULL;) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (unlinkat(dirfd(dir), entry->d_name, 0) == 0)
            continue;
        if (errno != EISDIR || levels == 0 ||
            remove_level(dirfd(dir), entry->d_name, levels - 1) < 0)
            return -1;
    }
    return errno != 0 ? -1 : unlinkat(folder, name, AT_REMOVEDIR);
}

int changes_remove_tree(int folder, const char *name)
{
    return remove_level(folder, name, 1);
}

void changes_set_trim(const struct changes_set *set)
{
    (void) unlinkat(set->dir, CHANGES_ENTRIES_FILE, 0); /* what stays goes with the next sweep */
    (void) changes_remove_tree(set->dir, CHANGES_FILES);
    (void) unlinkat(set->dir, CHANGES_APPLYING_FILE, 0);
}

int changes_set_remove(const struct changes_store *store, const struct changes_set *set,
                       struct err *err)
{
    char name[40];
    uint64_t chance;

    random_bytes(&chance, sizeof(chance));
    (void) snprintf(name, sizeof(name), "%016" PRIx64, chance); /* fits */
    if (renameat(store->folder, set->run_id, store->temp, name) < 0)
        return err_sys(err, ERR_HOST, "cannot remove the changes of run '%s'", set->run_id);
    (void) fsync(store->folder);                   /* not all can */
    (void) changes_remove_tree(store->temp, name); /* what stays is taken by the next sweep */
    return 0;
}
