#include "report/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/folder.h"
#include "report/audit_files.h"
#include "report/audit_writer.h"

int audit_fail(const char *what, struct err *err)
{
    bool is_full = errno == ENOSPC || errno == EDQUOT || errno == EFBIG;

    (void) err_sys(err, ERR_HOST, "cannot %s the audit log", what); /* -1 is returned below */
    if (is_full)
        return err_hint(err, "make room on the disk of the state folder");
    return -1;
}

void audit_close(struct audit *audit)
{
    if (!audit)
        return;
    cleanup_fd(&audit->log_fd);
    cleanup_fd(&audit->head_fd);
    cleanup_fd(&audit->folder);
    cleanup_fd(&audit->state);
    free(audit);
}

static void cleanup_audit(struct audit **audit)
{
    audit_close(*audit);
}

int audit_open(const char *state_dir, const struct audit_settings *settings,
               struct audit **ret_audit, struct err *err)
{
    const int flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;

    if (!state_dir) {
        (void) err_set(err, ERR_HOST, "there is no place for the audit log"); /* -1, as below */
        return err_hint(err, "set WASP_STATE_DIR or HOME, or do without by --audit off");
    }
    _cleanup_(cleanup_audit) struct audit *audit = calloc(1, sizeof(*audit));
    if (!audit)
        return err_no_memory(err);
    *audit = (struct audit){*settings, .state = -1, .folder = -1, .head_fd = -1, .log_fd = -1};
    if (audit->settings.rotate_bytes == 0)
        audit->settings.rotate_bytes = AUDIT_ROTATE_BYTES;
    if (folder_open(state_dir, &audit->state, err) < 0 ||
        folder_open_in(audit->state, AUDIT_FOLDER, &audit->folder, err) < 0)
        return err_prefix(err, "cannot open the audit log");
    audit->head_fd = openat(audit->state, AUDIT_HEAD, flags, 0600);
    if (audit->head_fd < 0)
        return audit_fail("open the head of", err);
    *ret_audit = audit;
    audit = NULL;
    return 0;
}

int audit_open_log(struct audit *audit, uint64_t *ret_size, struct err *err)
{
    const int flags = O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    struct stat st;

    cleanup_fd(&audit->log_fd);
    audit->log_fd = openat(audit->folder, AUDIT_LOG, flags, 0600);
    if (audit->log_fd < 0 || fstat(audit->log_fd, &st) < 0)
        return audit_fail("open", err);
    if (!S_ISREG(st.st_mode))
        return err_set(err, ERR_HOST, "the audit log '%s' is not a regular file", AUDIT_LOG);
    audit->segment = audit->head.segment;
    audit->log_dev = st.st_dev;
    audit->log_ino = st.st_ino;
    *ret_size = (uint64_t) st.st_size;
    return 0;
}

/* ---- one record ------------------------------------------------------------------------------ */

static bool is_power(const struct audit *audit)
{
    return audit->settings.durability == DURABILITY_POWER;
}

/* With the names, too, when the first record is written: they may be as new as it is. */
static int sync_head(const struct audit *audit)
{
    if (!is_power(audit))
        return 0;
    if (fdatasync(audit->head_fd) < 0)
        return -1;
    return audit->head.seq > 0 || (fsync(audit->state) == 0 && fsync(audit->folder) == 0) ? 0 : -1;
}

/* All of it in one write, or -1 and errno. */
static int write_line(const struct audit *audit, const struct buf *line)
{
    ssize_t n;

    do
        n = write(audit->log_fd, line->data, line->len);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return -1;
    if ((size_t) n < line->len) {
        errno = ENOSPC; /* the one reason for a short write to a file */
        return -1;
    }
    return is_power(audit) ? fdatasync(audit->log_fd) : 0;
}

/* The head says what comes, the record comes, the head says that it came. */
static int commit(struct audit *audit, const struct buf *line, const struct audit_head *next)
{
    struct audit_head *head = &audit->head;

    head->has_next = true;
    head->next = next->hash;
    head->next_size = next->size;
    if (audit_head_write(audit->head_fd, head) < 0 || sync_head(audit) < 0 ||
        write_line(audit, line) < 0)
        return -1;
    /* Not synced: after a power loss `next` is as good, as the record is there. */
    return audit_head_write(audit->head_fd, next);
}

int audit_put(struct audit *audit, const struct audit_record *record, struct audit_link *link,
              struct err *err)
{
    _cleanup_(buf_release) struct buf line = BUF_INIT(AUDIT_MAX_RECORD);
    struct audit_head *head = &audit->head;
    struct audit_head next = *head;

    link->seq = head->seq + 1;
    link->time_ns = clock_realtime_ns();
    link->prev = head->hash;
    if (audit_line_write(record, link, audit->settings.secrets, &line, &next.hash, err) < 0)
        return -1;
    next.seq++;
    next.size += line.len;
    next.has_next = false;
    if (commit(audit, &line, &next) == 0) {
        *head = next;
        return 0;
    }
    (void) audit_fail("write to", err); /* -1 is returned below */
    /*
     * What of the record is there goes. If even this fails, the head's `next` stays and says that
     * it was never acknowledged.
     */
    head->has_next = false;
    if (ftruncate(audit->log_fd, (off_t) head->size) == 0)
        (void) audit_head_write(audit->head_fd, head);
    return -1;
}

static int append_locked(struct audit *audit, const struct audit_record *record, struct err *err)
{
    struct audit_link link = {0};

    if (audit_settle(audit, err) < 0 || audit_rotate(audit, err) < 0)
        return -1;
    return audit_put(audit, record, &link, err);
}

int audit_append(struct audit *audit, const struct audit_record *record,
                 struct audit_place *ret_place, struct err *err)
{
    if (audit_lock(audit->head_fd, LOCK_EX) < 0)
        return audit_fail("lock", err);
    int rc = append_locked(audit, record, err);
    (void) audit_lock(audit->head_fd, LOCK_UN); /* cannot fail for a lock that is ours */
    if (rc == 0 && ret_place)
        *ret_place = (struct audit_place){audit->head.seq, audit->head.hash};
    return rc;
}
