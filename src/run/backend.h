/*
 * backend: who does the work of a run. One table, one row each; run.c knows the order of things,
 * a backend what only it needs.
 */
#pragma once

#include "run/cache.h"
#include "run/cgroup.h"
#include "run/grants.h"
#include "run/module.h"
#include "run/protect.h"
#include "run/run.h"
#include "run/spawn.h"
#include "run/supervise.h"

struct job_wasm {
    struct cache cache;
    struct module module;
    struct digest key;
    int code;
};

struct job_native {
    struct cgroup cgroup;
    struct protect_pins pins;
    int rootfs;                   /* to pass on; -1: none, or the cell opens it itself */
    int uppers[REQUEST_MAX_DIRS]; /* of overlay directories, as the cell sent them; -1: none */
    struct plan_native plan;
    const char **env;
    size_t n_env;
};

/* One run and all it holds. */
struct job {
    const struct request *request;
    const struct places *places;
    const struct observer *observer;
    struct arena *arena;
    struct result *result;
    const struct backend_row *backend;
    struct grants grants;
    struct child child; /* the cell; started early, loaded when everything is at hand */
    struct watch watch;
    uint64_t mark_ns; /* for the timings: when the last stage ended */
    int signal;       /* a signal to us ended the compiler */
    struct job_wasm wasm;
    struct job_native native;
};

struct backend_row {
    const char *name;    /* in the envelope */
    const char *program; /* the cell's */
    enum plan_job job;
    /* Before the cell is started: what costs little and may refuse. */
    int (*check)(struct job *job, struct err *err);
    /* While the cell makes its namespaces: all that the plan needs. */
    int (*prepare)(struct job *job, struct err *err);
    /* What only it knows, in a plan that is filled already; and how the run is watched. */
    void (*plan)(struct job *job, struct plan *plan, struct child_load *load);
    /* After the cell was loaded, while it builds its walls; NULL: nothing to do. */
    int (*go)(struct job *job, struct err *err);
    /* After the run was judged. */
    int (*finish)(struct job *job, struct err *err);
    /* Whatever happened: the last word on the result, and everything given back. */
    void (*end)(struct job *job);
};

extern const struct backend_row backend_wasm, backend_native;

/* Notes how long the stage took that ends now. */
void job_mark(struct job *job, const char *name);
int job_start_cell(struct job *job, struct err *err);
/* Loads the cell, watches it to its end and judges what became of it. */
int job_run_cell(struct job *job, struct err *err);
