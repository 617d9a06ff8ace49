/*
 * launch: from a verb's words to its answer, the same for every verb that runs a guest.
 */
#pragma once

#include "front/environment.h"
#include "front/run_options.h"
#include "front/verb.h"

struct launch {
    struct environment environment;
    struct run_options options;
    int signal; /* one came before there was a request; 0: none */
};

/* Reads environment and words. 0, or -1 and *err; launch_answer can be called in both cases. */
int launch_read(struct launch *launch, const struct syntax *syntax, const struct call *call,
                struct err *err);
/*
 * Runs the request, or shows it for a dry run, and answers. failed is why there is none to run, or
 * NULL. Returns the exit status.
 */
int launch_answer(struct launch *launch, struct arena *arena, const struct err *failed);
