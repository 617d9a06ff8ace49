/*
 * run_options: what `wasp run` takes.
 */
#pragma once

#include "front/options.h"
#include "plan/request.h"

struct run_options {
    struct request request;
    bool dry_run;
    bool timings;
    bool quiet;
};

extern const struct syntax run_syntax;

/* Nothing granted, default limits. */
void run_options_init(struct run_options *options);
