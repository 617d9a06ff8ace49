#include "run/judge.h"

#include <sys/wait.h>

#include "base/clock.h"

/* Of all its processes, those that nobody waited for too. */
static void take_cgroup_usage(const struct watch *watch, struct result *result)
{
    struct cgroup_usage usage;
    cgroup_usage(watch->meter.cgroup, &usage);
    result->cpu_ns = usage.cpu_ns;
    if (usage.memory_peak > 0)
        result->max_rss_bytes = usage.memory_peak;
    result->oom_kills = usage.oom_kills;
    result->forks_refused = usage.forks_refused;
}

/* The wait tells nothing of processes that nobody waited for: what was seen of them counts. */
static void take_seen_usage(const struct meter *meter, struct result *result)
{
    if (meter->seen_cpu_ns > result->cpu_ns)
        result->cpu_ns = meter->seen_cpu_ns;
    if (meter->seen_rss_bytes > result->max_rss_bytes)
        result->max_rss_bytes = meter->seen_rss_bytes;
}

static void take_usage(const struct watch *watch, uint64_t start_ns, struct result *result)
{
    const struct timeval *user = &watch->usage.ru_utime, *system = &watch->usage.ru_stime;
    result->wall_ns = clock_monotonic_ns() - start_ns;
    result->cpu_ns = (uint64_t) (user->tv_sec + system->tv_sec) * NS_PER_S +
                     (uint64_t) (user->tv_usec + system->tv_usec) * NS_PER_US;
    result->max_rss_bytes = (uint64_t) watch->usage.ru_maxrss * 1024;
    take_seen_usage(&watch->meter, result);
    if (watch->meter.cgroup != NULL)
        take_cgroup_usage(watch, result);
    result->started = watch->ready_heard;
    result->ready = watch->ready;
    result->ready.walls |= meter_walls(&watch->meter);
    result->done_heard = watch->done_heard;
    result->done = watch->done;
    result->denials = watch->denials;
    result->n_denials = watch->n_denials;
}

static void judge_done(const struct tell_done *done, struct result *result)
{
    switch ((enum done_kind) done->kind) {
    case DONE_RETURNED:
    case DONE_EXITED:
        result->reason = REASON_EXITED;
        result->has_exit_code = true;
        result->exit_code = done->kind == DONE_EXITED ? done->exit_code : 0;
        return;
    case DONE_TRAPPED:
        result->reason = REASON_TRAP;
        return;
    case DONE_FUEL:
        result->reason = REASON_FUEL_LIMIT;
        return;
    case DONE_SIGNALLED:
        result->reason = REASON_SIGNAL;
        result->signal = (int) (done->exit_code & 0x7f);
        return;
    }
    result->reason = REASON_BACKEND_ERROR;
    (void) err_set(&result->err, ERR_BACKEND, "the runner gave an answer that is none");
}

/* It said nothing and is gone: by a signal of its own making or the kernel's. */
static void judge_silence(const struct watch *watch, uint64_t cpu_limit_ns, struct result *result)
{
    int signal = WIFSIGNALED(watch->status) ? WTERMSIG(watch->status) : 0;
    if (signal != 0 && result->cpu_ns >= cpu_limit_ns) {
        result->reason = REASON_CPU_LIMIT; /* the kernel's own limit was quicker than our watch */
        return;
    }
    if (signal != 0 && watch->ready_heard) {
        result->reason = REASON_SIGNAL;
        result->signal = signal;
        return;
    }
    result->reason = REASON_BACKEND_ERROR;
    (void) err_set(&result->err, ERR_BACKEND, "the cell ended without a word (wait status 0x%x)",
                   (unsigned int) watch->status);
}

/* Our runner does not speak so: somebody else has taken its place. */
static void judge_door(struct result *result)
{
    result->reason = REASON_BACKEND_ERROR;
    (void) err_set(&result->err, ERR_BACKEND,
                   "the runner sent through its door what is no call, and was ended: the guest may "
                   "have taken it over");
}

/* A limit that the guest met: it ended the run, or the guest got over it. */
static void judge_hits(struct result *result)
{
    bool failed = result->reason == REASON_SIGNAL ||
                  (result->reason == REASON_EXITED && result->exit_code != 0) ||
                  result->reason == REASON_BACKEND_ERROR;
    if (result->oom_kills > 0 && failed) {
        result->reason = REASON_MEMORY_LIMIT;
        result->has_exit_code = false;
        result->signal = 0;
        result->err.code = ERR_NONE;
    } else if (result->oom_kills > 0 && result->reason == REASON_EXITED) {
        result->done.limits_hit |= HIT_MEMORY;
    }
    if (result->forks_refused > 0 && result->reason != REASON_PROCESS_LIMIT)
        result->done.limits_hit |= HIT_PROCESSES;
}

void judge(const struct watch *watch, uint64_t start_ns, struct result *result)
{
    static const enum reason reasons[] = {
        [ENDED_WALL] = REASON_TIMEOUT,        [ENDED_CPU] = REASON_CPU_LIMIT,
        [ENDED_OUTPUT] = REASON_OUTPUT_LIMIT, [ENDED_SIGNAL] = REASON_CANCELLED,
        [ENDED_MEMORY] = REASON_MEMORY_LIMIT, [ENDED_PROCESSES] = REASON_PROCESS_LIMIT,
        [ENDED_DENIED] = REASON_DENIED,
    };
    take_usage(watch, start_ns, result);
    if (watch->ended == ENDED_DOOR) {
        judge_door(result); /* whatever it said besides */
        return;
    }
    /* done before our kill reached it: it ended by itself */
    if (watch->done_heard && !watch->was_asked)
        judge_done(&watch->done, result);
    else if (watch->ended != ENDED_BY_ITSELF)
        result->reason = reasons[watch->ended];
    else if (watch->failed_heard)
        result_fail(result, &watch->failed);
    else
        judge_silence(watch, watch->meter.cpu_ns, result);
    if (result->reason == REASON_DENIED && watch->ended == ENDED_DENIED)
        result_fail(result, &watch->withdrawn);
    if (result->reason == REASON_CANCELLED)
        result->signal = watch->signal;
    judge_hits(result);
}
