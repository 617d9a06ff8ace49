/* poll_oneoff, in the layouts of both import modules. */
#include <sys/resource.h>
#include <time.h>

#include "base/clock.h"
#include "wasi_rig.h"

#define SUBS 32768
#define EVENTS 49152

static void put_sub(struct rig *rig, size_t index, const struct abi_subscription *sub)
{
    if (strcmp(rig->module, "wasi_unstable") != 0) {
        memcpy(rig->memory.base + SUBS + index * sizeof(*sub), sub, sizeof(*sub));
        return;
    }
    struct abi_subscription_unstable old = {.userdata = sub->userdata,
                                            .tag = sub->tag,
                                            .timeout = sub->timeout,
                                            .flags = sub->flags,
                                            .clock = sub->id,
                                            .identifier = 77};
    if (sub->tag != EVENT_CLOCK)
        old.identifier = sub->id;
    memcpy(rig->memory.base + SUBS + index * sizeof(old), &old, sizeof(old));
}

static struct abi_subscription clock_sub(uint64_t userdata, uint32_t clock, uint64_t timeout,
                                         uint16_t flags)
{
    return (struct abi_subscription){
        .userdata = userdata, .tag = EVENT_CLOCK, .id = clock, .timeout = timeout, .flags = flags};
}

static struct abi_subscription fd_sub(uint64_t userdata, uint8_t tag, uint32_t fd)
{
    return (struct abi_subscription){.userdata = userdata, .tag = tag, .id = fd};
}

static uint32_t poll_all(struct rig *rig, uint32_t count)
{
    return CALL(rig, poll_oneoff, SUBS, EVENTS, count, RIG_OUT);
}

static struct abi_event event(const struct rig *rig, uint32_t index)
{
    struct abi_event found;

    memcpy(&found, rig->memory.base + EVENTS + index * sizeof(found), sizeof(found));
    return found;
}

/* One subscription, one answer. */
static bool answers(struct rig *rig, struct abi_subscription sub, uint32_t error)
{
    put_sub(rig, 0, &sub);
    if (poll_all(rig, 1) != WASI_SUCCESS || rig_u32(rig, RIG_OUT) != 1)
        return false;
    struct abi_event found = event(rig, 0);
    return found.userdata == sub.userdata && found.type == sub.tag && found.error == error;
}

static void test_clocks(struct rig *rig)
{
    uint64_t before = clock_monotonic_ns();

    ok(answers(rig, clock_sub(1, 1, 20 * NS_PER_MS, 0), 0) &&
           clock_monotonic_ns() - before >= 20 * NS_PER_MS,
       "the monotonic clock lets the time pass");
    before = clock_monotonic_ns();
    ok(answers(rig, clock_sub(2, 0, clock_realtime_ns() + 20 * NS_PER_MS, SUBCLOCK_ABSTIME), 0) &&
           clock_monotonic_ns() - before >= 19 * NS_PER_MS,
       "so does the time of day");
    ok(answers(rig, clock_sub(3, 0, 5, SUBCLOCK_ABSTIME), 0) &&
           answers(rig, clock_sub(4, 1, 5, SUBCLOCK_ABSTIME), 0) &&
           answers(rig, clock_sub(5, 1, 0, 0), 0),
       "what is past is due at once");
    ok(answers(rig, clock_sub(6, 2, 5, 0), WASI_ENOTSUP) &&
           answers(rig, clock_sub(7, 9, 5, 0), WASI_EINVAL) &&
           answers(rig, clock_sub(8, 1, 5, 8), WASI_EINVAL),
       "CPU time cannot be waited for, unknown clocks and flags neither");
    struct abi_subscription never = clock_sub(9, 1, UINT64_MAX, 0), soon = clock_sub(10, 1, 1, 0);
    put_sub(rig, 0, &never);
    put_sub(rig, 1, &soon);
    ok(poll_all(rig, 2) == WASI_SUCCESS && rig_u32(rig, RIG_OUT) == 1 &&
           event(rig, 0).userdata == 10,
       "the first one due ends the wait");
}

static void test_fds(struct rig *rig)
{
    uint32_t fd = rig_open(rig, RIG_RW, "file", 0, RIGHTS_RW);

    ok(answers(rig, fd_sub(1, EVENT_FD_READ, fd), 0) && event(rig, 0).nbytes == 10,
       "a file is ready with what is left of it");
    ok(answers(rig, fd_sub(2, EVENT_FD_WRITE, fd), 0), "and for writing");
    ok(answers(rig, fd_sub(3, EVENT_FD_READ, 99), WASI_EBADF) &&
           answers(rig, fd_sub(4, EVENT_FD_WRITE, 0), WASI_EBADF),
       "a wrong descriptor is an event with an error");
    ok(answers(rig, fd_sub(5, 3, fd), WASI_EINVAL), "so is an unknown type");
    ok(answers(rig, fd_sub(6, EVENT_FD_WRITE, 1), 0), "standard output takes bytes");
}

