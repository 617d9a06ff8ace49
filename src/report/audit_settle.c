/*
 * What a writer does first: reads the head, and looks whether the log ends where that says. It
 * mostly does. If not, either a writer was killed, and of what it was doing nothing was
 * acknowledged; or somebody else was at the files, and then the chain goes on from the head so that
 * the gap shows.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/audit_files.h"
#include "report/audit_tail.h"
#include "report/audit_writer.h"

static int record_recovery(struct audit *audit, const char *reason, struct err *err)
{
    const struct audit_record record = {.event = "recovered", .reason = reason};
    struct audit_link link = {0};

    return audit_put(audit, &record, &link, err);
}

/* The open log's size, if it is still the one that has the name. */
static bool is_current(const struct audit *audit, uint64_t *ret_size)
{
    struct stat st;

    if (audit->log_fd < 0 || audit->segment != audit->head.segment ||
        fstatat(audit->folder, AUDIT_LOG, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
        st.st_ino != audit->log_ino || st.st_dev != audit->log_dev)
        return false;
    *ret_size = (uint64_t) st.st_size;
    return true;
}

/* ---- a killed writer ------------------------------------------------------------------------- */

/* A rotation that got as far as the old segment's new name. */
static bool is_half_rotated(const struct audit *audit, uint64_t size)
{
    char name[AUDIT_NAME_SIZE];
    struct stat st;

    audit_segment_name(audit->head.segment, name);
    return size == 0 && audit->head.size > 0 &&
           fstatat(audit->folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
           (uint64_t) st.st_size == audit->head.size;
}

/* Whether the bytes where the next record was to be are that record. */
static bool next_is_whole(const struct audit *audit)
{
    const struct audit_head *head = &audit->head;
    char text[AUDIT_MAX_RECORD];
    size_t len = (size_t) (head->next_size - head->size);
    struct audit_line line;
    struct digest hash;

    if (head->next_size - head->size > sizeof(text) ||
        pread(audit->log_fd, text, len, (off_t) head->size) != (ssize_t) len ||
        text[len - 1] != '\n' || !audit_line_scan(text, len - 1, &line))
        return false;
    audit_line_hash(text, &line, &hash);
    return line.seq == head->seq + 1 && digest_equal(&hash, &head->next);
}

static int cut_unfinished(struct audit *audit, uint64_t size, struct err *err)
{
    char reason[128];

    if (ftruncate(audit->log_fd, (off_t) audit->head.size) < 0)
        return audit_fail("cut an unfinished record off", err);
    audit->head.has_next = false;
    (void) snprintf(reason, sizeof(reason), /* fits */
                    "%" PRIu64 " bytes of a record that was never finished were cut off",
                    size - audit->head.size);
    return record_recovery(audit, reason, err);
}

/* There is a next record, and the log's end is where it could have been left. */
static int settle_next(struct audit *audit, uint64_t size, struct err *err)
{
    struct audit_head *head = &audit->head;

    if (size != head->size && !(size == head->next_size && next_is_whole(audit)))
        return cut_unfinished(audit, size, err);
    head->has_next = false;
    if (size == head->next_size) {
        head->seq++;
        head->hash = head->next;
        head->size = head->next_size;
    }
    /* At once: what comes next may be a rotation, and it must be clear what that rotates. */
    return audit_head_write(audit->head_fd, head) < 0 ? audit_fail("write the head of", err) : 0;
}

/* ---- somebody else --------------------------------------------------------------------------- */

/* What is there stays as it is; the next record begins on a line of its own. */
static int end_line(struct audit *audit, uint64_t *size, struct err *err)
{
    char last = '\n';

    if (*size > 0 && pread(audit->log_fd, &last, 1, (off_t) *size - 1) != 1)
        return audit_fail("read", err);
    if (last == '\n')
        return 0;
    if (write(audit->log_fd, "\n", 1) != 1)
        return audit_fail("write to", err);
    ++*size;
    return 0;
}

static int settle_damage(struct audit *audit, uint64_t size, struct err *err)
{
    uint64_t said = audit->head.size;
    char reason[160];

    (void) snprintf(reason, sizeof(reason), /* fits */
                    "the log had %" PRIu64 " bytes where its head says %" PRIu64
                    ": it was changed by something else",
                    size, said);
    if (end_line(audit, &size, err) < 0)
        return -1;
    audit->head.has_next = false;
    audit->head.size = size;
    return record_recovery(audit, reason, err);
}

/* The head is gone or no head of ours: from the log's own end. */
static int rebuild_head(struct audit *audit, struct err *err)
{
    uint64_t size;

    audit_head_init(&audit->head);
    if (audit_tail_find(audit->folder, &audit->head, err) < 0 ||
        audit_open_log(audit, &size, err) < 0 || end_line(audit, &size, err) < 0)
        return -1;
    audit->head.size = size;
    return record_recovery(audit, "the head was missing or damaged: it was made anew from the log",
                           err);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static int settle_log(struct audit *audit, struct err *err)
{
    struct audit_head *head = &audit->head;
    uint64_t size;

    if (!is_current(audit, &size) && audit_open_log(audit, &size, err) < 0)
        return -1;
    if (size == head->size && !head->has_next)
        return 0;
    if (is_half_rotated(audit, size)) {
        head->segment++;
        head->size = 0;
        head->has_next = false;
        audit->segment = head->segment;
        return 0;
    }
    if (head->has_next && size >= head->size && size <= head->next_size)
        return settle_next(audit, size, err);
    return settle_damage(audit, size, err);
}

int audit_settle(struct audit *audit, struct err *err)
{
    enum audit_head_state state;
    uint64_t size;
    bool has_log;

    if (audit_head_read(audit->head_fd, &state, &audit->head) < 0)
        return audit_fail("read the head of", err);
    if (state == HEAD_GOOD)
        return settle_log(audit, err);
    if (audit_tail_exists(audit->folder, &has_log, err) < 0)
        return -1;
    if (has_log || state == HEAD_BAD)
        return rebuild_head(audit, err);
    audit_head_init(&audit->head);
    return audit_open_log(audit, &size, err);
}
