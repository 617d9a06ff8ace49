/*
 * plan: fully resolved and immutable. It crosses to the cell in a sealed memfd (pack.h); the cell
 * interprets nothing.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan/limits.h"
#include "plan/request.h"

enum plan_job { JOB_WASM, JOB_COMPILE, JOB_NATIVE };

/* Whose rights the cell has. */
enum identity {
    IDENTITY_USER,   /* a user namespace that maps the caller alone; the cell clones the grants */
    IDENTITY_RANGE,  /* started by root: a uid of this run alone; grants are idmapped clones */
    IDENTITY_CALLER, /* the landlock rung: no user namespace, the caller without capabilities */
};

/*
 * What the cell's process has open. It is born with the tell socket alone; the rest comes through
 * it in one message, and the kernel fills the numbers from below.
 */
enum cell_fd {
    CELL_FD_STDIN = 0,
    CELL_FD_STDOUT = 1, /* guest's stream; for JOB_COMPILE where the code goes */
    CELL_FD_STDERR = 2,
    CELL_FD_TELL = 3, /* SOCK_SEQPACKET to the parent */
    CELL_FD_PLAN = 4, /* sealed memfd */
    CELL_FD_CODE = 5, /* JOB_WASM: the .cwasm; JOB_COMPILE: the module in a sealed memfd */
    CELL_FD_DOOR = 6, /* JOB_WASM, if the plan has a door (door.h): SOCK_STREAM to the parent */
};
#define CELL_MAX_FDS (CELL_FD_DOOR + 1 + 1 + REQUEST_MAX_DIRS)

/*
 * What a native cell is told when everything outside is ready for its guest, after the plan and
 * while it builds its walls: one byte, and where it enters its cgroup, if it does so itself.
 */
enum cell_go {
    GO_ALONE = 'a',     /* no cgroup: the cell limits each process */
    GO_IN_CGROUP = 'c', /* it is in its cgroup already, or enters through the descriptors */
};
#define CELL_MAX_ENTRIES 3

/*
 * The cell's argv: its program, the isolation as a number, and (test build) the walls to leave out.
 */
enum cell_arg { CELL_ARG_PROGRAM, CELL_ARG_ISOLATION, CELL_ARG_WITHOUT, CELL_ARGS };

/*
 * The uid and gid of a cell as seen from inside, unless a native guest has better ones: those its
 * files have on the host, so that tools which compare owners (git's index) see what they saw.
 */
#define CELL_UID 1000

/* What a native guest finds in its environment, and its own writable places. */
#define CELL_HOME "/home/wasp"
#define CELL_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/*
 * What ends a native cell on the landlock rung: without a pid namespace killing it would leave its
 * processes behind, so it ends them first.
 */
#define CELL_SIGNAL_END SIGALRM

enum pin_kind {
    PIN_READ_ONLY, /* it cannot be changed, nor taken away */
    PIN_PLACE,     /* a directory above one: it cannot be moved away, but changed */
    PIN_MASK,      /* a socket of the host's: nothing is found there */
};

/* A name in a grant that is held by a mount of its own. */
struct plan_pin {
    uint32_t grant; /* its number */
    enum pin_kind kind;
    const char *path; /* relative to the grant; a parent stands before what is in it */
};

struct plan_grant {
    const char *host;  /* IDENTITY_USER: the cell reopens it and compares dev and ino */
    const char *guest; /* first name */
    bool also_dot;
    uint8_t at; /* ACCESS_RW: where it lies (protected.h) */
    enum access access;
    uint64_t dev, ino;
};

/* JOB_NATIVE: what the cell's root is made of, and what then runs in it. */
struct plan_native {
    const char *program; /* with a slash: a path in the view, without: looked for on CELL_PATH */
    const char *cwd;     /* in the view */
    const char *source;  /* text; NULL or empty: none */
    const char *source_name; /* the file in the view that holds it */
    const char *rootfs; /* IDENTITY_USER: reopened and compared; NULL or empty: the host's /usr */
    uint64_t rootfs_dev, rootfs_ino;
    uint64_t program_dev, program_ino; /* that a policy judged; 0: none did. No other is run */
    enum network network;
    enum proc_view proc;
    bool tty;
};

struct plan {
    enum plan_job job;
    enum isolation isolation;
    enum identity identity;
    uint32_t uid, gid; /* inside the cell */
    struct limits limits;
    uint64_t deadline_ns; /* CLOCK_MONOTONIC; no wait lasts longer. UINT64_MAX: none */
    bool use_fuel;
    bool pulley;
    bool has_door;     /* JOB_WASM: CELL_FD_DOOR is there */
    const char **args; /* argv of the guest, argv[0] first; NULL-terminated */
    size_t n_args;
    const char **env;
    size_t n_env;
    struct plan_grant *grants;
    size_t n_grants;
    struct plan_pin *pins;
    size_t n_pins;
    const char **unprotected; /* rules of protected.h that do not hold; NULL-terminated */
    size_t n_unprotected;
    struct plan_native native;
};

/* Behind them the root file system, where there is one, and the grants in the plan's order. */
static inline int cell_first_grant(const struct plan *plan)
{
    if (plan->job == JOB_NATIVE)
        return CELL_FD_CODE;
    return plan->has_door ? CELL_FD_DOOR + 1 : CELL_FD_CODE + 1;
}
