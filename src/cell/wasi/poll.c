#include "cell/wasi/poll.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "cell/wasi/calls.h"
#include "cell/wasi/clock.h"
#include "cell/wasi/errno.h"
#include "cell/wasi/filestat.h"
#include "cell/wasi/wait.h"

/* As many as there can be descriptors by default, four times; a million would be an attack. */
#define MAX_SUBSCRIPTIONS 4096

/* What became of one subscription. */
struct interest {
    struct abi_subscription sub;
    struct abi_event event;
    uint64_t due_ns;             /* a clock: when, on CLOCK_MONOTONIC; UINT64_MAX otherwise */
    const struct pollfd *stream; /* NULL: nothing that could block */
    short revents;               /* what of the stream is of interest */
    bool is_due;                 /* event is to be told */
};

struct poll {
    struct wasi *wasi;
    size_t count;
    bool any_due;
    struct interest *interests;
    /* by number; one for each interest could be more than the kernel polls, RLIMIT_NOFILE */
    struct pollfd streams[N_STREAMS];
};

static void poll_release(struct poll *poll)
{
    free(poll->interests);
}

static void tell(struct poll *poll, struct interest *interest, uint32_t error, uint64_t nbytes)
{
    interest->event.error = (uint16_t) error;
    interest->event.nbytes = nbytes;
    interest->is_due = true;
    poll->any_due = true;
}

/* ---- clocks -------------------------------------------------------------------------------- */

static uint64_t add_capped(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/*
 * Everything is waited for on the monotonic clock: nobody sets the time of day back under a waiting
 * guest.
 */
static void watch_clock(struct poll *poll, struct interest *interest)
{
    const struct abi_subscription *sub = &interest->sub;
    uint64_t now_ns = clock_monotonic_ns();
    clockid_t clock;

    if (!wasi_clock_of(sub->id, &clock) || (sub->flags & ~SUBCLOCK_ABSTIME)) {
        tell(poll, interest, WASI_EINVAL, 0);
        return;
    }
    if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC) {
        tell(poll, interest, WASI_ENOTSUP, 0); /* CPU time stands still while one waits */
        return;
    }
    if (!(sub->flags & SUBCLOCK_ABSTIME)) {
        interest->due_ns = add_capped(now_ns, sub->timeout);
        return;
    }
    uint64_t there_ns = clock == CLOCK_REALTIME ? clock_realtime_ns() : now_ns;
    interest->due_ns =
        sub->timeout > there_ns ? add_capped(now_ns, sub->timeout - there_ns) : now_ns;
}

static uint64_t first_due_ns(const struct poll *poll)
{
    uint64_t first = UINT64_MAX;

    for (size_t i = 0; i < poll->count; i++)
        if (poll->interests[i].due_ns < first)
            first = poll->interests[i].due_ns;
    return first;
}

/* ---- descriptors --------------------------------------------------------------------------- */

/* A file is always ready; what is left of it to read is known. */
static uint64_t bytes_left(const struct fd_entry *entry)
{
    struct stat st;
    off_t at = lseek(entry->host, 0, SEEK_CUR);

    if (at < 0 || filestat_host(entry->host, &st) < 0 || st.st_size <= at)
        return 0;
    return (uint64_t) (st.st_size - at);
}

static void watch_stream(struct poll *poll, struct interest *interest, int host, short events)
{
    assert(host >= 0 && host < N_STREAMS);
    poll->streams[host].fd = host;
    poll->streams[host].events |= events;
    interest->stream = &poll->streams[host];
    interest->revents = (short) (events | POLLHUP | POLLERR | POLLNVAL);
}

static void watch_fd(struct poll *poll, struct interest *interest)
{
    bool reads = interest->sub.tag == EVENT_FD_READ;
    uint64_t right = reads ? RIGHT_FD_READ : RIGHT_FD_WRITE;
    struct fd_entry *entry;
    uint32_t failed =
        fds_get(&poll->wasi->fds, interest->sub.id, right | RIGHT_POLL_FD_READWRITE, &entry);

    if (failed)
        tell(poll, interest, failed, 0);
    else if (entry->can_seek)
        tell(poll, interest, WASI_SUCCESS, reads ? bytes_left(entry) : PIPE_BUF);
    else
        watch_stream(poll, interest, entry->host, reads ? POLLIN : POLLOUT);
}

/*
 * How much a stream holds is not known without ioctl: one byte is certain, and PIPE_BUF bytes of
 * room.
 */
