#include "report/audit_tail.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "report/audit_files.h"
#include "report/audit_writer.h"

static void cleanup_arena(struct arena **arena)
{
    arena_free(*arena);
}

static bool digest_of(struct span span, struct digest *ret_digest)
{
    char hex[DIGEST_HEX];

    memcpy(hex, span.text, AUDIT_HASH_HEX);
    hex[AUDIT_HASH_HEX] = '\0';
    return digest_from_hex(hex, ret_digest);
}

static int open_part(int folder, const char *name, uint64_t *ret_size)
{
    _cleanup_fd_ int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return -1;
    *ret_size = (uint64_t) st.st_size;
    return take_fd(&fd);
}

bool audit_tail_first(int folder, const char *name, uint64_t *ret_seq, struct digest *ret_prev)
{
    char text[AUDIT_MAX_RECORD];
    struct audit_line line;
    uint64_t size;
    _cleanup_fd_ int fd = open_part(folder, name, &size);
    ssize_t n = fd < 0 ? -1 : fd_read_full(fd, text, sizeof(text));
    const char *end = n > 0 ? memchr(text, '\n', (size_t) n) : NULL;

    if (!end || !audit_line_scan(text, (size_t) (end - text), &line))
        return false;
    *ret_seq = line.seq;
    return digest_of(line.field[FIELD_PREV], ret_prev);
}

/* The last line of the text that is a record. */
static bool find_last(const char *text, size_t len, struct audit_head *head)
{
    struct audit_line line;

    for (const char *end; (end = memrchr(text, '\n', len)) != NULL; len = (size_t) (end - text)) {
        const char *before = memrchr(text, '\n', (size_t) (end - text));
        const char *start = before ? before + 1 : text;
        if (audit_line_scan(start, (size_t) (end - start), &line)) {
            head->seq = line.seq;
            return digest_of(line.field[FIELD_HASH], &head->hash);
        }
    }
    return false;
}

static bool find_in(int folder, const char *name, struct audit_head *head)
{
    const size_t room = (size_t) 4 * AUDIT_MAX_RECORD;
    _cleanup_free_ char *text = malloc(room);
    uint64_t size;
    _cleanup_fd_ int fd = open_part(folder, name, &size);

    if (!text || fd < 0)
        return false;
    uint64_t from = size > room ? size - room : 0;
    ssize_t n = pread(fd, text, room, (off_t) from);
    return n > 0 && find_last(text, (size_t) n, head);
}

static bool has_bytes(int folder, const char *name)
{
    struct stat st;

    return fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_size > 0;
}

static int list(int folder, struct arena **ret_arena, struct audit_segments *ret_segments,
                struct err *err)
{
    *ret_arena = arena_new();
    if (!*ret_arena)
        return err_no_memory(err);
    return audit_segments_list(folder, *ret_arena, ret_segments) < 0 ? audit_fail("list", err) : 0;
}

int audit_tail_exists(int folder, bool *ret_exists, struct err *err)
{
    _cleanup_(cleanup_arena) struct arena *arena = NULL;
    struct audit_segments segments;

    if (list(folder, &arena, &segments, err) < 0)
        return -1;
    *ret_exists = segments.count > 0 || has_bytes(folder, AUDIT_LOG);
    return 0;
}

int audit_tail_find(int folder, struct audit_head *head, struct err *err)
{
    _cleanup_(cleanup_arena) struct arena *arena = NULL;
    struct audit_segments segments;
    char name[AUDIT_NAME_SIZE];

    if (list(folder, &arena, &segments, err) < 0)
        return -1;
    head->segment = segments.count > 0 ? segments.numbers[segments.count - 1] + 1 : 1;
    if (find_in(folder, AUDIT_LOG, head))
        return 0;
    for (size_t i = segments.count; i > 0; i--) {
        audit_segment_name(segments.numbers[i - 1], name);
        if (find_in(folder, name, head))
            return 0;
    }
    if (segments.count == 0 && !has_bytes(folder, AUDIT_LOG))
        return 0; /* a damaged head, and no log: it begins anew, which is recorded */
    (void) err_set(err, ERR_HOST, "the audit log and its head are both damaged"); /* -1, as below */
    return err_hint(err,
                    "see 'wasp audit verify'; move '%s' and '%s' out of the state folder to "
                    "begin a new log",
                    AUDIT_FOLDER, AUDIT_HEAD);
}
