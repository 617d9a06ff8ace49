#include "report/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

/* ---- opening --------------------------------------------------------------------------------- */

/*
 * Whoever reads standard output as one JSON object must not find a second one there. A terminal or
 * /dev/null has no such reader.
 */
static bool is_stdout(const struct stat *st)
{
    struct stat out;

    return (S_ISREG(st->st_mode) || S_ISFIFO(st->st_mode) || S_ISSOCK(st->st_mode)) &&
           fstat(STDOUT_FILENO, &out) == 0 && out.st_dev == st->st_dev && out.st_ino == st->st_ino;
}

static int check_target(struct sink *sink, const char *where, struct err *err)
{
    struct stat st;

    if (fstat(sink->fd, &st) < 0)
        return err_sys(err, ERR_HOST, "cannot stat '%s'", where);
    if (is_stdout(&st)) {
        (void) err_set(err, ERR_USAGE, "events cannot go to '%s': it leads to standard output",
                       where); /* -1, as below */
        return err_hint(err, "that is for the result: name a file or another descriptor");
    }
    sink->is_socket = S_ISSOCK(st.st_mode);
    return 0;
}

/*
 * Whether a write waits is a property of the open file, which we share with whoever gave it to us.
 * So a pipe or a terminal is opened anew. A regular file does not make us wait, and its offset is
 * to be shared; a socket can be told with each write.
 */
static int own_descriptor(int fd, struct sink *sink)
{
    char path[32];
    struct stat st;

    if (fstat(fd, &st) < 0)
        return -1;
    if (S_ISREG(st.st_mode) || S_ISSOCK(st.st_mode)) {
        sink->fd = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        return sink->fd < 0 ? -1 : 0;
    }
    (void) snprintf(path, sizeof(path), "/proc/self/fd/%d", fd); /* fits */
    sink->fd = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (sink->fd < 0 && errno == ENXIO)
        return 0; /* a pipe whose reader is gone already: every line will be dropped */
    return sink->fd < 0 ? -1 : 0;
}

static int open_descriptor(const char *where, struct sink *sink, struct err *err)
{
    const char *digits = where + strlen("fd:");
    char *end;
    unsigned long fd = strtoul(digits, &end, 10);

    if (digits[0] < '0' || digits[0] > '9' || *end || fd > INT_MAX)
        return err_set(err, ERR_USAGE, "'%s' is no descriptor: write fd:3, or the name of a file",
                       where);
    if (fd == STDOUT_FILENO)
        return err_set(err, ERR_USAGE, "events cannot go to fd:1: standard output is the result's");
    int flags = fcntl((int) fd, F_GETFL);
    if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY || (flags & O_PATH))
        return err_set(err, ERR_USAGE, "descriptor %lu is not open for writing", fd);
    if (own_descriptor((int) fd, sink) < 0)
        return err_sys(err, ERR_HOST, "cannot use descriptor %lu for events", fd);
    return 0;
}

/*
 * No symlink is followed: an earlier guest may have left one where the file should be. The owner's
 * own can be named by where it leads.
 */
static int open_file(const char *where, struct sink *sink, struct err *err)
{
    if (where[0] == '\0')
        return err_set(err, ERR_USAGE, "--events needs the name of a file, or fd:N");
    sink->fd =
        open(where, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
             0600);
    if (sink->fd >= 0)
        return 0;
    bool is_link = errno == ELOOP;
    (void) err_sys(err, ERR_HOST, "cannot open '%s' for events", where); /* -1 is returned below */
    return is_link ? err_hint(err, "name the file itself, or a descriptor as fd:N") : -1;
}

int sink_open(struct sink *sink, const char *where, struct err *err)
{
    *sink = (struct sink){.fd = -1};
    if (strcmp(where, "-") == 0)
        return err_set(err, ERR_USAGE,
                       "--events '-': standard output is for the result, write a FILE or fd:N");
    int rc = strncmp(where, "fd:", 3) == 0 ? open_descriptor(where, sink, err)
                                           : open_file(where, sink, err);
    if (rc < 0 || sink->fd < 0)
        return rc;
    return check_target(sink, where, err);
}

void sink_release(struct sink *sink)
{
    cleanup_fd(&sink->fd);
    sink->fd = -1;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* As write, and never waits. */
static ssize_t write_now(const struct sink *sink, const char *bytes, size_t len)
{
    ssize_t n;

    do
        n = sink->is_socket ? send(sink->fd, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL)
                            : write(sink->fd, bytes, len);
    while (n < 0 && errno == EINTR);
    return n;
}

/* How many of the bytes were taken; gives up for good on a reader that is gone. */
static size_t push(struct sink *sink, const char *bytes, size_t len, int patience_ms)
{
    if (sink->fd < 0)
        return 0;
    ssize_t n = write_now(sink, bytes, len);
    if (n < 0 && errno == EAGAIN && patience_ms > 0) {
        struct pollfd room = {.fd = sink->fd, .events = POLLOUT};
        if (poll(&room, 1, patience_ms) == 1)
            n = write_now(sink, bytes, len);
    }
    if (n < 0 && (errno == EPIPE || errno == ECONNRESET || errno == ENOTCONN))
        sink_release(sink);
    return n > 0 ? (size_t) n : 0;
}

/* True if nothing of an earlier line is left. */
static bool push_rest(struct sink *sink, int patience_ms)
{
    size_t n = push(sink, sink->rest, sink->n_rest, patience_ms);

    sink->n_rest -= n;
    memmove(sink->rest, sink->rest + n, sink->n_rest);
    return sink->n_rest == 0;
}

bool sink_put(struct sink *sink, const char *line, size_t len, int patience_ms)
{
    if (len > SINK_MAX_LINE || (sink->n_rest > 0 && !push_rest(sink, patience_ms)))
        return false;
    size_t n = push(sink, line, len, patience_ms);
    if (n == 0)
        return false;
    sink->n_rest = len - n;
    memcpy(sink->rest, line + n, sink->n_rest);
    return sink->n_rest == 0 || patience_ms == 0 || push_rest(sink, patience_ms);
}
