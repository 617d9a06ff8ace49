#include "run/supervise.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "run/hear.h"

/*
 * ppoll on a few descriptors rather than epoll and timerfds: the set changes with every feed,
 * deadlines are two numbers, and it saves a dozen system calls a run.
 */
enum slot {
    SLOT_CHILD,
    SLOT_TELL,
    SLOT_OUT,
    SLOT_ERR,
    SLOT_SIGNAL,
    SLOT_FEED,
    SLOT_MEMORY,
    SLOT_FORKS,
    SLOT_DOOR,
    SLOTS
};

#define READ_BYTES 65536
/* What a guest that was sent a signal has to end by itself. */
#define GRACE_NS (2 * NS_PER_S)

struct loop {
    struct watch *watch;
    struct arena *arena;
    int signals;
    uint64_t
        grace_ns; /* until when a guest that was asked to end may go on; UINT64_MAX: not asked */
    struct observer observer;
    uint64_t tick_ns;  /* when it wants to be called next */
    uint64_t guard_ns; /* when its guard does */
    uint64_t kill_ns;  /* a cell that was told to end and has not by then is killed */
    bool killed;
    bool tell_closed; /* a cell that closes its end must not make us spin on it */
};

static void end_run(struct loop *loop, enum ended why)
{
    if (loop->killed)
        return; /* the first reason stands */
    loop->killed = true;
    if (loop->watch->ended == ENDED_BY_ITSELF)
        loop->watch->ended = why;
    if (!loop->watch->ends_by_itself) {
        child_kill(loop->watch->child);
        return;
    }
    child_signal(loop->watch->child, CELL_SIGNAL_END);
    loop->kill_ns = clock_monotonic_ns() + GRACE_NS;
}

/* ---- streams --------------------------------------------------------------------------------- */

static enum stream stream_of(const struct loop *loop, const struct drain *drain)
{
    return drain == &loop->watch->out ? STREAM_STDOUT : STREAM_STDERR;
}

/* is_lost: there were more of which nothing is known. */
static void keep_bytes(struct loop *loop, struct drain *drain, const char *bytes, size_t len,
                       bool is_lost)
{
    struct capture *capture = drain->capture;
    size_t room = capture->kept.max - capture->kept.len;
    size_t kept = len < room ? len : room;
    if (capture->truncated || (kept > 0 && buf_add(&capture->kept, bytes, kept) < 0))
        kept = 0; /* no memory, now or before: counted and flagged as cut */
    bool is_cut = kept < len || is_lost;
    if (loop->observer.wrote != NULL && (kept > 0 || (is_cut && !capture->truncated)))
        loop->observer.wrote(loop->observer.data, stream_of(loop, drain), bytes, kept, is_cut);
    if (!is_cut)
        return;
    capture->truncated = true;
    if (loop->watch->output_kills)
        end_run(loop, ENDED_OUTPUT);
}

/* What a redactor makes of one read, and of what it held back: at most a marker for every value. */
#define SHOWN_MAX(drain) (4 * (READ_BYTES + (drain)->redactor.secrets->longest))

/*
 * Without secrets the bytes go as they are. With them, what is kept and told are the bytes without
 * them, so that no cut and no border shows a part of one. len is 0 at the end of the stream.
 */
static void capture_bytes(struct loop *loop, struct drain *drain, const char *bytes, size_t len)
{
    struct capture *capture = drain->capture;
    struct redactor *redactor = &drain->redactor;

    capture->total_bytes += len;
    if (redactor->secrets == NULL || capture->truncated) {
        keep_bytes(loop, drain, bytes, len, false);
        return;
    }
    _cleanup_(buf_release) struct buf shown = BUF_INIT(SHOWN_MAX(drain));
    int rc =
        len > 0 ? redactor_add(redactor, bytes, len, &shown) : redactor_finish(redactor, &shown);
    capture->redacted = redactor->count;
    keep_bytes(loop, drain, shown.data, shown.len, rc < 0 /* no memory */);
}

static void sink_bytes(struct loop *loop, struct drain *drain, const char *bytes, size_t len)
{
    if (drain->sink_errno != 0)
        return;
    if (drain->total > drain->sink_max) {
        drain->sink_errno = EFBIG;
        end_run(loop, ENDED_OUTPUT);
    } else if (fd_write_all(drain->sink, bytes, len) < 0) {
        drain->sink_errno = errno;
        end_run(loop, ENDED_OUTPUT);
    }
}

/* Reads what is there. False once the stream has ended. */
static bool drain_once(struct loop *loop, struct drain *drain)
{
    char bytes[READ_BYTES];
    ssize_t n = read(drain->fd, bytes, sizeof(bytes));
    if (n < 0)
        return errno == EAGAIN || errno == EINTR;
    if (n == 0)
        return false;
    drain->total += (uint64_t) n;
    if (drain->capture != NULL)
        capture_bytes(loop, drain, bytes, (size_t) n);
    else
        sink_bytes(loop, drain, bytes, (size_t) n);
    return true;
}

