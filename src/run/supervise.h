/*
 * supervise: watches a cell until it is gone. Both streams are drained whatever happens, so the
 * guest never waits for us.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/redact.h"
#include "run/door.h"
#include "run/meter.h"
#include "run/observer.h"
#include "run/result.h"
#include "run/spawn.h"

/* Where a stream of the cell goes. */
struct drain {
    int fd;                   /* our end, non-blocking; -1 once it ended */
    struct capture *capture;  /* kept here up to its maximum, or */
    struct redactor redactor; /* without its registered secrets, if there are any */
    int sink;                 /* written here (-1: not), up to sink_max; more ends the run */
    uint64_t sink_max;
    int sink_errno; /* the sink failed: first errno */
    uint64_t total;
};

/* What goes into the guest's stdin: from a descriptor, or bytes that are here already. */
struct feed {
    int fd;               /* our end of its stdin, non-blocking; -1: nothing to feed */
    int source;           /* -1: only what is in bytes */
    bool is_terminal;     /* its end is a character, not a closed pipe */
    bool awaits_terminal; /* it comes from the cell; what is written before would be lost */
    const char *bytes;
    size_t len, at;
    char chunk[16384];
};

/* Descriptors that came from the cell while it was still our own code. */
struct handles {
    int terminal; /* the master of the guest's terminal; -1: none */
    int *
        uppers; /* of overlay directories, by the number of the grant; -1: none. NULL: not wanted */
};

struct watch {
    struct child *child;
    struct drain out, err;
    struct feed *feed;
    uint64_t deadline_ns; /* CLOCK_MONOTONIC, UINT64_MAX: none */
    struct meter meter;
    bool forwards_signals;           /* the guest is told and has a moment, then it is killed */
    bool ends_by_itself;             /* the landlock rung: it ends its processes when told to */
    bool output_kills;               /* a capture that overflows ends the run */
    const struct observer *observer; /* may be NULL */
    const struct secrets *secrets;   /* taken out of what is heard and captured; may be NULL */
    struct handles handles;
    struct door *door; /* NULL: none */

    /* filled in */
    enum ended ended;
    struct err withdrawn; /* ENDED_DENIED: what holds no more */
    int signal;           /* ENDED_SIGNAL: which one came to us */
    bool was_asked;       /* that signal was passed on before the guest was done */
    int status;           /* as of waitpid */
    struct rusage usage;
    bool failed_heard, ready_heard, done_heard;
    struct err failed;
    struct tell_ready ready;
    struct tell_done done;
    struct tell_denial *denials; /* in the arena */
    size_t n_denials;
};

/*
 * Returns when the child is reaped and its streams are empty. 0, or -1 and *err if we could not
 * watch; the child is then dead too.
 */
int supervise(struct watch *watch, struct arena *arena, struct err *err);
