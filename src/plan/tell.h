/*
 * tell: what a cell says to its parent, one datagram each, over CELL_FD_TELL.
 *
 * Before the job starts the cell is our own code and is believed. From TELL_READY on it may have
 * been taken over by the guest: it can lie about its own run, so the parent takes at most one
 * TELL_DONE, at most TELL_MAX_DENIALS denials, and checks each length and number.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"

enum tell_kind {
    TELL_FAILED = 1, /* struct err: a wall could not be built or the module cannot start */
    TELL_READY,      /* struct tell_ready: all walls stand, the next thing is guest code */
    TELL_DENIAL,     /* struct tell_denial */
    TELL_DONE,       /* struct tell_done */
    TELL_HANDLE,     /* struct tell_handle and one descriptor; before TELL_READY only */
};

#define TELL_MAX_DENIALS 64

/* Bits of tell_ready.walls; names in report/. */
enum tell_wall {
    WALL_USER_NAMESPACE = 1 << 0,
    WALL_MOUNT_NAMESPACE = 1 << 1,
    WALL_PID_NAMESPACE = 1 << 2,
    WALL_IPC_NAMESPACE = 1 << 3,
    WALL_UTS_NAMESPACE = 1 << 4,
    WALL_NET_NAMESPACE = 1 << 5,
    WALL_CGROUP_NAMESPACE = 1 << 6,
    WALL_EMPTY_ROOT = 1 << 7,
    WALL_NO_CAPABILITIES = 1 << 8,
    WALL_NO_NEW_PRIVS = 1 << 9,
    WALL_LANDLOCK = 1 << 10,
    WALL_SECCOMP = 1 << 11,
    WALL_RLIMITS = 1 << 12,
    WALL_UID_RANGE = 1 << 13,
    WALL_OWN_ROOT = 1 << 14,   /* native: a root of its own with a read-only system */
    WALL_NO_NESTING = 1 << 15, /* no user namespace can be made inside */
    WALL_CPU_WATCH = 1 << 16,  /* set by the parent: how the limits are held … */
    WALL_CGROUP_V1 = 1 << 17,
    WALL_CGROUP_V2 = 1 << 18,
    WALL_TREE_WATCH = 1 << 19, /* … without a cgroup: by looking at its processes */
    WALL_SCRATCH = 1 << 20,    /* a tmpfs of limited size */
    WALL_NPROC = 1 << 21,      /* a count of processes in its own user namespace */
    WALL_PINS = 1 << 22,       /* protected names in read-write directories */
};

struct tell_ready {
    uint32_t walls;
    uint32_t landlock_abi;
};

/* What tell_denial.rule may be; report/ knows what to advise for each. */
#define RULE_OUTSIDE "outside-grant"
#define RULE_READ_ONLY "read-only"
#define RULE_SPECIAL "special-file"
#define RULE_ABSOLUTE_LINK "absolute-link"
#define RULE_PROTECTED "protected-name"
#define RULE_CAPABILITY "capability" /* the run has it not */
#define RULE_KERNEL_FILE "kernel-file"
#define RULE_OWN_FOLDER "own-folder"
#define RULE_COMMAND "command" /* none that exec_run may run */
#define RULE_POLICY "policy"   /* whoever judges each use said no */

struct tell_denial {
    char action[24];  /* "path_open" */
    char target[256]; /* the guest's path, cut and made printable */
    char rule[48];    /* "outside-grant", "read-only", … */
};

enum handle_kind {
    HANDLE_UPPER = 1, /* the changes of the overlay directory with that number */
    HANDLE_TERMINAL,  /* the master of the guest's terminal */
};

struct tell_handle {
    uint32_t kind;  /* enum handle_kind */
    uint32_t grant; /* HANDLE_UPPER */
};

enum done_kind { DONE_RETURNED = 1, DONE_EXITED, DONE_TRAPPED, DONE_FUEL, DONE_SIGNALLED };

/* Bits of tell_done.limits_hit. */
enum hit {
    HIT_MEMORY = 1 << 0,
    HIT_TABLE = 1 << 1,
    HIT_DISK = 1 << 2,
    HIT_FILE = 1 << 3,
    HIT_OPEN_FILES = 1 << 4,
    HIT_PROCESSES = 1 << 5,
};

struct tell_done {
    uint32_t kind;       /* enum done_kind */
    uint32_t exit_code;  /* DONE_EXITED; DONE_SIGNALLED: the signal */
    uint32_t limits_hit; /* enum hit */
    uint32_t denials;    /* how many there were in all, told or not */
    uint64_t fuel_used;
    uint64_t memory_peak_bytes;
    uint64_t bytes_written; /* to files */
    uint64_t files_made;
    char trap_code[32]; /* DONE_TRAPPED: "stack_overflow", "unreachable", … */
    char trap_message[256];
};

struct tell {
    uint32_t kind; /* enum tell_kind */
    union {
        struct err failed;
        struct tell_ready ready;
        struct tell_denial denial;
        struct tell_done done;
        struct tell_handle handle;
    };
};
