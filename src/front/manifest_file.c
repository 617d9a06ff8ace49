#include "front/manifest_file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/json.h"
#include "front/samples.h"

/* One byte more than is taken: then it is refused for its size. */
#define READ_BYTES (JSON_MAX_BYTES + 1)

static int read_file(const char *path, struct buf *text, struct err *err)
{
    struct stat st;
    char *room;
    /* A FIFO or a device must not keep us waiting. */
    _cleanup_fd_ int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

    if (fd < 0 || fstat(fd, &st) < 0)
        return err_sys(err, ERR_REQUEST, "cannot open the manifest '%s'", path);
    if (!S_ISREG(st.st_mode)) {
        (void) err_set(err, ERR_REQUEST, "the manifest '%s' is not a regular file",
                       path); /* -1, as below */
        return err_hint(err, "a manifest from a pipe is read from standard input: --manifest -");
    }
    if (buf_reserve(text, READ_BYTES, &room) < 0)
        return err_no_memory(err);
    ssize_t n = fd_read_full(fd, room, READ_BYTES);
    if (n < 0)
        return err_sys(err, ERR_REQUEST, "cannot read the manifest '%s'", path);
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

static int read_stdin(struct buf *text, int *ret_signal, struct err *err)
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
        return err_set(err, ERR_REQUEST, "cancelled by signal %d before the manifest was read",
                       *ret_signal);
    return err_sys(err, ERR_REQUEST, "cannot read the manifest from standard input");
}

/* The folder as the path is written; NULL for the working directory. */
static int take_folder(const char *path, struct arena *arena, const char **ret_folder,
                       struct err *err)
{
    const char *slash = strrchr(path, '/');

    *ret_folder = slash ? arena_strndup(arena, path, (size_t) (slash - path) + 1) : NULL;
    return slash && !*ret_folder ? err_no_memory(err) : 0;
}

/* A manifest that names a sample becomes a request for the sample's module. */
static int resolve_sample(struct manifest *manifest, struct err *err)
{
    if (manifest->kind != MANIFEST_SAMPLE)
        return 0;
    const struct sample *sample = sample_find(manifest->sample, err);
    if (!sample)
        return err_prefix(err, "sample");
    sample_put(sample, &manifest->request);
    return 0;
}

int manifest_file_read(const char *path, struct arena *arena, struct manifest *ret_manifest,
                       int *ret_signal, struct err *err)
{
    _cleanup_(buf_release) struct buf text = BUF_INIT(READ_BYTES);
    bool is_stdin = strcmp(path, "-") == 0;
    const char *folder = NULL;
    struct manifest manifest;

    if ((is_stdin ? read_stdin(&text, ret_signal, err) : read_file(path, &text, err)) < 0)
        return -1;
    if (!is_stdin && take_folder(path, arena, &folder, err) < 0)
        return -1;
    if (manifest_parse(text.data ? text.data : "", text.len, folder, arena, &manifest, err) < 0 ||
        resolve_sample(&manifest, err) < 0)
        return -1;
    *ret_manifest = manifest;
    return 0;
}
