/*
 * Segments: the log begins a new file when it has grown, and old ones go when enough are kept.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "report/audit_files.h"
#include "report/audit_tail.h"
#include "report/audit_writer.h"

static void cleanup_arena(struct arena **arena)
{
    arena_free(*arena);
}

/* 0, or -1 and errno. */
static int sync_folder(const struct audit *audit)
{
    return audit->settings.durability == DURABILITY_POWER ? fsync(audit->folder) : 0;
}

/* What is killed in between, audit_settle finishes. */
static int begin_segment(struct audit *audit, struct err *err)
{
    struct audit_head *head = &audit->head;
    char name[AUDIT_NAME_SIZE];
    uint64_t size;

    audit_segment_name(head->segment, name);
    if (renameat2(audit->folder, AUDIT_LOG, audit->folder, name, RENAME_NOREPLACE) < 0) {
        (void) audit_fail("rotate", err); /* -1 is returned below */
        return err_hint(err, "nothing may be in the way of 'audit/%s' in the state folder", name);
    }
    head->segment++;
    head->size = 0;
    if (audit_open_log(audit, &size, err) < 0)
        return -1;
    return sync_folder(audit) < 0 ? audit_fail("rotate", err) : 0;
}

/* ---- retention ------------------------------------------------------------------------------- */

/* How many of the segments are too old. */
static size_t count_old(const struct audit *audit, const struct audit_segments *segments)
{
    size_t n = 0;

    while (n < segments->count &&
           segments->numbers[n] + audit->settings.keep_segments < audit->head.segment)
        n++;
    return n;
}

/* Said before it is done: a log that begins later than its records say was cut. */
static int announce(struct audit *audit, const char *first, bool *ret_announced, struct err *err)
{
    const struct audit_record record = {.event = "retention", .reason = "old segments are removed"};
    struct audit_link link = {0};

    /* Damage is for a person to look at: then nothing is removed. */
    *ret_announced = audit_tail_first(audit->folder, first, &link.first_seq, &link.first_prev);
    return *ret_announced ? audit_put(audit, &record, &link, err) : 0;
}

static int remove_old(struct audit *audit, struct err *err)
{
    _cleanup_(cleanup_arena) struct arena *arena = arena_new();
    struct audit_segments segments;
    char name[AUDIT_NAME_SIZE];
    bool announced;

    if (!arena)
        return err_no_memory(err);
    if (audit_segments_list(audit->folder, arena, &segments) < 0)
        return audit_fail("list", err);
    size_t old = count_old(audit, &segments);
    if (old == 0 || old == segments.count)
        return 0;
    audit_segment_name(segments.numbers[old], name);
    if (announce(audit, name, &announced, err) < 0 || !announced)
        return announced ? -1 : 0;
    for (size_t i = 0; i < old; i++) {
        audit_segment_name(segments.numbers[i], name);
        (void) unlinkat(audit->folder, name, 0); /* what stays goes with the next rotation */
    }
    return sync_folder(audit) < 0 ? audit_fail("remove old segments of", err) : 0;
}

int audit_rotate(struct audit *audit, struct err *err)
{
    if (audit->head.size < audit->settings.rotate_bytes)
        return 0;
    if (begin_segment(audit, err) < 0)
        return -1;
    return audit->settings.keep_segments > 0 ? remove_old(audit, err) : 0;
}
