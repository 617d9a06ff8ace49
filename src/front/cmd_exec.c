/*
 * exec: a native program in a walled cell; one JSON object back.
 */
#include "front/launch.h"

static int run(const struct call *call)
{
    struct launch launch;
    struct err err;
    int rc = launch_read(&launch, &exec_syntax, BACKEND_NATIVE, call, &err);

    return launch_answer(&launch, call->arena, rc < 0 ? &err : NULL);
}

const struct verb verb_exec = {
    .syntax = &exec_syntax,
    .summary = "run a native program with nothing but what you grant",
    .about = "Runs a program of the host's behind all walls: it finds the host's /usr, read-only, "
             "scratch space that goes with it, and what options grant; no other file, process or "
             "socket, and no network. PROGRAM is looked for on the cell's own PATH, whatever --env "
             "says of it, or is a path in the guest's view. Standard output is exactly one JSON "
             "object ('wasp schema result'); the exit status is the guest's own, or tells why "
             "there is none.",
    .answers_with_envelope = true,
    .launches = true,
    .main = run,
};
