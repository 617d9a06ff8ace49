/*
 * cgroup: limits on all processes of a run together. v2 where it is delegated to us, else v1, found
 * by trying; a run without one is watched by looking at its processes (tree.h).
 *
 * How the run gets in. Moving a process from outside (cgroup_enter) makes the kernel wait for every
 * CPU: 5 to 14 ms after a quiet moment. A process that is born inside (v2), or a thread that moves
 * itself (v1), waits for nobody:
 *
 *     v2: clone3 with CLONE_INTO_CGROUP and .cgroup = folders[CGROUP_MEMORY]
 *     v1: the child, while it has one thread, calls cgroup_enter_self, between clone and exec or
 *         after it: each of entries[] may also travel to it through a socket, and `write(fd, "0",
 *         1)` is all there is to do. So on v1 the group may be made while the child starts.
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
    int folders[CGROUP_SLOTS]; /* ours, locked against a sweep; -1: none */
    int entries[CGROUP_SLOTS]; /* v1: where a thread writes "0" to enter; -1: none */
    char name[64];             /* "wasp-RUN_ID", or "wasp-RUN_ID-1" and so on */
    /*
     * Something happened that cgroup_usage should look at, which also quiets them; -1: none. v2
     * wakes for memory that was merely tight, too: oom_kills says whether it ran out. Do not read
     * them: on v1 that would take from cgroup_usage what it has to know.
     */
    int memory_events; /* v1 POLLIN, v2 POLLPRI */
    int pids_events;   /* v2 POLLPRI: a fork was refused; v1 does not tell: look now and then */
};

#define CGROUP_INIT                                                            \
    {                                                                          \
        .kind = CGROUP_NONE, .parents = {-1, -1, -1}, .folders = {-1, -1, -1}, \
        .entries = {-1, -1, -1}, .memory_events = -1, .pids_events = -1        \
    }

/*
 * Makes a cgroup for a run, with its limits set, or finds that none can be had: 0 and kind
 * CGROUP_NONE then. -1 and *err only where one was made and then failed half way (nothing is left).
 * `without` is for tests: bit 0 no v2, bit 1 no v1.
 */
int cgroup_make(struct cgroup *cgroup, const char *run_id, const struct limits *limits,
                unsigned int without, struct err *err);
/* Moves a process into it, from outside and slowly. */
int cgroup_enter(const struct cgroup *cgroup, pid_t pid, struct err *err);
/*
 * The calling thread, the only one of its process, moves itself. Nothing but a few system calls, so
 * good between vfork and exec. 0, or -1 and errno. On v2 as slow as cgroup_enter.
 */
int cgroup_enter_self(const struct cgroup *cgroup);

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

/*
 * Kills what is left in it and removes it; waits 130 ms at most for its processes to be gone, and
 * leaves to cgroup_sweep what a stuck one holds. Takes CGROUP_INIT too.
 */
void cgroup_release(struct cgroup *cgroup);
/*
 * Removes the empty ones that killed runs left behind, where we would make ours; returns how many
 * folders went (v1 has one in each hierarchy). Reads whole folders: not for every run.
 */
int cgroup_sweep(unsigned int without);
