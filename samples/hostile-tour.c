/*
 * hostile-tour: tries what a guest must not be able to do and prints what came of each attempt.
 * Ends with 0 if every one was refused, with 1 if anything got through. It tidies up after itself.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wasi/api.h>

#define UP "../../../../../../../.."
#define LINK "hostile-tour.link"
#define FILE_NAME "hostile-tour.file"
#define DESCRIPTORS 64
#define MIB (1 << 20)

/* What came of an attempt. */
struct outcome {
    bool got_through;
    char text[160];
};

static void say(struct outcome *outcome, bool got_through, const char *text)
{
    outcome->got_through = got_through;
    (void) snprintf(outcome->text, sizeof(outcome->text), "%s", text); /* ours, or strerror's */
}

static void try_read(const char *path, struct outcome *outcome)
{
    char byte;
    int fd = open(path, O_RDONLY);

    say(outcome, fd >= 0 && read(fd, &byte, 1) >= 0, fd >= 0 ? "it is readable" : strerror(errno));
    if (fd >= 0)
        (void) close(fd); /* only read */
}

/* ---- files of the host ----------------------------------------------------------------------- */

static void read_absolute(struct outcome *outcome)
{
    try_read("/etc/passwd", outcome);
}

static void read_upwards(struct outcome *outcome)
{
    try_read(UP "/etc/passwd", outcome);
}

static void read_processes(struct outcome *outcome)
{
    try_read(UP "/proc/self/environ", outcome);
}

static void read_through_link(const char *target, struct outcome *outcome)
{
    (void) unlink(LINK); /* of an earlier tour that was cut short */
    if (symlink(target, LINK) < 0) {
        say(outcome, false, strerror(errno));
        return;
    }
    try_read(LINK, outcome);
    (void) unlink(LINK); /* a link that leads nowhere harms nobody */
}

static void read_absolute_link(struct outcome *outcome)
{
    read_through_link("/etc/passwd", outcome);
}

static void read_relative_link(struct outcome *outcome)
{
    read_through_link(UP "/etc/passwd", outcome);
}

/* ---- leaving something behind ---------------------------------------------------------------- */

static void write_outside(struct outcome *outcome)
{
    int fd = open("../" FILE_NAME, O_WRONLY | O_CREAT, 0600);

    say(outcome, fd >= 0, fd >= 0 ? "a file was made there" : strerror(errno));
    if (fd < 0)
        return;
    (void) close(fd);               /* nothing was written */
    (void) unlink("../" FILE_NAME); /* what could be made can be removed */
}

static void move_outside(struct outcome *outcome)
{
    int fd = open(FILE_NAME, O_WRONLY | O_CREAT, 0600);

    if (fd >= 0)
        (void) close(fd); /* nothing was written */
    bool moved = rename(FILE_NAME, "../" FILE_NAME) == 0;
    say(outcome, moved, moved ? "a file was moved there" : strerror(errno));
    (void) unlink(moved ? "../" FILE_NAME : FILE_NAME); /* the workspace stays as it was */
}

/* ---- other ways to reach the host ------------------------------------------------------------ */

/* WASI has no call that makes a socket: what could be had is one that was left open. */
static void send_to_network(struct outcome *outcome)
{
    static const uint8_t request[] = "GET / HTTP/1.0\r\n\r\n";
    const __wasi_ciovec_t vector = {.buf = request, .buf_len = sizeof(request) - 1};
    __wasi_size_t sent;

    for (__wasi_fd_t fd = 0; fd < DESCRIPTORS; fd++)
        if (__wasi_sock_send(fd, &vector, 1, 0, &sent) == __WASI_ERRNO_SUCCESS) {
            say(outcome, true, "a descriptor is a socket and took the bytes");
            return;
        }
    say(outcome, false, "no call makes a socket, and no descriptor is one");
}

/* There is nothing to call, so nothing to try: a module that imports such a call is not started. */
static void start_program(struct outcome *outcome)
{
    say(outcome, false, "no call starts a program");
}

static void use_leaked_descriptor(struct outcome *outcome)
{
    __wasi_fdstat_t stat;
    __wasi_prestat_t prestat;

    for (__wasi_fd_t fd = STDERR_FILENO + 1; fd < DESCRIPTORS; fd++)
        if (__wasi_fd_fdstat_get(fd, &stat) == __WASI_ERRNO_SUCCESS &&
            __wasi_fd_prestat_get(fd, &prestat) != __WASI_ERRNO_SUCCESS) {
            say(outcome, true, "a descriptor is open that nobody granted");
            return;
        }
    say(outcome, false, "only the three streams and the granted directories are open");
}

static void read_host_environment(struct outcome *outcome)
{
    static const char *const names[] = {"HOME", "PATH", "USER", "SHELL", "SSH_AUTH_SOCK"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (getenv(names[i]) != NULL) {
            say(outcome, true, names[i]);
            return;
        }
    say(outcome, false, "no HOME, no PATH, no USER");
}

/* ---- taking more than its share -------------------------------------------------------------- */

/* Each block points to the one before, so that all are touched and can be given back. */
static void exhaust_memory(struct outcome *outcome)
{
    void *last = NULL;
    unsigned taken = 0;

    for (void **block; (block = malloc(MIB)) != NULL; last = block, taken++)
        *block = last;
    (void) snprintf(outcome->text, sizeof(outcome->text), "no more after %u MiB", taken); /* fits */
    while (last != NULL) {
        void *before = *(void **) last;
        free(last);
        last = before;
    }
}

/* Asks for room rather than filling it: a tour should not cost the host a gigabyte. */
static void exhaust_disk(struct outcome *outcome)
{
    int fd = open(FILE_NAME, O_WRONLY | O_CREAT, 0600);
    bool grown = fd >= 0 && ftruncate(fd, 1LL << 40) == 0;

    say(outcome, grown, grown ? "the file has that size" : strerror(errno));
    if (fd >= 0)
        (void) close(fd);     /* nothing was written */
    (void) unlink(FILE_NAME); /* the workspace stays as it was */
}

static const struct attempt {
    const char *what;
    void (*make)(struct outcome *outcome);
} attempts[] = {
    {"read /etc/passwd", read_absolute},
    {"read /etc/passwd by way of ..", read_upwards},
    {"read /etc/passwd through a symlink", read_absolute_link},
    {"read /etc/passwd through a symlink with ..", read_relative_link},
    {"read /proc/self/environ of the host", read_processes},
    {"read the host's environment", read_host_environment},
    {"make a file outside the workspace", write_outside},
    {"move a file out of the workspace", move_outside},
    {"send to the network", send_to_network},
    {"start a program", start_program},
    {"use a descriptor that was left open", use_leaked_descriptor},
    {"take all memory", exhaust_memory},
    {"make a file of 1 TiB", exhaust_disk},
};

int main(void)
{
    size_t n = sizeof(attempts) / sizeof(attempts[0]);
    unsigned got_through = 0;

    for (size_t i = 0; i < n; i++) {
        struct outcome outcome = {.got_through = false};
        attempts[i].make(&outcome);
        printf("%-11s %s: %s\n", outcome.got_through ? "GOT THROUGH" : "refused", attempts[i].what,
               outcome.text);
        (void) fflush(stdout); /* whoever watches sees it when it happens */
        got_through += outcome.got_through;
    }
    printf("%zu attempts, %u got through\n", n, got_through);
    return got_through > 0;
}
