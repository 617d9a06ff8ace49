#include "report/audit_read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "report/audit_look.h"

#define BUFFER_BYTES ((size_t) 1 << 20)

static void cleanup_reader(struct audit_reader **reader)
{
    audit_reader_close(*reader);
}

void audit_reader_close(struct audit_reader *reader)
{
    if (!reader)
        return;
    for (size_t i = 0; i < reader->n_sources; i++)
        cleanup_fd(&reader->sources[i].fd);
    free(reader->sources);
    free(reader->buffer);
    cleanup_fd(&reader->watch);
    cleanup_fd(&reader->head_fd);
    cleanup_fd(&reader->folder);
    cleanup_fd(&reader->state);
    free(reader);
}

int audit_reader_open(const char *state_dir, struct audit_reader **ret_reader, struct err *err)
{
    _cleanup_(cleanup_reader) struct audit_reader *reader = calloc(1, sizeof(*reader));

    if (!reader)
        return err_no_memory(err);
    reader->state = reader->folder = reader->head_fd = reader->watch = -1;
    reader->buffer = malloc(BUFFER_BYTES);
    if (!reader->buffer)
        return err_no_memory(err);
    if (!state_dir) {
        (void) err_set(err, ERR_HOST, "there is no place for an audit log"); /* -1, as below */
        return err_hint(err, "set WASP_STATE_DIR or HOME");
    }
    reader->state_dir = state_dir;
    if (audit_reader_look(reader, err) < 0)
        return -1;
    *ret_reader = reader;
    reader = NULL;
    return 0;
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* Those of older segments are opened when their turn comes: there may be many. */
static int open_source(const struct audit_reader *reader, struct audit_source *source,
                       struct err *err)
{
    const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;

    if (source->fd >= 0)
        return 0;
    source->fd = openat(reader->folder, source->name, flags);
    if (source->fd >= 0)
        return audit_source_measure(source, err);
    bool is_gone = errno == ENOENT;
    (void) err_sys(err, ERR_HOST, "cannot open '%s' of the audit log", source->name); /* -1 below */
    return is_gone ? err_hint(err, "retention may have removed it just now: try again") : -1;
}

/* On to the next file. False if there is none. */
static bool next_source(struct audit_reader *reader)
{
    if (reader->at + 1 >= reader->n_sources)
        return false;
    cleanup_fd(&reader->sources[reader->at].fd);
    reader->sources[reader->at++].fd = -1;
    reader->line = reader->offset = 0;
    reader->start = reader->end = 0;
    return true;
}

/* More bytes of the file into the buffer: 1, 0 at its limit, or -1 and *err. */
static int fill(struct audit_reader *reader, struct audit_source *source, struct err *err)
{
    uint64_t left = source->limit > reader->offset ? source->limit - reader->offset : 0;
    ssize_t n;

    memmove(reader->buffer, reader->buffer + reader->start, reader->end - reader->start);
    reader->end -= reader->start;
    reader->start = 0;
    size_t room = BUFFER_BYTES - reader->end;
    do
        n = pread(source->fd, reader->buffer + reader->end, left < room ? left : room,
                  (off_t) reader->offset);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return err_sys(err, ERR_HOST, "cannot read '%s' of the audit log", source->name);
    reader->end += (size_t) n;
    reader->offset += (uint64_t) n;
    return n > 0;
}

static int hand_out(struct audit_reader *reader, size_t len, bool is_whole, struct audit_raw *raw)
{
    bool is_long = reader->is_skipping || len >= AUDIT_MAX_RECORD;

    *raw = (struct audit_raw){
        .text = reader->buffer + reader->start,
        .len = is_long ? 0 : len,
        .file = reader->sources[reader->at].name,
        .line = reader->line + 1,
        .is_whole = is_whole,
        .is_long = is_long,
    };
    if (!is_whole)
        return 1; /* it stays in the buffer: the next writer cuts it off, or somebody finishes it */
    reader->start += len + 1;
    reader->line++;
    reader->is_skipping = false;
    return 1;
}

/* What is left in the buffer at a file's end has no newline. It is told once. */
static int hand_out_rest(struct audit_reader *reader, struct audit_raw *raw)
{
    size_t len = reader->end - reader->start;

    if (len == 0 && !reader->is_skipping)
        return 0;
    (void) hand_out(reader, len, false, raw); /* always 1 */
    reader->offset -= len;
    reader->start = reader->end = 0;
    reader->sources[reader->at].limit = reader->offset;
    reader->is_skipping = false;
    return 1;
}

/* 1 and a line, 0 at the limit of this file, or -1 and *err. */
static int next_in_source(struct audit_reader *reader, struct audit_source *source,
                          struct audit_raw *raw, struct err *err)
{
    for (size_t seen = 0;;) {
        const char *from = reader->buffer + reader->start;
        size_t len = reader->end - reader->start;
        const char *end = memchr(from + seen, '\n', len - seen);
        if (end)
            return hand_out(reader, (size_t) (end - from), true, raw);
        if (len >= AUDIT_MAX_RECORD) {
            reader->is_skipping = true;
            reader->start = reader->end;
            len = 0;
        }
        seen = len;
        int rc = fill(reader, source, err);
        if (rc <= 0)
            return rc < 0 ? -1 : hand_out_rest(reader, raw);
    }
}

int audit_reader_next(struct audit_reader *reader, struct audit_raw *ret_raw, struct err *err)
{
    while (reader->at < reader->n_sources) {
        struct audit_source *source = &reader->sources[reader->at];
        if (open_source(reader, source, err) < 0)
            return -1;
        int rc = next_in_source(reader, source, ret_raw, err);
        if (rc != 0)
            return rc;
        if (!next_source(reader))
            return 0;
    }
    return 0;
}