static void test_pipe(struct rig *rig)
{
    int ends[2], saved = fcntl(0, F_DUPFD_CLOEXEC, 10);

    if (saved < 0 || pipe2(ends, O_CLOEXEC) < 0 || dup2(ends[0], 0) < 0)
        rig_die("pipe");
    rig_start(rig);
    struct abi_subscription subs[] = {clock_sub(1, 1, 10 * NS_PER_MS, 0),
                                      fd_sub(2, EVENT_FD_READ, 0)};
    put_sub(rig, 0, &subs[0]);
    put_sub(rig, 1, &subs[1]);
    ok(poll_all(rig, 2) == WASI_SUCCESS && rig_u32(rig, RIG_OUT) == 1 &&
           event(rig, 0).userdata == 1,
       "an empty pipe lets the clock win");
    subs[0].timeout = UINT64_MAX;
    put_sub(rig, 0, &subs[0]);
    if (write(ends[1], "x", 1) != 1)
        rig_die("write");
    ok(poll_all(rig, 2) == WASI_SUCCESS && rig_u32(rig, RIG_OUT) == 1 &&
           event(rig, 0).userdata == 2 && event(rig, 0).nbytes == 1 && event(rig, 0).flags == 0,
       "a filled one is ready");
    (void) rig_read(rig, 0, 1);
    (void) close(ends[1]); /* the writer goes */
    ok(answers(rig, fd_sub(3, EVENT_FD_READ, 0), 0) && event(rig, 0).flags == EVENT_HANGUP &&
           event(rig, 0).nbytes == 0,
       "and a closed one hangs up");
    (void) dup2(saved, 0); /* for whoever comes after */
    (void) close(ends[0]);
    (void) close(saved);
    rig_start(rig);
}

static void test_bounds(struct rig *rig)
{
    ok(poll_all(rig, 0) == WASI_EINVAL, "nothing to wait for is invalid");
    ok(CALL(rig, poll_oneoff, 0, 0, 1000000, RIG_OUT) == WASI_EFAULT,
       "a million of them do not fit into memory");
    uint64_t before = clock_monotonic_ns();
    rig->deadline_ns = before + 50 * NS_PER_MS;
    rig_start(rig);
    struct abi_subscription never = clock_sub(1, 1, 3600 * NS_PER_S, 0);
    put_sub(rig, 0, &never);
    ok(poll_all(rig, 1) == WASI_ECANCELED, "a sleep past the deadline does not outlast the run");
    uint64_t slept = clock_monotonic_ns() - before;
    ok(slept >= 50 * NS_PER_MS && slept < 30 * NS_PER_S,
       "and still gives the parent time to end it");
    rig->deadline_ns = UINT64_MAX;
    rig_start(rig);
}

static void test_overlap(struct rig *rig)
{
    struct abi_subscription subs[3];

    for (uint64_t i = 0; i < 3; i++) {
        subs[i] = clock_sub(100 + i, 1, 0, 0);
        put_sub(rig, i, &subs[i]);
    }
    ok(CALL(rig, poll_oneoff, SUBS, SUBS, 3, RIG_OUT) == WASI_SUCCESS &&
           rig_u32(rig, RIG_OUT) == 3 && rig_u64(rig, SUBS) == 100 &&
           rig_u64(rig, SUBS + 32) == 101 && rig_u64(rig, SUBS + 64) == 102,
       "events may lie on top of the subscriptions");
}

/* The kernel refuses to poll more descriptors than a process may have. */
static void test_few_files(struct rig *rig)
{
    const uint32_t count = 200;
    struct rlimit before, few;

    if (getrlimit(RLIMIT_NOFILE, &before) < 0)
        rig_die("getrlimit");
    few = (struct rlimit){.rlim_cur = 32, .rlim_max = before.rlim_max};
    for (uint64_t i = 0; i < count; i++) {
        struct abi_subscription sub = clock_sub(i, 1, 1, 0);
        put_sub(rig, i, &sub);
    }
    if (setrlimit(RLIMIT_NOFILE, &few) < 0)
        rig_die("setrlimit");
    uint32_t answer = CALL(rig, poll_oneoff, SUBS, SUBS, count, RIG_OUT);
    if (setrlimit(RLIMIT_NOFILE, &before) < 0)
        rig_die("setrlimit");
    ok(answer == WASI_SUCCESS && rig_u32(rig, RIG_OUT) >= 1,
       "subscriptions are not bounded by the limit of open files");
}

int main(void)
{
    static const char *const modules[] = {"wasi_snapshot_preview1", "wasi_unstable"};
    struct rig rig;

    rig_init(&rig);
    for (size_t i = 0; i < ARRAY_SIZE(modules); i++) {
        rig.module = modules[i];
        test_clocks(&rig);
        test_fds(&rig);
        test_pipe(&rig);
        test_bounds(&rig);
        test_overlap(&rig);
        test_few_files(&rig);
    }
    rig_release(&rig);
    return done();
}
