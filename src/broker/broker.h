/*
 * broker: what is done outside a cell for the guest in it (CONTRACT §7): reading and writing a
 * file, running a program in a native cell. Each call is one JSON object and answered by one:
 *
 *     fs_read  {"path", "offset"?, "max_bytes"?, "encoding"?: "text" | "base64"}
 *              {"data" | "base64", "size", "offset", "eof"}
 *     fs_write {"path", "data" | "base64", "mode"?: "replace" | "append" | "create"}
 *              {"bytes"}
 *     exec_run {"argv", "stdin"?, "timeout_ms"?, "cwd"?}
 *              {"exit_code", "reason", "stdout", "stderr", "truncated", "execution_time_ms", …}
 *     any      {"error": {"code", "message", "hint"}}, code = capability | invalid | not_found |
 *              unreadable | exists | denied | approval | simulate | limit |
 *              host
 *
 * Paths are the host's, absolute. A file is looked for beneath the root of a scope, with the rights
 * of whoever owns that root, never more than the caller's own; where it really lies is what `check`
 * judges, before it is opened, and what was judged is what is opened. Reading follows links that
 * stay beneath the root; writing follows none at the end of the path.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "plan/capability.h"
#include "plan/door.h"
#include "plan/facts.h"
#include "plan/tell.h"

#define BROKER_READ_BYTES ((size_t) 64 << 10)  /* unless max_bytes says otherwise */
#define BROKER_MAX_READ ((size_t) 512 << 10)   /* the most it may say */
#define BROKER_EXEC_OUTPUT ((size_t) 64 << 10) /* of each stream: what fits in an answer, escaped */
#define BROKER_MAX_ARGV 4096

/* A directory beneath which files may be. */
struct broker_scope {
    const char *path; /* absolute; paths that begin so are looked for in it */
    int fd;           /* the directory, O_PATH will do; borrowed */
    bool writable;
};

/* One use of a capability, in the words of need.h. */
struct broker_use {
    enum capability capability;
    const char *path;        /* fs_*: where it really is, by the kernel's word */
    const char *const *argv; /* exec_run: untouched, NULL-terminated */
    size_t n_argv;
};

struct broker_exec {
    const char *program;     /* what the check named */
    const char *const *args; /* behind argv[0]; NULL-terminated */
    size_t n_args;
    const char *stdin_text; /* NULL: none */
    uint64_t timeout_ms;    /* 0: not said */
    const char *cwd;        /* absolute; NULL: not said */
};

/* What may still be written; counted down. */
struct broker_quota {
    uint64_t disk_bytes;
    uint64_t file_bytes; /* of one file; stays */
};

struct broker {
    bool has[CAPABILITIES]; /* what the run has at all */
    const struct broker_scope *scopes;
    size_t n_scopes;
    const struct file_id *own; /* wasp's own folders */
    size_t n_own;
    const char *const *unprotected; /* rules of protected.h that do not hold; NULL: all do */
    struct broker_quota *quota;
    void *data; /* what each is called with */
    /*
     * May this be? 0, or -1 and *err: ERR_DENIED, with the hint that names the grant, or what else
     * went wrong. exec_run: *ret_program is what to run, in the words of whoever allowed it rather
     * than the guest's; unless it is set, argv[0].
     */
    int (*check)(void *data, const struct broker_use *use, const char **ret_program,
                 struct err *err);
    /* Runs it in a native cell and answers. 0, or -1 and *err. */
    int (*run)(void *data, const struct broker_exec *exec, struct buf *answer, struct err *err);
};

/*
 * One call. Puts an answer of at most answer->max bytes into the empty *answer; a refusal is one,
 * and then fills in *ret_denial, which may be NULL. 0, or -1 for want of memory.
 */
int broker_call(const struct broker *broker, enum door_call call, const char *json, size_t len,
                struct buf *answer, struct tell_denial *ret_denial);