static void drain_or_close(struct loop *loop, struct drain *drain)
{
    if (drain_once(loop, drain))
        return;
    (void) close(take_fd(&drain->fd)); /* only read from */
}

/* The writer is dead: what is in the pipe is all there will be. */
static void drain_rest(struct loop *loop, struct drain *drain)
{
    struct pollfd ready = {.fd = drain->fd, .events = POLLIN};
    while (drain->fd >= 0 && poll(&ready, 1, 0) == 1)
        drain_or_close(loop, drain);
}

/* What looked like the beginning of a secret was none. */
static void end_capture(struct loop *loop, struct drain *drain)
{
    if (drain->redactor.secrets != NULL)
        capture_bytes(loop, drain, "", 0);
}

/* ---- stdin ----------------------------------------------------------------------------------- */

static void end_feed(struct feed *feed)
{
    if (feed->is_terminal)
        (void) !write(feed->fd, "\004", 1); /* a full terminal has input enough to end by itself */
    (void) close(take_fd(&feed->fd));       /* the guest sees the end of its stdin */
}

static void refill(struct feed *feed)
{
    ssize_t n = read(feed->source, feed->chunk, sizeof(feed->chunk));
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        end_feed(feed);
        return;
    }
    feed->bytes = feed->chunk;
    feed->len = (size_t) n;
    feed->at = 0;
}

static void feed_once(struct feed *feed)
{
    if (feed->at == feed->len) {
        if (feed->source < 0)
            end_feed(feed);
        else
            refill(feed);
        return;
    }
    ssize_t n = write(feed->fd, feed->bytes + feed->at, feed->len - feed->at);
    if (n > 0)
        feed->at += (size_t) n;
    else if (errno != EAGAIN && errno != EINTR)
        end_feed(feed); /* EPIPE: the guest closed it */
}

/* ---- time ------------------------------------------------------------------------------------ */

static void call_tick(struct loop *loop, uint64_t now)
{
    loop->tick_ns = UINT64_MAX;
    if (loop->observer.tick != NULL)
        loop->tick_ns = loop->observer.tick(loop->observer.data, now);
}

static void ask_guard(struct loop *loop, uint64_t now)
{
    const struct guard *guard = loop->observer.guard;

    if (guard == NULL || loop->killed || now < loop->guard_ns)
        return;
    loop->guard_ns = UINT64_MAX;
    if (!guard->holds(guard->data, now, &loop->guard_ns, &loop->watch->withdrawn))
        end_run(loop, ENDED_DENIED);
}

static void check_clocks(struct loop *loop)
{
    uint64_t now = clock_monotonic_ns();
    enum ended why = meter_look(&loop->watch->meter, now);
    if (why != ENDED_BY_ITSELF)
        end_run(loop, why);
    call_tick(loop, now);
    ask_guard(loop, now);
    if (now >= loop->watch->deadline_ns)
        end_run(loop, ENDED_WALL);
    if (now >= loop->grace_ns)
        end_run(loop, ENDED_SIGNAL);
    if (now >= loop->kill_ns)
        child_kill(loop->watch->child);
}

