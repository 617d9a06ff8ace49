#include "front/input.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"

static int read_file(const char *path, const char *what, struct buf *text, struct err *err)
{
    size_t len = text->max - text->len;
    struct stat st;
    char *room;
    /* A FIFO or a device must not keep us waiting. */
    _cleanup_fd_ int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

    if (fd < 0 || fstat(fd, &st) < 0)
        return err_sys(err, ERR_REQUEST, "cannot open the %s '%s'", what, path);
    if (!S_ISREG(st.st_mode)) {
        (void) err_set(err, ERR_REQUEST, "the %s '%s' is not a regular file", what,
                       path); /* -1, as below */
        return err_hint(err, "from a pipe it is read as standard input: write '-' for its name");
    }
    if (buf_reserve(text, len, &room) < 0)
        return err_no_memory(err);
    ssize_t n = fd_read_full(fd, room, len);
    if (n < 0)
        return err_sys(err, ERR_REQUEST, "cannot read the %s '%s'", what, path);
    buf_commit(text, (size_t) n);
    return 0;
}

/* Waits until there is something to read. 0, or -1 with a signal in *ret_signal or errno. */
static int wait_for_stdin(int signals, int *ret_signal)
{
    struct pollfd ready[] = {{.fd = STDIN_FILENO, .events = POLLIN},
                             {.fd = signals, .events = POLLIN}};
    struct signalfd_siginfo info;

    while (poll(ready, ARRAY_SIZE(ready), -1) < 0)
        if (errno != EINTR)
            return -1;
    if (!ready[1].revents || read(signals, &info, sizeof(info)) != sizeof(info))
        return 0;
    *ret_signal = (int) info.ssi_signo;
    return -1;
}

/* Reads until the end or until the text is full. 0, or -1 as above. */
static int fill_from_stdin(struct buf *text, int signals, int *ret_signal)
{
    char bytes[16384];

    while (text->len < text->max) {
        size_t room = text->max - text->len;
        if (wait_for_stdin(signals, ret_signal) < 0)
            return -1;
        ssize_t n = read(STDIN_FILENO, bytes, room < sizeof(bytes) ? room : sizeof(bytes));
        if (n == 0)
            break;
        if (n < 0 && errno != EAGAIN && errno != EINTR)
            return -1;
        if (n > 0 && buf_add(text, bytes, (size_t) n) < 0)
            return -1;
    }
    return 0;
}

static int read_stdin(const char *what, struct buf *text, int *ret_signal, struct err *err)
{
    sigset_t held;

    (void) sigemptyset(&held); /* none of these can fail: the numbers are valid */
    (void) sigaddset(&held, SIGINT);
    (void) sigaddset(&held, SIGTERM);
    (void) sigaddset(&held, SIGHUP);
    _cleanup_fd_ int signals = signalfd(-1, &held, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals < 0)
        return err_sys(err, ERR_HOST, "cannot listen to signals");
    if (fill_from_stdin(text, signals, ret_signal) == 0)
        return 0;
    if (*ret_signal)
        return err_set(err, ERR_REQUEST, "cancelled by signal %d before the %s was read",
                       *ret_signal, what);
    return err_sys(err, ERR_REQUEST, "cannot read the %s from standard input", what);
}

int input_read(const char *path, const char *what, struct buf *text, int *ret_signal,
               struct err *err)
{
    if (strcmp(path, "-") == 0)
        return read_stdin(what, text, ret_signal, err);
    return read_file(path, what, text, err);
}
