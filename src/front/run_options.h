/*
 * run_options: what the verbs that run a guest take.
 */
#pragma once

#include "front/options.h"
#include "plan/request.h"

struct run_options {
    struct request request;
    const char *manifest; /* of a task: a file, or "-" */
    const char *events;   /* where they go; NULL: nowhere */
    bool dry_run;
    bool timings;
    bool quiet;
};

/* Their target is a struct run_options. */
extern const struct syntax run_syntax, sample_run_syntax, runtime_run_syntax;
extern const struct syntax task_run_syntax, task_check_syntax, task_explain_syntax;

/* Nothing granted, default limits. */
void run_options_init(struct run_options *options);
