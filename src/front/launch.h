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
    struct gate gate;
    bool has_gate;
    bool only_judges;       /* `policy explain`: the verdict is the answer */
    struct secrets secrets; /* what no answer may show */
    int signal;             /* one came before there was a request; 0: none */
};

/*
 * Reads environment and words, for a guest of that backend. 0, or -1 and *err; launch_answer can be
 * called in both cases.
 */
int launch_read(struct launch *launch, const struct syntax *syntax, enum backend backend,
                const struct call *call, struct err *err);
/* The words once more, for another backend; the gate stays open. */
int launch_read_again(struct launch *launch, const struct syntax *syntax, enum backend backend,
                      const struct call *call, struct err *err);
/*
 * Judges the request as a whole, from text alone, when all its parts are there: its isolation, what
 * runs its source, what holds between the parts. For whoever does not go on to launch_answer.
 */
int launch_judge(struct launch *launch, struct arena *arena, struct err *err);
/*
 * Opens the gate, unless it is open: for whoever needs a policy's word before the request is whole.
 * launch_answer closes it; who does not get there does so himself.
 */
int launch_open_gate(struct launch *launch, struct arena *arena, struct err *err);
void launch_close_gate(struct launch *launch);
/*
 * Judges the request, runs it, or shows it for a dry run, and answers. failed is why there is none
 * to run, or NULL. Returns the exit status.
 */
int launch_answer(struct launch *launch, struct arena *arena, const struct err *failed);