static uint64_t sooner(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static struct timespec next_wait(const struct loop *loop)
{
    const struct watch *watch = loop->watch;
    uint64_t until = sooner(sooner(watch->meter.next_ns, watch->deadline_ns),
                            sooner(sooner(loop->tick_ns, loop->guard_ns), loop->grace_ns));
    uint64_t now = clock_monotonic_ns();
    if (loop->killed)
        until = loop->kill_ns;
    if (until == UINT64_MAX)
        until =
            now + 3600 * NS_PER_S; /* only a descriptor can wake us; an hour is as good as never */
    uint64_t wait = until > now ? until - now : 0;
    return (struct timespec){.tv_sec = (time_t) (wait / NS_PER_S),
                             .tv_nsec = (long) (wait % NS_PER_S)};
}

/* ---- the loop -------------------------------------------------------------------------------- */

static void take_signal(struct loop *loop)
{
    struct signalfd_siginfo info;
    if (read(loop->signals, &info, sizeof(info)) != sizeof(info))
        return;
    if (loop->killed)
        return;
    loop->watch->signal = (int) info.ssi_signo;
    /* WASI has no signals a guest could be sent; a native one is sent it, the second kills */
    if (!loop->watch->forwards_signals || !loop->watch->ready_heard ||
        loop->grace_ns != UINT64_MAX) {
        end_run(loop, ENDED_SIGNAL);
        return;
    }
    loop->watch->ended = ENDED_SIGNAL;
    loop->grace_ns = clock_monotonic_ns() + GRACE_NS;
    child_signal(loop->watch->child, loop->watch->signal);
}

static void hear_cgroup(struct loop *loop)
{
    enum ended why = meter_hear(&loop->watch->meter);
    if (why != ENDED_BY_ITSELF)
        end_run(loop, why);
}

static void turn_door(struct loop *loop)
{
    struct watch *watch = loop->watch;
    struct tell_denial denial;
    if (!door_turn(watch->door, watch->deadline_ns, &denial))
        end_run(loop, ENDED_DOOR);
    if (denial.action[0] != '\0')
        hear_denial(watch, loop->arena, &denial);
}

static void fill_slots(const struct loop *loop, struct pollfd slots[SLOTS])
{
    const struct watch *watch = loop->watch;
    const struct feed *feed = watch->feed;
    slots[SLOT_CHILD] = (struct pollfd){.fd = watch->child->pidfd, .events = POLLIN};
    slots[SLOT_TELL] =
        (struct pollfd){.fd = loop->tell_closed ? -1 : watch->child->tell, .events = POLLIN};
    slots[SLOT_OUT] = (struct pollfd){.fd = watch->out.fd, .events = POLLIN};
    slots[SLOT_ERR] = (struct pollfd){.fd = watch->err.fd, .events = POLLIN};
    slots[SLOT_SIGNAL] = (struct pollfd){.fd = loop->signals, .events = POLLIN};
    slots[SLOT_FEED] = (struct pollfd){.fd = -1};
    const struct cgroup *cgroup = watch->meter.cgroup;
    slots[SLOT_MEMORY] = (struct pollfd){
        .fd = cgroup && !loop->killed ? cgroup->memory_events : -1,
        .events = cgroup && cgroup->kind == CGROUP_V1 ? POLLIN : POLLPRI,
    };
    slots[SLOT_FORKS] = (struct pollfd){
        .fd = cgroup && !loop->killed ? cgroup->pids_events : -1,
        .events = POLLPRI,
    };
    slots[SLOT_DOOR] = (struct pollfd){.fd = -1};
    if (watch->door != NULL && !loop->killed)
        slots[SLOT_DOOR] =
            (struct pollfd){.fd = watch->door->fd, .events = door_wants(watch->door)};
    if (feed == NULL || feed->fd < 0 || feed->awaits_terminal)
        return;
    if (feed->at == feed->len && feed->source >= 0)
        slots[SLOT_FEED] = (struct pollfd){.fd = feed->source, .events = POLLIN};
    else
        slots[SLOT_FEED] = (struct pollfd){.fd = feed->fd, .events = POLLOUT};
}

static void serve(struct loop *loop, const struct pollfd slots[SLOTS])
{
    struct watch *watch = loop->watch;
    if (slots[SLOT_SIGNAL].revents != 0)
        take_signal(loop);
    if (slots[SLOT_TELL].revents != 0)
        loop->tell_closed = !hear_once(watch, loop->arena);
    if (slots[SLOT_OUT].revents != 0 && slots[SLOT_OUT].fd == watch->out.fd)
        drain_or_close(loop, &watch->out);
    if (slots[SLOT_ERR].revents != 0)
        drain_or_close(loop, &watch->err);
    if (slots[SLOT_FEED].revents != 0 && watch->feed->fd >= 0)
        feed_once(watch->feed);
    if (slots[SLOT_MEMORY].revents != 0 || slots[SLOT_FORKS].revents != 0)
        hear_cgroup(loop);
    if (slots[SLOT_DOOR].revents != 0 && !loop->killed)
        turn_door(loop);
}

/* One wait and what it brought. False once the child is dead. */
static bool turn(struct loop *loop, struct err *err, int *ret_failed)
{
    struct pollfd slots[SLOTS];
    fill_slots(loop, slots);
    struct timespec wait = next_wait(loop);
    int n = ppoll(slots, SLOTS, &wait, NULL);
    if (n < 0 && errno != EINTR) {
        *ret_failed = err_sys(err, ERR_HOST, "cannot watch the cell");
        return false;
    }
    if (n > 0) {
        serve(loop, slots);
        if (slots[SLOT_CHILD].revents != 0)
            return false;
    }
    check_clocks(loop);
    return true;
}

int supervise(struct watch *watch, struct arena *arena, struct err *err)
{
    struct loop loop = {
        .watch = watch, .arena = arena, .grace_ns = UINT64_MAX, .kill_ns = UINT64_MAX};
    if (watch->observer != NULL)
        loop.observer = *watch->observer;
    loop.guard_ns = loop.observer.guard != NULL ? 0 : UINT64_MAX;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    _cleanup_fd_ int signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals < 0) {
        child_release(watch->child);
        return err_sys(err, ERR_HOST, "cannot listen to signals");
    }
    loop.signals = signals;
    call_tick(&loop, clock_monotonic_ns());
    meter_start(&watch->meter, watch->child->pid);
    int failed = 0;
    while (turn(&loop, err, &failed))
        ;
    if (failed < 0) {
        child_release(watch->child);
        return -1;
    }
    if (child_reap(watch->child, &watch->status, &watch->usage, err) < 0)
        return -1;
    hear_rest(watch, arena);
    drain_rest(&loop, &watch->out);
    drain_rest(&loop, &watch->err);
    end_capture(&loop, &watch->out);
    end_capture(&loop, &watch->err);
    return 0;
}