static void tell_ready(struct poll *poll, struct interest *interest)
{
    bool reads = interest->sub.tag == EVENT_FD_READ;
    int ready = interest->stream == NULL ? 0 : interest->stream->revents & interest->revents;

    if (ready == 0)
        return;
    if (ready & (POLLHUP | POLLERR))
        interest->event.flags = EVENT_HANGUP;
    if (ready & (POLLIN | POLLOUT))
        tell(poll, interest, WASI_SUCCESS, reads ? 1 : PIPE_BUF);
    else
        tell(poll, interest, ready & POLLNVAL ? WASI_EBADF : WASI_SUCCESS, 0);
}

/* ---- one call ------------------------------------------------------------------------------ */

static void watch(struct poll *poll, size_t i)
{
    struct interest *interest = &poll->interests[i];

    interest->due_ns = UINT64_MAX;
    interest->event.userdata = interest->sub.userdata;
    interest->event.type = interest->sub.tag;
    if (interest->sub.tag == EVENT_CLOCK)
        watch_clock(poll, interest);
    else if (interest->sub.tag == EVENT_FD_READ || interest->sub.tag == EVENT_FD_WRITE)
        watch_fd(poll, interest);
    else
        tell(poll, interest, WASI_EINVAL, 0);
}

/* Takes over the subscriptions before anything is written: the events may lie on top of them. */
static uint32_t poll_init(struct poll *poll, const uint8_t *bytes, const struct poll_layout *layout)
{
    poll->interests = calloc(poll->count, sizeof(*poll->interests));
    if (poll->interests == NULL)
        return WASI_ENOMEM;
    for (size_t i = 0; i < N_STREAMS; i++)
        poll->streams[i].fd = -1;
    for (size_t i = 0; i < poll->count; i++) {
        layout->decode(bytes + i * layout->size, &poll->interests[i].sub);
        watch(poll, i);
    }
    return WASI_SUCCESS;
}

/* What is due already is told at once, together with whatever else is ready by now. */
static uint32_t poll_wait(struct poll *poll)
{
    uint64_t until_ns = poll->any_due ? 0 : first_due_ns(poll);

    if (wasi_wait(poll->wasi, poll->streams, N_STREAMS, until_ns) < 0 && !poll->any_due)
        return WASI_ECANCELED;
    uint64_t now_ns = clock_monotonic_ns();
    for (size_t i = 0; i < poll->count; i++) {
        tell_ready(poll, &poll->interests[i]);
        if (poll->interests[i].due_ns <= now_ns)
            tell(poll, &poll->interests[i], WASI_SUCCESS, 0);
    }
    return WASI_SUCCESS;
}

static uint32_t put_events(const struct poll *poll, uint8_t *events)
{
    uint32_t count = 0;

    for (size_t i = 0; i < poll->count; i++) {
        if (!poll->interests[i].is_due)
            continue;
        memcpy(events + count * sizeof(struct abi_event), &poll->interests[i].event,
               sizeof(struct abi_event));
        count++;
    }
    return count;
}

uint32_t poll_run(struct wasi *wasi, const struct wasi_memory *memory, const uint64_t *args,
                  const struct poll_layout *layout)
{
    uint64_t count = (uint32_t) args[2];
    const uint8_t *subs = memory_at(memory, (uint32_t) args[0], count * layout->size);
    uint8_t *events = memory_at(memory, (uint32_t) args[1], count * sizeof(struct abi_event));
    uint32_t count_at = (uint32_t) args[3];
    _cleanup_(poll_release) struct poll poll = {.wasi = wasi, .count = count};

    if (count == 0)
        return WASI_EINVAL;
    if (subs == NULL || events == NULL || memory_at(memory, count_at, sizeof(uint32_t)) == NULL)
        return WASI_EFAULT;
    if (count > MAX_SUBSCRIPTIONS)
        return WASI_EINVAL;
    uint32_t failed = poll_init(&poll, subs, layout);
    if (!failed)
        failed = poll_wait(&poll);
    if (failed)
        return failed;
    (void) memory_put_u32(memory, count_at, put_events(&poll, events)); /* checked above */
    return WASI_SUCCESS;
}

static void decode(const uint8_t *bytes, struct abi_subscription *ret_subscription)
{
    memcpy(ret_subscription, bytes, sizeof(*ret_subscription));
}

uint32_t call_poll_oneoff(struct wasi *wasi, const struct wasi_memory *memory, const uint64_t *args)
{
    static const struct poll_layout layout = {sizeof(struct abi_subscription), decode};

    return poll_run(wasi, memory, args, &layout);
}
