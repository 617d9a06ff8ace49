/*
 * plan: fully resolved and immutable. It crosses to the cell in a sealed memfd (pack.h); the cell
 * interprets nothing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan/limits.h"
#include "plan/request.h"

enum plan_job { JOB_WASM, JOB_COMPILE };

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
    CELL_FD_TELL = 3,   /* SOCK_SEQPACKET to the parent */
    CELL_FD_PLAN = 4,   /* sealed memfd */
    CELL_FD_CODE = 5,   /* JOB_WASM: the .cwasm; JOB_COMPILE: the module in a sealed memfd */
    CELL_FD_GRANTS = 6, /* and on, in the plan's order */
};
#define CELL_MAX_FDS (CELL_FD_GRANTS + REQUEST_MAX_DIRS)

/*
 * The cell's argv: its program, the isolation as a number, and (test build) the walls to leave out.
 */
enum cell_arg { CELL_ARG_PROGRAM, CELL_ARG_ISOLATION, CELL_ARG_WITHOUT, CELL_ARGS };

/* The uid and gid of every cell as seen from inside. */
#define CELL_UID 1000

struct plan_grant {
    const char *host;  /* IDENTITY_USER: the cell reopens it and compares dev and ino */
    const char *guest; /* first name */
    bool also_dot;
    enum access access;
    uint64_t dev, ino;
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
    const char **args; /* argv of the guest, argv[0] first; NULL-terminated */
    size_t n_args;
    const char **env;
    size_t n_env;
    struct plan_grant *grants;
    size_t n_grants;
};
