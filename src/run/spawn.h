/*
 * spawn: a cell as a child process. A child is a resource: pidfd, kill, reap.
 *
 * It is started first and loaded later: while the kernel starts its program and makes its
 * namespaces, which takes the better part of a run, we look for the code and open the grants.
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
    bool is_in_cgroup;
};

#define CHILD_NONE                        \
    {                                     \
        .pid = 0, .pidfd = -1, .tell = -1 \
    }

struct child_program {
    const char *dir;
    const char *name; /* "wasp-cell-wasm" */
    bool is_native;
    enum isolation isolation;
    enum identity identity;
    uint32_t uid, gid; /* inside */
    uint32_t host_uid; /* IDENTITY_RANGE: what they are on the host */
    int cgroup;        /* v2: the folder it is to be born in; -1: none */
    uint32_t without;  /* test build: bits of enum tell_wall that are left out; else 0 */
};

struct child_load {
    const struct plan *plan;
    int streams[3];    /* the child's ends */
    int code;          /* CELL_FD_CODE; not looked at for JOB_NATIVE */
    int door;          /* behind it, if the plan has one: CELL_FD_DOOR */
    int rootfs;        /* likewise for JOB_NATIVE; -1: none */
    const int *grants; /* behind them, in the plan's order; none for IDENTITY_USER */
    size_t n_grants;
};

/*
 * Starts the program in its own user and pid namespace. It dies with us, whatever happens. Returns
 * 0 and a child that child_release ends, or -1 and *err with nothing left behind.
 */
int child_start(const struct child_program *program, struct child *ret_child, struct err *err);
/* Sends the plan and the descriptors, which stay the caller's: the cell goes on. */
int child_load(const struct child *child, const struct child_load *load, struct err *err);
/* A native cell: its guest may begin, in the cgroup behind these descriptors, if there are any. */
int child_go(const struct child *child, enum cell_go go, const int *entries, size_t n_entries,
             struct err *err);
void child_kill(const struct child *child);
void child_signal(const struct child *child, int signal);
/* Waits for its end. *ret_status is as of waitpid. */
int child_reap(struct child *child, int *ret_status, struct rusage *ret_usage, struct err *err);
/* Kills and reaps it if that has not happened, and closes everything. Takes CHILD_NONE too. */
void child_release(struct child *child);
