/*
 * meter: what a run has used so far, against what it may use. By its cgroup, by looking at its
 * processes, or (one process) by its CPU clock.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "run/cgroup.h"

enum ended {
    ENDED_BY_ITSELF,
    ENDED_WALL,
    ENDED_CPU,
    ENDED_OUTPUT,
    ENDED_SIGNAL,
    ENDED_MEMORY,
    ENDED_PROCESSES,
    ENDED_DENIED, /* what it rests on holds no more */
    ENDED_DOOR,   /* what came through its door was none of our runner's */
};

struct meter {
    uint64_t cpu_ns;             /* the limit; UINT64_MAX: none */
    uint64_t memory_bytes;       /* likewise, where the tree is watched */
    unsigned int threads;        /* how many CPUs it can use at once */
    const struct cgroup *cgroup; /* NULL: none */
    bool watches_tree;           /* no cgroup, and more than one process */

    /* the meter's own */
    pid_t pid;
    clockid_t clock;
    uint64_t seen_cpu_ns, seen_rss_bytes; /* the most the tree was seen with */
    uint64_t next_ns; /* when to look again, CLOCK_MONOTONIC; UINT64_MAX: never */
};

void meter_start(struct meter *meter, pid_t pid);
/* Looks, if it is time. What the run is to be ended for, or ENDED_BY_ITSELF. */
enum ended meter_look(struct meter *meter, uint64_t now_ns);
/* The cgroup said that something happened. */
enum ended meter_hear(struct meter *meter);
/* What holds the limits, as bits of enum tell_wall. */
uint32_t meter_walls(const struct meter *meter);
