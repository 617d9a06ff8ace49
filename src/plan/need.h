/*
 * need: one thing that a request asks for, in the words of policies and grants.
 */
#pragma once

#include "base/arena.h"
#include "plan/capability.h"
#include "plan/facts.h"
#include "plan/request.h"

struct need {
    enum capability capability;
    /* The scope of the grant that would cover it, as grant.h writes it: for messages and grants. */
    const char *scope;
    const char *asked; /* fs_*: absolute as it was written, for who may not know where that leads */
    const char *path; /* fs_*, code_run of a module: absolute, real. NULL: unknown, only "*" fits */
    const char *name; /* env_set: the variable; code_run: the language; else NULL */
    bool must_be_named; /* env_set: a hook of a loader or interpreter, or a secret of the owner's;
                           no prefix or "*" covers it, but those that are denied do */
    /* exec_run */
    const char *program;      /* real path; NULL: unknown, only "*" fits */
    const char *program_name; /* as it was asked for: some programs do another thing by each name */
    struct file_id program_id;
    const char *const *args; /* after the program's name */
    size_t n_args;
    bool is_door;      /* what a guest may ask for while it runs, and is judged again then */
    bool has_patterns; /* of a guest's door: args are patterns as a rule has them; all that they */
    bool any_args;     /* cover is asked for, and any further arguments besides */
    /* net_http */
    bool is_loopback;
    const char *host;
    uint16_t port;
    const char *method, *url_path;
    /* code_run of a module */
    struct digest sha256;
    bool has_sha256;
};

struct needs {
    struct need *items; /* in the arena */
    size_t count;
};

/*
 * All that a request asks for: each directory (read-write, or an overlay that is applied by itself:
 * fs_write; else fs_read), rootfs and stdin file (fs_read), each variable, loopback, the program of
 * a native run (exec_run; not for source text, whose interpreter is wasp's choice), language or
 * module (code_run), and the scopes of its capabilities: paths, commands. Samples and registered
 * runtimes with their directories are wasp's own and need none. 0, or -1 and *err for want of
 * memory.
 */
int needs_of(const struct request *request, const struct facts *facts, struct arena *arena,
             struct needs *ret_needs, struct err *err);
