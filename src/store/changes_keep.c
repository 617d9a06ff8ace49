/*
 * Copies what a guest changed out of its overlay, into a folder that gets its name when it is whole
 * and on the disk.
 */
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
#include "store/changes_host.h"
#include "store/changes_scan.h"
#include "store/changes_set.h"

/* Lines go to the disk in pieces of about this size. */
#define LINES_BYTES (256 * 1024)

struct keeping {
    struct changes *changes;
    const struct changes_limits *limits;
    struct arena *arena;
    struct changes_store store;
    char temp[24];    /* the folder's name until it is whole; empty: there is none */
    int dir;          /* the folder, locked */
    int files;        /* CHANGES_FILES in it */
    int entries;      /* CHANGES_ENTRIES_FILE in it */
    struct buf lines; /* of entries, not written yet */
};

static int fail(const struct keeping *keeping, struct err *err)
{
    return err_sys(err, ERR_HOST, "cannot write in the folder '%s/changes'",
                   keeping->store.state_dir);
}

/* ---- the folder ------------------------------------------------------------------------------ */

static void keeping_release(struct keeping *keeping)
{
    if (keeping->temp[0])
        (void) changes_remove_tree(keeping->store.temp, keeping->temp); /* or the next sweep does */
    cleanup_fd(&keeping->dir);
    cleanup_fd(&keeping->files);
    cleanup_fd(&keeping->entries);
    buf_release(&keeping->lines);
    changes_store_release(&keeping->store);
}

