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
    const char *path; /* fs_*, code_run of a module: absolute, real. NULL: unknown, only "*" fits */
    const char *name; /* env_set: the variable; code_run: the language; else NULL */
    bool must_be_named; /* env_set: a hook of a loader or interpreter; no prefix or "*" covers it */
    /* exec_run */
    const char *program; /* real path; NULL: unknown, only "*" fits */
    struct file_id program_id;
    const char *const *args; /* after the program's name */
    size_t n_args;
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
 * runtimes are wasp's own and need none. 0, or -1 and *err.
 */
int needs_of(const struct request *request, const struct facts *facts, struct arena *arena,
             struct needs *ret_needs, struct err *err);
