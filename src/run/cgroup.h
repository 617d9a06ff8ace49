/*
 * cgroup: limits on all processes of a run together. v2 where it is delegated to us, else v1, found
 * by trying; a run without one is watched by looking at its processes (tree.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "plan/limits.h"

enum cgroup_kind { CGROUP_NONE, CGROUP_V1, CGROUP_V2 };

/* Controllers that a run needs; on v1 each is a hierarchy of its own, on v2 slot 0 is all. */
enum cgroup_slot { CGROUP_MEMORY, CGROUP_PIDS, CGROUP_CPUACCT, CGROUP_SLOTS };

struct cgroup {
    enum cgroup_kind kind;
    int parents[CGROUP_SLOTS]; /* the folders ours were made in; -1: none */
    int folders[CGROUP_SLOTS]; /* ours; -1: none */
    char name[64];             /* "wasp-RUN_ID" */
    int memory_events;         /* readable (POLLIN v1, POLLPRI v2) when memory ran out; -1: none */
    int pids_events;           /* POLLPRI when a fork was refused; -1: none */
};

#define CGROUP_INIT                                                            \
    {                                                                          \
        .kind = CGROUP_NONE, .parents = {-1, -1, -1}, .folders = {-1, -1, -1}, \
        .memory_events = -1, .pids_events = -1                                 \
    }

/*
 * Makes a cgroup for a run, with its limits set, or finds that none can be had: 0 and kind
 * CGROUP_NONE then. -1 and *err only where one was made and then failed half way (nothing is left).
 * `without` is for tests: bit 0 no v2, bit 1 no v1.
 */
int cgroup_make(struct cgroup *cgroup, const char *run_id, const struct limits *limits,
                unsigned int without, struct err *err);
/* Moves a process into it. */
int cgroup_enter(const struct cgroup *cgroup, pid_t pid, struct err *err);

struct cgroup_usage {
    uint64_t cpu_ns;      /* of all processes, dead ones too */
    uint64_t memory_peak; /* bytes; 0: not known */
    uint64_t oom_kills;   /* processes killed for memory */
    uint64_t forks_refused;
};
/* What it used so far; what cannot be read is 0. Cheap enough for every look at the clock. */
void cgroup_usage(const struct cgroup *cgroup, struct cgroup_usage *ret_usage);
/* CPU time alone. */
uint64_t cgroup_cpu_ns(const struct cgroup *cgroup);

/* Removes it; its processes are dead. Takes CGROUP_INIT too. */
void cgroup_release(struct cgroup *cgroup);
/* Removes the empty ones that killed runs left behind; returns how many went. */
int cgroup_sweep(unsigned int without);