/* With the first change: a run that changed nothing leaves no trace. */
static int begin(struct keeping *keeping, const char *state_dir, struct err *err)
{
    uint64_t chance;

    if (changes_store_open(state_dir, &keeping->store, err) < 0)
        return -1;
    random_bytes(&chance, sizeof(chance));
    (void) snprintf(keeping->temp, sizeof(keeping->temp), "%016" PRIx64, chance); /* fits */
    /* A sweep takes what is not locked, so none may run until it is. */
    _cleanup_(changes_unlock) int locked = changes_store_lock(&keeping->store, err);
    if (locked < 0)
        return -1;
    if (mkdirat(keeping->store.temp, keeping->temp, 0700) < 0) {
        keeping->temp[0] = '\0'; /* nothing to remove */
        return fail(keeping, err);
    }
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    keeping->dir = openat(keeping->store.temp, keeping->temp, flags);
    if (keeping->dir < 0 || flock(keeping->dir, LOCK_EX | LOCK_NB) < 0 ||
        mkdirat(keeping->dir, CHANGES_FILES, 0700) < 0)
        return fail(keeping, err);
    keeping->files = openat(keeping->dir, CHANGES_FILES, flags);
    keeping->entries =
        openat(keeping->dir, CHANGES_ENTRIES_FILE, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    return keeping->files < 0 || keeping->entries < 0 ? fail(keeping, err) : 0;
}

/* ---- an entry -------------------------------------------------------------------------------- */

static int flush_lines(struct keeping *keeping, struct err *err)
{
    if (keeping->lines.len > 0 &&
        fd_write_all(keeping->entries, keeping->lines.data, keeping->lines.len) < 0)
        return fail(keeping, err);
    buf_release(&keeping->lines);
    return 0;
}

static int write_line(struct keeping *keeping, const struct change *change, struct err *err)
{
    struct json_writer json;
    size_t before = keeping->lines.len;

    json_writer_init_buf(&json, &keeping->lines);
    change_write(&json, change);
    if (json_finish(&json) < 0)
        return err_no_memory(err);
    if (keeping->lines.len - before > CHANGE_LINE_MAX)
        return err_set(err, ERR_TOO_LARGE, "the name of a changed file is too long to keep");
    return keeping->lines.len < LINES_BYTES ? 0 : flush_lines(keeping, err);
}

/* Names that share a file are kept each for itself, and count. So do holes, which take no room. */
static int count_bytes(struct keeping *keeping, const struct change *change, struct err *err)
{
    struct changes *changes = keeping->changes;

    if (change->size <= keeping->limits->max_bytes - changes->bytes) {
        changes->bytes += change->size;
        return 0;
    }
    (void) err_set(err, ERR_TOO_LARGE, /* -1, as below */
                   "the files that the guest changed have more than %" PRIu64 " bytes in all",
                   keeping->limits->max_bytes);
    return err_hint(err, "sparse files and hard links count with their whole size");
}

static int copy_content(struct keeping *keeping, const struct change *change, int content,
                        struct err *err)
{
    char name[24];

    (void) snprintf(name, sizeof(name), "%" PRIu64, change->number); /* fits */
    _cleanup_fd_ int to =
        openat(keeping->files, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (to < 0 || changes_copy(content, to, change->size) < 0)
        return fail(keeping, err);
    return 0;
}

static int list_entry(struct keeping *keeping, const struct change *change, struct err *err)
{
    struct changes *changes = keeping->changes;

    if (changes->n_entries == CHANGES_LISTED)
        return 0;
    if ((changes->n_entries & (changes->n_entries - 1)) == 0) { /* full at each power of two */
        size_t capacity = changes->n_entries > 0 ? 2 * changes->n_entries : 1;
        struct change *more = arena_array(keeping->arena, capacity, sizeof(*more));
        if (!more)
            return err_no_memory(err);
        if (changes->n_entries > 0)
            memcpy(more, changes->entries, changes->n_entries * sizeof(*more));
        changes->entries = more;
    }
    if (change_copy(change, keeping->arena, &changes->entries[changes->n_entries], err) < 0)
        return -1;
    changes->n_entries++;
    return 0;
}

static int take_entry(struct change *change, int content, void *data, struct err *err)
{
    struct keeping *keeping = data;
    struct changes *changes = keeping->changes;

    change->number = changes_total(changes);
    if (!keeping->temp[0] && begin(keeping, keeping->store.state_dir, err) < 0)
        return -1;
    if (change->content &&
        (count_bytes(keeping, change, err) < 0 || copy_content(keeping, change, content, err) < 0))
        return -1;
    changes->counts[change->kind]++;
    changes->n_protected += change->protected_by != NULL;
    changes->n_refused += change->refused != REFUSAL_NONE;
    return write_line(keeping, change, err) < 0 ? -1 : list_entry(keeping, change, err);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int write_record(struct keeping *keeping, struct err *err)
{
    _cleanup_(buf_release) struct buf text = BUF_INIT(CHANGES_RECORD_MAX);
    struct json_writer json;

    json_writer_init_buf(&json, &text);
    json_open_object(&json);
    changes_write(&json, keeping->changes);
    json_close_object(&json);
    if (json_finish(&json) < 0)
        return err_set(err, ERR_TOO_LARGE, "the record is larger than %d bytes",
                       CHANGES_RECORD_MAX);
    _cleanup_fd_ int fd =
        openat(keeping->dir, CHANGES_RECORD_FILE, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || fd_write_all(fd, text.data, text.len) < 0)
        return fail(keeping, err);
    return 0;
}

static int finish(struct keeping *keeping, struct err *err)
{
    struct changes *changes = keeping->changes;

    clock_format(clock_realtime_ns(), changes->kept_at);
    /* All files at once, before the name that says that they are there. */
    if (flush_lines(keeping, err) < 0 || write_record(keeping, err) < 0)
        return -1;
    if (syncfs(keeping->dir) < 0)
        return fail(keeping, err);
    _cleanup_(changes_unlock) int locked = changes_store_lock(&keeping->store, err);
    if (locked < 0)
        return -1;
    if (renameat2(keeping->store.temp, keeping->temp, keeping->store.folder, changes->run_id,
                  RENAME_NOREPLACE) < 0)
        return fail(keeping, err);
    keeping->temp[0] = '\0'; /* it has its name */
    changes->kept = true;
    (void) fsync(keeping->store.folder); /* not all can */
    struct err ignored;
    /* What is too much goes with the next one, or with `wasp gc`, if not now. */
    (void) changes_evict(&keeping->store, keeping->limits, changes->run_id, keeping->arena,
                         &changes->evicted, &changes->n_evicted, &ignored);
    return 0;
}

static int describe(const struct changes_source *sources, size_t n, struct arena *arena,
                    struct changes *changes, struct err *err)
{
    struct stat st;

    changes->dirs = arena_array(arena, n + 1, sizeof(*changes->dirs));
    if (!changes->dirs)
        return err_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        if (fstat(sources[i].lower, &st) < 0)
            return err_sys(err, ERR_HOST, "cannot look at the directory '%s'", sources[i].host);
        changes->dirs[i] =
            (struct changes_dir){sources[i].host, sources[i].guest, st.st_dev, st.st_ino};
    }
    changes->n_dirs = n;
    return 0;
}

/* What the caller's own new files would not get, a guest's do not get either. */
static uint32_t read_umask(void)
{
    mode_t mask = umask(077); /* there is no other way to ask, and no thread to see it */

    (void) umask(mask); /* cannot fail */
    return mask;
}

static int scan_all(struct keeping *keeping, const struct changes_source *sources, size_t n,
                    struct err *err)
{
    uint64_t started_ns = keeping->changes->started_ns, now_ns = clock_realtime_ns();
    struct changes_scanning how = {
        .started_ns = started_ns,
        .ended_ns = now_ns > started_ns ? now_ns : started_ns,
        .mask = read_umask(),
        .max_entries = keeping->limits->max_entries,
        .take = take_entry,
        .data = keeping,
    };
    uint64_t count = 0;

    for (size_t i = 0; i < n; i++)
        if (changes_scan(&sources[i], i, &how, &count, err) < 0)
            return -1;
    return 0;
}

int changes_keep(const char *state_dir, const char *run_id, const struct changes_source *sources,
                 size_t n_sources, uint64_t started_realtime_ns,
                 const struct changes_limits *limits, struct arena *arena, struct changes *ret,
                 struct err *err)
{
    struct changes changes = {.state = CHANGES_KEPT, .started_ns = started_realtime_ns};
    _cleanup_(keeping_release) struct keeping keeping = {
        .changes = &changes,
        .limits = limits ? limits : &changes_default_limits,
        .arena = arena,
        .store = CHANGES_STORE_NONE,
        .dir = -1,
        .files = -1,
        .entries = -1,
        .lines = BUF_INIT(LINES_BYTES + 2 * CHANGE_LINE_MAX),
    };

    keeping.store.state_dir = state_dir;
    if (changes_check_run_id(run_id, err) < 0)
        return -1;
    memcpy(changes.run_id, run_id, sizeof(changes.run_id));
    if (describe(sources, n_sources, arena, &changes, err) < 0 ||
        scan_all(&keeping, sources, n_sources, err) < 0)
        return -1;
    if (changes_total(&changes) > 0 && finish(&keeping, err) < 0)
        return -1;
    *ret = changes;
    return 0;
}
