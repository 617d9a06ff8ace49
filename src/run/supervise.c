#include "run/supervise.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"

/*
 * ppoll on six descriptors rather than epoll and timerfds: the set changes with every feed,
 * deadlines are two numbers, and it saves a dozen system calls a run.
 */
enum slot { SLOT_CHILD, SLOT_TELL, SLOT_OUT, SLOT_ERR, SLOT_SIGNAL, SLOT_FEED, SLOTS };

struct loop {
    struct watch *watch;
    struct arena *arena;
    int signals;
    clockid_t cpu_clock;
    uint64_t cpu_check_ns; /* when to look at the CPU clock next */
    struct observer observer;
    uint64_t tick_ns; /* when it wants to be called next */
    bool killed;
    bool tell_closed; /* a cell that closes its end must not make us spin on it */
};

static void end_run(struct loop *loop, enum ended why)
{
    if (loop->killed)
        return; /* the first reason stands */
    loop->killed = true;
    loop->watch->ended = why;
    child_kill(loop->watch->child);
}

/* ---- streams --------------------------------------------------------------------------------- */

static enum stream stream_of(const struct loop *loop, const struct drain *drain)
{
    return drain == &loop->watch->out ? STREAM_STDOUT : STREAM_STDERR;
}

static void keep_bytes(struct loop *loop, struct drain *drain, const char *bytes, size_t len)
{
    struct capture *capture = drain->capture;
    size_t room = capture->kept.max - capture->kept.len;
    size_t kept = len < room ? len : room;
    capture->total_bytes += len;
    if (capture->truncated || (kept > 0 && buf_add(&capture->kept, bytes, kept) < 0))
        kept = 0; /* no memory, now or before: counted and flagged as cut */
    bool is_cut = kept < len;
    if (loop->observer.wrote != NULL && (kept > 0 || (is_cut && !capture->truncated)))
        loop->observer.wrote(loop->observer.data, stream_of(loop, drain), bytes, kept, is_cut);
    if (!is_cut)
        return;
    capture->truncated = true;
    if (loop->watch->output_kills)
        end_run(loop, ENDED_OUTPUT);
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
    char bytes[65536];
    ssize_t n = read(drain->fd, bytes, sizeof(bytes));
    if (n < 0)
        return errno == EAGAIN || errno == EINTR;
    if (n == 0)
        return false;
    drain->total += (uint64_t) n;
    if (drain->capture != NULL)
        keep_bytes(loop, drain, bytes, (size_t) n);
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

/* ---- stdin ----------------------------------------------------------------------------------- */

static void end_feed(struct feed *feed)
{
    (void) close(take_fd(&feed->fd)); /* the guest sees the end of its stdin */
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

/* ---- what the cell tells --------------------------------------------------------------------- */

static bool is_whole(const struct tell *tell, size_t len)
{
    static const size_t bodies[] = {
        [TELL_FAILED] = sizeof(struct err),         [TELL_READY] = sizeof(struct tell_ready),
        [TELL_DENIAL] = sizeof(struct tell_denial), [TELL_DONE] = sizeof(struct tell_done),
        [TELL_HANDLE] = sizeof(struct tell_handle),
    };
    return len >= sizeof(tell->kind) && tell->kind < ARRAY_SIZE(bodies) && tell->kind != 0 &&
           len == offsetof(struct tell, failed) + bodies[tell->kind];
}

#define TERMINATE(array) ((array)[sizeof(array) - 1] = '\0')

static void hear_denial(struct loop *loop, struct tell_denial *denial)
{
    struct watch *watch = loop->watch;
    if (watch->denials == NULL)
        watch->denials = arena_array(loop->arena, TELL_MAX_DENIALS, sizeof(*watch->denials));
    if (watch->denials == NULL || watch->n_denials == TELL_MAX_DENIALS)
        return;
    TERMINATE(denial->action);
    TERMINATE(denial->target);
    TERMINATE(denial->rule);
    watch->denials[watch->n_denials++] = *denial;
    if (loop->observer.denied != NULL)
        loop->observer.denied(loop->observer.data, denial);
}

static void hear_ready(struct loop *loop, const struct tell_ready *ready)
{
    if (loop->watch->ready_heard)
        return;
    loop->watch->ready_heard = true;
    loop->watch->ready = *ready;
    if (loop->observer.started != NULL)
        loop->observer.started(loop->observer.data);
}

/*
 * After TELL_READY the guest may be speaking: it may say that its own start failed, and nothing
 * about walls, grants or stale code, which would earn it a second run.
 */
static bool may_say(const struct watch *watch, enum err_code code)
{
    if (!watch->ready_heard)
        return code > ERR_NONE && code < ERR_CODES;
    return code == ERR_MALFORMED || code == ERR_NO_START || code == ERR_NEEDS_MEMORY ||
           code == ERR_NEEDS_TABLE || code == ERR_BACKEND;
}

static void hear_failure(struct watch *watch, struct err *failed)
{
    if (watch->failed_heard || watch->done_heard || !may_say(watch, failed->code))
        return;
    TERMINATE(failed->step);
    TERMINATE(failed->message);
    TERMINATE(failed->hint);
    watch->failed = *failed;
    watch->failed_heard = true;
}

static void hear(struct loop *loop, struct tell *tell)
{
    struct watch *watch = loop->watch;
    switch ((enum tell_kind) tell->kind) {
    case TELL_FAILED:
        hear_failure(watch, &tell->failed);
        break;
    case TELL_READY:
        hear_ready(loop, &tell->ready);
        break;
    case TELL_DENIAL:
        hear_denial(loop, &tell->denial);
        break;
    case TELL_HANDLE:
        break;
    case TELL_DONE:
        if (watch->done_heard || watch->failed_heard || !watch->ready_heard)
            break;
        TERMINATE(tell->done.trap_code);
        TERMINATE(tell->done.trap_message);
        watch->done = tell->done;
        watch->done_heard = true;
        break;
    }
}

/* False once the cell's end is closed. A datagram of the wrong size is a lie and is dropped. */
static bool hear_once(struct loop *loop)
{
    struct tell tell;
    ssize_t n = recv(loop->watch->child->tell, &tell, sizeof(tell), MSG_DONTWAIT | MSG_TRUNC);
    if (n < 0)
        return errno == EINTR || errno == EAGAIN;
    if (n == 0)
        return false;
    if ((size_t) n <= sizeof(tell) && is_whole(&tell, (size_t) n))
        hear(loop, &tell);
    return true;
}

static void hear_rest(struct loop *loop)
{
    struct pollfd ready = {.fd = loop->watch->child->tell, .events = POLLIN};
    while (poll(&ready, 1, 0) == 1 && hear_once(loop))
        ;
}

/* ---- time ------------------------------------------------------------------------------------ */

static uint64_t cpu_used_ns(const struct loop *loop)
{
    struct timespec used;
    if (clock_gettime(loop->cpu_clock, &used) < 0)
        return 0; /* it is gone: the loop ends by itself */
    return (uint64_t) used.tv_sec * NS_PER_S + (uint64_t) used.tv_nsec;
}

/*
 * A process on n CPUs cannot use more than n seconds a second: look again when it could have
 * reached the limit.
 */
static void check_cpu(struct loop *loop, uint64_t now)
{
    uint64_t used = cpu_used_ns(loop);
    if (used >= loop->watch->cpu_ns) {
        end_run(loop, ENDED_CPU);
        loop->cpu_check_ns = UINT64_MAX;
        return;
    }
    uint64_t wait = (loop->watch->cpu_ns - used) / loop->watch->threads;
    loop->cpu_check_ns = now + (wait < NS_PER_MS ? NS_PER_MS : wait);
}

static void call_tick(struct loop *loop, uint64_t now)
{
    loop->tick_ns = UINT64_MAX;
    if (loop->observer.tick != NULL)
        loop->tick_ns = loop->observer.tick(loop->observer.data, now);
}

static void start_clocks(struct loop *loop)
{
    call_tick(loop, clock_monotonic_ns());
    loop->cpu_check_ns = UINT64_MAX;
    if (loop->watch->cpu_ns == UINT64_MAX)
        return;
    if (clock_getcpuclockid(loop->watch->child->pid, &loop->cpu_clock) == 0)
        loop->cpu_check_ns = clock_monotonic_ns() + loop->watch->cpu_ns / loop->watch->threads;
}

static void check_clocks(struct loop *loop)
{
    uint64_t now = clock_monotonic_ns();
    if (now >= loop->cpu_check_ns)
        check_cpu(loop, now);
    call_tick(loop, now);
    if (now >= loop->watch->deadline_ns)
        end_run(loop, ENDED_WALL);
}

static struct timespec next_wait(const struct loop *loop)
{
    uint64_t until = loop->cpu_check_ns;
    if (loop->watch->deadline_ns < until)
        until = loop->watch->deadline_ns;
    if (loop->tick_ns < until)
        until = loop->tick_ns;
    if (loop->killed || until == UINT64_MAX)
        until = clock_monotonic_ns() +
                3600 * NS_PER_S; /* only a descriptor can wake us; an hour is as good as never */
    uint64_t now = clock_monotonic_ns();
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
    if (!loop->killed)
        loop->watch->signal = (int) info.ssi_signo;
    end_run(loop, ENDED_SIGNAL); /* WASI has no signals a guest could be sent */
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
    if (feed == NULL || feed->fd < 0)
        return;
    if (feed->at == feed->len && feed->source >= 0)
        slots[SLOT_FEED] = (struct pollfd){.fd = feed->source, .events = POLLIN};
    else
        slots[SLOT_FEED] = (struct pollfd){.fd = feed->fd, .events = POLLOUT};
}

/* One wait and what it brought. False once the child is dead. */
static bool turn(struct loop *loop, struct err *err, int *ret_failed)
{
    struct watch *watch = loop->watch;
    struct pollfd slots[SLOTS];
    fill_slots(loop, slots);
    struct timespec wait = next_wait(loop);
    int n = ppoll(slots, SLOTS, &wait, NULL);
    if (n < 0 && errno != EINTR) {
        *ret_failed = err_sys(err, ERR_HOST, "cannot watch the cell");
        return false;
    }
    if (n > 0) {
        if (slots[SLOT_SIGNAL].revents != 0)
            take_signal(loop);
        if (slots[SLOT_TELL].revents != 0)
            loop->tell_closed = !hear_once(loop);
        if (slots[SLOT_OUT].revents != 0)
            drain_or_close(loop, &watch->out);
        if (slots[SLOT_ERR].revents != 0)
            drain_or_close(loop, &watch->err);
        if (slots[SLOT_FEED].revents != 0)
            feed_once(watch->feed);
        if (slots[SLOT_CHILD].revents != 0)
            return false;
    }
    check_clocks(loop);
    return true;
}

int supervise(struct watch *watch, struct arena *arena, struct err *err)
{
    struct loop loop = {.watch = watch, .arena = arena};
    if (watch->observer != NULL)
        loop.observer = *watch->observer;
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
    start_clocks(&loop);
    int failed = 0;
    while (turn(&loop, err, &failed))
        ;
    if (failed < 0) {
        child_release(watch->child);
        return -1;
    }
    if (child_reap(watch->child, &watch->status, &watch->usage, err) < 0)
        return -1;
    hear_rest(&loop);
    drain_rest(&loop, &watch->out);
    drain_rest(&loop, &watch->err);
    return 0;
}
