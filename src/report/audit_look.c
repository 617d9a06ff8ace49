#include "report/audit_look.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define WAIT_MS 1000 /* where the kernel does not tell of changes */

static void cleanup_arena(struct arena **arena)
{
    arena_free(*arena);
}

int audit_source_measure(struct audit_source *source, struct err *err)
{
    struct stat st;

    if (fstat(source->fd, &st) < 0)
        return err_sys(err, ERR_HOST, "cannot look at '%s' of the audit log", source->name);
    if (!S_ISREG(st.st_mode))
        return err_set(err, ERR_HOST, "'%s' of the audit log is not a regular file", source->name);
    source->limit = (uint64_t) st.st_size;
    return 0;
}

/* Opens what is in the folder; *fd stays -1 if it is not there. 0, or -1 and *err. */
static int open_if_there(int folder, const char *name, int flags, int *fd, struct err *err)
{
    if (*fd >= 0 || folder < 0)
        return 0;
    *fd = openat(folder, name, flags | O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (*fd < 0 && errno != ENOENT)
        return err_sys(err, ERR_HOST, "cannot open '%s' of the audit log", name);
    return 0;
}

static int add_source(struct audit_reader *reader, uint64_t number, int fd, struct err *err)
{
    size_t n = reader->n_sources;
    struct audit_source *grown = reallocarray(reader->sources, n + 1, sizeof(*grown));

    if (!grown)
        return err_no_memory(err);
    reader->sources = grown;
    grown[n] = (struct audit_source){.number = number, .fd = fd};
    if (number > 0)
        audit_segment_name(number, grown[n].name);
    else
        (void) snprintf(grown[n].name, sizeof(grown[n].name), "%s", AUDIT_LOG); /* fits */
    reader->n_sources++;
    return 0;
}

/* Whether the last source is log.jsonl as it is now. */
static bool is_same_file(const struct audit_reader *reader, const struct stat *now)
{
    const struct audit_source *last = &reader->sources[reader->n_sources - 1];
    struct stat st;

    return last->fd >= 0 && fstat(last->fd, &st) == 0 && st.st_dev == now->st_dev &&
           st.st_ino == now->st_ino;
}

static int add_log(struct audit_reader *reader, struct err *err)
{
    _cleanup_fd_ int fd = -1;

    if (open_if_there(reader->folder, AUDIT_LOG, 0, &fd, err) < 0)
        return -1;
    if (fd < 0)
        return 0;
    if (add_source(reader, 0, fd, err) < 0)
        return -1;
    (void) take_fd(&fd); /* it is the source's now */
    struct audit_source *source = &reader->sources[reader->n_sources - 1];
    if (audit_source_measure(source, err) < 0)
        return -1;
    reader->log_size = source->limit;
    return 0;
}

/* The segments above `from`, then log.jsonl. */
static int add_files(struct audit_reader *reader, uint64_t from, struct err *err)
{
    _cleanup_(cleanup_arena) struct arena *arena = arena_new();
    struct audit_segments segments;

    if (!arena)
        return err_no_memory(err);
    if (audit_segments_list(reader->folder, arena, &segments) < 0)
        return err_sys(err, ERR_HOST, "cannot list the audit log");
    for (size_t i = 0; i < segments.count; i++)
        if (segments.numbers[i] > from && add_source(reader, segments.numbers[i], -1, err) < 0)
            return -1;
    return add_log(reader, err);
}

/*
 * What was log.jsonl when we looked last has the number that the head said then; further ones may
 * have come and gone since.
 */
static int look_again(struct audit_reader *reader, uint64_t was_segment, struct err *err)
{
    struct audit_source *last = &reader->sources[reader->n_sources - 1];
    struct stat st;

    if (last->fd >= 0 && audit_source_measure(last, err) < 0)
        return -1;
    bool there = fstatat(reader->folder, AUDIT_LOG, &st, AT_SYMLINK_NOFOLLOW) == 0;
    if (!there || is_same_file(reader, &st)) {
        reader->log_size = there ? last->limit : 0;
        return 0;
    }
    return add_files(reader, was_segment, err);
}

uint64_t audit_reader_next_number(const struct audit_reader *reader)
{
    uint64_t last = 0;

    for (size_t i = 0; i < reader->n_sources; i++)
        if (reader->sources[i].number > last)
            last = reader->sources[i].number;
    return last + 1;
}

/* With the lock, so that no record is half written unless its writer is dead. */
static int look_locked(struct audit_reader *reader, struct err *err)
{
    uint64_t was_segment =
        reader->head_state == HEAD_GOOD ? reader->head.segment : audit_reader_next_number(reader);

    reader->head_state = HEAD_EMPTY;
    if (reader->head_fd >= 0 &&
        audit_head_read(reader->head_fd, &reader->head_state, &reader->head) < 0)
        return err_sys(err, ERR_HOST, "cannot read the head of the audit log");
    if (reader->folder < 0)
        return 0;
    return reader->n_sources > 0 ? look_again(reader, was_segment, err) : add_files(reader, 0, err);
}

int audit_reader_look(struct audit_reader *reader, struct err *err)
{
    if (reader->state < 0)
        reader->state = open(reader->state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (reader->state < 0 && errno != ENOENT)
        return err_sys(err, ERR_HOST, "cannot open the state folder '%s'", reader->state_dir);
    if (open_if_there(reader->state, AUDIT_FOLDER, O_DIRECTORY, &reader->folder, err) < 0 ||
        open_if_there(reader->state, AUDIT_HEAD, 0, &reader->head_fd, err) < 0)
        return -1;
    if (reader->head_fd >= 0 && audit_lock(reader->head_fd, LOCK_SH) < 0)
        return err_sys(err, ERR_HOST, "cannot lock the audit log");
    int rc = look_locked(reader, err);
    if (reader->head_fd >= 0)
        (void) audit_lock(reader->head_fd, LOCK_UN); /* cannot fail for a lock that is ours */
    return rc;
}

/* False if nothing is watched, or since just now, and something may have been missed. */
static bool begin_watch(struct audit_reader *reader)
{
    char path[32];

    if (reader->watch >= 0 || reader->folder < 0)
        return reader->watch >= 0;
    reader->watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    (void) snprintf(path, sizeof(path), "/proc/self/fd/%d", reader->folder); /* fits */
    if (reader->watch >= 0) /* without it, we look once a second */
        (void) inotify_add_watch(reader->watch, path, IN_MODIFY | IN_CREATE | IN_MOVED_TO);
    return false;
}

bool audit_reader_wait(struct audit_reader *reader, int out)
{
    bool is_watched = begin_watch(reader);
    struct pollfd fds[] = {{.fd = reader->watch, .events = POLLIN}, {.fd = out}};
    char events[4096];

    /* Whatever it says: we look again. */
    (void) poll(fds, 2, is_watched || reader->watch < 0 ? WAIT_MS : 0);
    while (reader->watch >= 0 && read(reader->watch, events, sizeof(events)) > 0)
        ; /* what they say does not matter */
    return (fds[1].revents & (POLLERR | POLLHUP | POLLNVAL)) == 0;
}
