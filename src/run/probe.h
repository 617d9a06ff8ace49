/*
 * probe: what this machine lets wasp do, found by doing it. Each wall and each convenience is tried
 * once, in a child that is killed when it hangs; nothing is left behind on the host.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/remedy.h"
#include "plan/plan.h"
#include "run/cgroup.h"
#include "run/host.h"
#include "run/run.h"

/* Longer than that no probe takes, unless something is wrong. */
#define PROBE_TIMEOUT_MS 1000

enum probe_status {
    PROBE_OK,
    PROBE_MISSING,    /* what needs it is refused */
    PROBE_DEGRADED,   /* wasp does without, and less well */
    PROBE_UNKNOWN,    /* it could not be tried, or did not answer */
    PROBE_NOT_NEEDED, /* not for this user or on this machine */
    PROBE_STATUSES
};

/* What people do with wasp: a backend on a rung, or something more that a run can have. */
enum use {
    USE_WASM_FULL,
    USE_WASM_LANDLOCK,
    USE_NATIVE_FULL,
    USE_NATIVE_NO_PROC, /* --proc none */
    USE_NATIVE_LANDLOCK,
    USE_OVERLAY,
    USE_TTY,
    USE_ROOTFS,
    USE_LOOPBACK,
    USE_LIMITS, /* held by the kernel for all processes together */
    USE_PYTHON,
    USE_JAVASCRIPT,
    USE_BASH,
    USES
};

/* A set of uses has one bit for each. */
#define USE_BIT(use) (UINT32_C(1) << (use))

#define PROBE_DETAIL_BYTES 320

/* What was found. */
struct finding {
    const char *id;     /* stable: "user-namespace" */
    const char *what;   /* what for, in one line */
    uint32_t needed_by; /* a set of uses */
    enum probe_status status;
    const char *waits_for;           /* id of what is missing first; NULL: it was tried itself */
    char detail[PROBE_DETAIL_BYTES]; /* what was seen; may be empty */
    char remedy[REMEDY_BYTES];       /* what to do; empty: nothing */
    uint32_t number;                 /* Landlock's ABI, enum cgroup_kind; else 0 */
};

#define PROBE_MAX 48

struct checkup {
    struct host host;
    enum identity identity; /* IDENTITY_RANGE: started by the host's root */
    struct finding findings[PROBE_MAX];
    size_t count;
};

/*
 * Tries everything. home is a directory that people are likely to grant, or NULL. 0, or -1 and *err
 * if nothing can be tried at all.
 */
int probe_all(const struct places *places, const char *home, struct checkup *ret_checkup,
              struct err *err);

/* By its id; NULL if there is none. */
const struct finding *checkup_find(const struct checkup *checkup, const char *id);

struct verdict_of_use {
    bool usable;
    const char *because[PROBE_MAX]; /* ids of what is missing; those that only wait are not there */
    size_t n_because;
};

/* Whether that can be done here. */
void checkup_judge(const struct checkup *checkup, enum use use, struct verdict_of_use *ret_verdict);
/* How memory, processes and CPU time of a whole run are limited here. */
enum cgroup_kind checkup_limits(const struct checkup *checkup);

const char *use_name(enum use use);                      /* "wasm/full" */
const char *use_about(enum use use);                     /* "modules with full walls" */
const char *probe_status_name(enum probe_status status); /* "not-needed" */
