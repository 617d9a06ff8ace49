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

struct tell_denial {
    char action[24];  /* "path_open" */
    char target[256]; /* the guest's path, cut and made printable */
    char rule[48];    /* "outside-grant", "read-only", … */
};

enum done_kind { DONE_RETURNED = 1, DONE_EXITED, DONE_TRAPPED, DONE_FUEL };

/* Bits of tell_done.limits_hit. */
enum hit {
    HIT_MEMORY = 1 << 0,
    HIT_TABLE = 1 << 1,
    HIT_DISK = 1 << 2,
    HIT_FILE = 1 << 3,
    HIT_OPEN_FILES = 1 << 4,
};

struct tell_done {
    uint32_t kind;       /* enum done_kind */
    uint32_t exit_code;  /* DONE_EXITED */
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
    };
};
