/*
 * result: what became of a run. Plain data; strings point into the job's arena or are part of the
 * struct.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/digest.h"
#include "base/err.h"
#include "plan/tell.h"

#define RUN_ID_SIZE 37 /* UUIDv7 as text */

/* CONTRACT §1, a closed list; names in result.c */
enum reason {
    REASON_EXITED,
    REASON_SIGNAL,
    REASON_TRAP,
    REASON_TIMEOUT,
    REASON_CPU_LIMIT,
    REASON_MEMORY_LIMIT,
    REASON_FUEL_LIMIT,
    REASON_OUTPUT_LIMIT,
    REASON_DISK_LIMIT,
    REASON_PROCESS_LIMIT,
    REASON_DENIED,
    REASON_APPROVAL_REQUIRED,
    REASON_CANCELLED,
    REASON_NOT_STARTED,
    REASON_INVALID,
    REASON_BACKEND_ERROR,
    REASON_COUNT
};

struct capture {
    struct buf kept;      /* the head, at most the output limit */
    uint64_t total_bytes; /* all that was written */
    uint64_t redacted;    /* how many registered secrets were taken out of it */
    bool truncated;
};

struct timing {
    const char *name;
    uint64_t us;
};

#define RESULT_MAX_TIMINGS 16

/* An overlay directory after the run: what the guest changed, and what it saw. */
struct result_overlay {
    int upper, lower;
    const char *host, *guest;
};

#define RESULT_MAX_APPEARED 256

/* A name in a read-write directory that makes the host run something, and was not there before. */
struct result_appeared {
    const char *host; /* the directory */
    const char *path; /* relative to it */
    const char *rule;
};

struct secrets;

struct result {
    char run_id[RUN_ID_SIZE];
    const char *backend; /* "wasm", or "none" before one is chosen */
    enum reason reason;
    bool has_exit_code;
    uint32_t exit_code;
    int signal;     /* REASON_SIGNAL, REASON_CANCELLED; else 0 */
    struct err err; /* ERR_NONE where nothing failed on our side */
    struct capture stdout_capture, stderr_capture;
    uint64_t wall_ns, cpu_ns, max_rss_bytes;
    uint64_t oom_kills, forks_refused; /* as its cgroup counted them */
    bool started;                      /* TELL_READY was heard: `ready` holds */
    struct tell_ready ready;
    bool done_heard; /* `done` holds */
    struct tell_done done;
    struct tell_denial *denials;
    size_t n_denials;
    struct result_overlay *overlays; /* in the arena; their descriptors are the result's */
    size_t n_overlays;
    struct result_appeared *appeared; /* protected names that the guest made; in the arena */
    size_t n_appeared, more_appeared;
    const char *unseen;         /* an argument that names a file no grant holds; NULL: none */
    const char *appeared_error; /* why not all of them could be found; NULL: all were */
    bool has_module;            /* the fields of `module` hold */
    struct digest module_sha256;
    bool module_cached;
    uint64_t compile_ns;
    char
        cache_error[160]; /* why the code could not be kept; empty if it was or was not asked for */
    bool use_fuel;
    const char *isolation;         /* "full", "landlock" */
    const struct secrets *secrets; /* what no answer may show; NULL: nothing is registered */
    struct timing timings[RESULT_MAX_TIMINGS];
    size_t n_timings;
};

const char *reason_name(enum reason reason);
/* An empty result with a fresh run id. */
void result_init(struct result *result, size_t output_max);
/* How much of each stream is kept, where that is known later. */
void result_set_output(struct result *result, size_t output_max);
void result_release(struct result *result);
/*
 * A result for what failed before or around the run: reason and exit status come from the error's
 * kind.
 */
void result_fail(struct result *result, const struct err *err);
/* The command's exit status for this result, CONTRACT §2. */
int result_exit_status(const struct result *result);
