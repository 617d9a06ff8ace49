/*
 * wasi: wasi_snapshot_preview1 and wasi_unstable in C, and import module wasp beside them (door.c).
 *
 * All state is in one struct, so that a runner may fork inside a host call and replace the
 * descriptors afterwards. Nothing here knows the engine: a call gets the guest's memory as base and
 * size and its arguments as numbers. The process is one thread.
 *
 * Whoever holds a preopen's descriptor guarantees that it is the root of a detached mount (or, on
 * the landlock rung, that Landlock ends every walk): this room's own wall is openat2 with
 * RESOLVE_BENEATH and the rights in the fd table.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "plan/limits.h"
#include "plan/tell.h"

struct wasi;

struct wasi_memory {
    uint8_t *base;
    uint64_t size;
};

struct wasi_preopen {
    int fd;           /* directory; taken over by wasi */
    const char *name; /* as the guest sees it: "/data", "." */
    bool writable;
    uint8_t at; /* where it lies (plan/protected.h) */
};

struct wasi_config {
    const char *const *args; /* borrowed, as everything here: it must outlive the wasi */
    size_t n_args;
    const char *const *env;
    size_t n_env;
    const struct wasi_preopen *preopens; /* become descriptors 3, 4, … in this order */
    size_t n_preopens;
    const char *const
        *unprotected;            /* protected names that may be changed; NULL-terminated, or NULL */
    const struct limits *limits; /* disk, file, open files */
    uint64_t deadline_ns;        /* CLOCK_MONOTONIC; no wait lasts longer. UINT64_MAX: none */
    bool has_door;               /* false: each call through it is refused here */
    int door;                    /* stays the caller's */
    /*
     * Called for each refusal that is a matter of the sandbox (not for ENOENT and the like). May be
     * NULL.
     */
    void (*denied)(void *data, const struct tell_denial *denial);
    void *data;
};

struct wasi_counters {
    uint64_t bytes_written; /* to files, all in all */
    uint64_t files_made;
    uint32_t limits_hit; /* enum hit */
    uint32_t denials;
};

/* Descriptors 0, 1 and 2 of the process become the guest's. 0, or -1 and *err. */
int wasi_new(const struct wasi_config *config, struct wasi **ret_wasi, struct err *err);
void wasi_free(struct wasi *wasi);
const struct wasi_counters *wasi_counters(const struct wasi *wasi);
/* True once the guest called proc_exit; *ret_code is then its code. */
bool wasi_exited(const struct wasi *wasi, uint32_t *ret_code);

/*
 * One function. args are the wasm arguments in order, each in its own 64-bit cell (an i32 in the
 * low half, upper half undefined). Returns what the guest gets, mostly a WASI errno (0 is success),
 * or WASI_STOP for proc_exit: the caller unwinds the guest.
 */
#define WASI_STOP UINT32_MAX
typedef uint32_t wasi_call(struct wasi *wasi, const struct wasi_memory *memory,
                           const uint64_t *args);

struct wasi_function {
    const char *name;
    const char *params; /* 'i' for i32, 'I' for i64 */
    bool has_result;    /* an i32 errno; all but proc_exit */
    wasi_call *call;
};

/*
 * The function of that name in import module "wasi_snapshot_preview1", "wasi_unstable" or "wasp";
 * or NULL.
 */
const struct wasi_function *wasi_find(const char *module, const char *name);
/* For tests and the fuzzer: the tables, sorted by name. */
const struct wasi_function *wasi_functions(bool unstable, size_t *ret_count);
