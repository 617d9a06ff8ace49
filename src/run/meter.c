#include "run/meter.h"

#include "base/clock.h"
#include "plan/tell.h"
#include "run/tree.h"

/* How often to look at processes where no cgroup counts them: a look costs a few of these. */
#define TREE_INTERVAL_NS (50 * NS_PER_MS)
/* v1 does not tell of refused forks. */
#define FORKS_INTERVAL_NS (100 * NS_PER_MS)
/* A run that goes on trying after so many refused forks does nothing else. */
#define FORKS_REFUSED_MAX 1000

void meter_start(struct meter *meter, pid_t pid)
{
    meter->pid = pid;
    meter->next_ns = UINT64_MAX;
    if (meter->watches_tree)
        meter->next_ns = clock_monotonic_ns() + TREE_INTERVAL_NS;
    else if (meter->cgroup != NULL)
        meter->next_ns = clock_monotonic_ns() + FORKS_INTERVAL_NS;
    else if (meter->cpu_ns != UINT64_MAX && clock_getcpuclockid(pid, &meter->clock) == 0)
        meter->next_ns = clock_monotonic_ns() + meter->cpu_ns / meter->threads;
}

static enum ended look_at_tree(struct meter *meter, uint64_t now)
{
    struct tree tree;

    meter->next_ns = now + TREE_INTERVAL_NS;
    if (tree_look(meter->pid, &tree) < 0)
        return ENDED_BY_ITSELF; /* it is gone: the loop ends by itself */
    if (tree.cpu_ns > meter->seen_cpu_ns)
        meter->seen_cpu_ns = tree.cpu_ns;
    if (tree.rss_bytes > meter->seen_rss_bytes)
        meter->seen_rss_bytes = tree.rss_bytes;
    if (tree.cpu_ns >= meter->cpu_ns)
        return ENDED_CPU;
    if (tree.rss_bytes <= meter->memory_bytes)
        return ENDED_BY_ITSELF;
    /* pages that several processes share count more than once there: look closer */
    if (tree_weigh(meter->pid, &tree) < 0)
        return ENDED_BY_ITSELF;
    return tree.rss_bytes > meter->memory_bytes ? ENDED_MEMORY : ENDED_BY_ITSELF;
}

static uint64_t cpu_used_ns(const struct meter *meter)
{
    struct timespec used;

    if (clock_gettime(meter->clock, &used) < 0)
        return 0; /* it is gone: the loop ends by itself */
    return (uint64_t) used.tv_sec * NS_PER_S + (uint64_t) used.tv_nsec;
}

/*
 * A run on n CPUs cannot use more than n seconds a second: look again when it could have reached
 * the limit.
 */
static enum ended look_at_clock(struct meter *meter, uint64_t now)
{
    uint64_t used = cpu_used_ns(meter);

    if (used >= meter->cpu_ns) {
        meter->next_ns = UINT64_MAX;
        return ENDED_CPU;
    }
    uint64_t wait = (meter->cpu_ns - used) / meter->threads;
    meter->next_ns = now + (wait < NS_PER_MS ? NS_PER_MS : wait);
    return ENDED_BY_ITSELF;
}

/* All that it counts at once: a few files, ten times a second. */
static enum ended look_at_cgroup(struct meter *meter, uint64_t now)
{
    meter->next_ns = now + FORKS_INTERVAL_NS;
    if (meter->cpu_ns != UINT64_MAX) {
        uint64_t used = cgroup_cpu_ns(meter->cgroup);
        if (used >= meter->cpu_ns)
            return ENDED_CPU;
        uint64_t wait = (meter->cpu_ns - used) / meter->threads;
        if (wait < FORKS_INTERVAL_NS)
            meter->next_ns = now + (wait < NS_PER_MS ? NS_PER_MS : wait);
    }
    return meter_hear(meter);
}

enum ended meter_look(struct meter *meter, uint64_t now_ns)
{
    if (now_ns < meter->next_ns)
        return ENDED_BY_ITSELF;
    if (meter->cgroup != NULL)
        return look_at_cgroup(meter, now_ns);
    return meter->watches_tree ? look_at_tree(meter, now_ns) : look_at_clock(meter, now_ns);
}

enum ended meter_hear(struct meter *meter)
{
    struct cgroup_usage usage;

    cgroup_usage(meter->cgroup, &usage);
    if (usage.oom_kills > 0)
        return ENDED_MEMORY;
    return usage.forks_refused > FORKS_REFUSED_MAX ? ENDED_PROCESSES : ENDED_BY_ITSELF;
}

uint32_t meter_walls(const struct meter *meter)
{
    if (meter->watches_tree)
        return WALL_TREE_WATCH;
    if (meter->cgroup == NULL)
        return WALL_CPU_WATCH;
    return meter->cgroup->kind == CGROUP_V2 ? WALL_CGROUP_V2 : WALL_CGROUP_V1;
}
