/*
 * run: a module in a walled cell; one JSON object back.
 */
#include "front/launch.h"

static int run(const struct call *call)
{
    struct launch launch;
    struct err err;
    int rc = launch_read(&launch, &run_syntax, BACKEND_WASM, call, &err);

    return launch_answer(&launch, call->arena, rc < 0 ? &err : NULL);
}

const struct verb verb_run = {
    .syntax = &run_syntax,
    .summary = "run a WebAssembly module with nothing but what you grant",
    .about = "Runs a WASI preview 1 module behind all walls: no file, no variable, no network and "
             "no other "
             "program unless an option grants it. Standard output is exactly one JSON object "
             "('wasp schema result' describes it); the exit status is the guest's own, or tells "
             "why there is "
             "none.",
    .answers_with_envelope = true,
    .launches = true,
    .main = run,
};
