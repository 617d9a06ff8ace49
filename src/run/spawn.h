/*
 * spawn: a cell as a child process. A child is a resource: pidfd, kill, reap.
 */
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include "base/err.h"
#include "plan/plan.h"

struct child {
    pid_t pid; /* 0: none, or reaped */
    int pidfd;
    int tell; /* our end, see plan/tell.h */
};

struct spawn {
    const char *program_dir;
    const char *program; /* "wasp-cell-wasm" */
    const struct plan *plan;
    uint32_t host_uid; /* IDENTITY_RANGE: what plan->uid and plan->gid are on the host */
    int streams[3];    /* the child's ends */
    int code;          /* CELL_FD_CODE */
    const int *grants; /* CELL_FD_GRANTS and on, in the plan's order; none for IDENTITY_USER */
    size_t n_grants;
};

/*
 * Starts the program as a cell with all of the plan's namespaces. Descriptors stay the caller's.
 * The child dies with us, whatever happens. Returns 0 and a child that child_release ends, or -1
 * and *err with nothing left behind.
 */
int child_spawn(const struct spawn *spawn, struct child *ret_child, struct err *err);
void child_kill(const struct child *child);
/* Waits for its end. *ret_status is as of waitpid. */
int child_reap(struct child *child, int *ret_status, struct rusage *ret_usage, struct err *err);
/* Kills and reaps it if that has not happened, and closes everything. */
void child_release(struct child *child);
