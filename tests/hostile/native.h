/*
 * native: what a hostile native program tries, one act each. Each works for one without walls,
 * so that a test that sees it refused has seen the wall and not a mistake in the act.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* What the test prepared, from arguments NAME=VALUE. */
struct native_stage {
    const char *ro, *rw;  /* granted directories */
    const char *secret;   /* a file that is not granted */
    const char *abstract; /* name of a listening abstract socket */
    const char *queue;    /* a POSIX message queue */
    int port;             /* of TCP and UDP servers on the host's loopback */
    int key;              /* of a SysV segment, set and queue */
    pid_t pid;            /* a process of the host's */
    pid_t init;           /* the process that watches over us; without walls any of our own */
};

enum native_kind {
    NATIVE_ESCAPE,  /* reaches the host: refused whichever single wall is missing */
    NATIVE_SURFACE, /* widens what the kernel offers, or sees what is of no use by itself */
};

/* What the act takes to work without walls, so that others can be left out there. */
enum native_needs {
    NEEDS_NOTHING,
    NEEDS_ROOT,
    NEEDS_TERMINAL, /* stdin is a terminal, and the controlling one */
};

struct native_act {
    const char *name;
    int row; /* of THREATS, section 3 */
    enum native_kind kind;
    enum native_needs needs;
    int (*act)(const struct native_stage *stage); /* 0: it worked; -1 and errno: refused */
};

/* Each ends with a row without a name. */
extern const struct native_act native_files[];
extern const struct native_act native_reach[];
extern const struct native_act native_kernel[];
extern const struct native_act native_mounts[];

/* 0 if the result is no refusal: it worked, or failed for another reason than a permission. */
int native_let_in(long result);
/* Opens and closes it. */
int native_open(const char *path, int flags);
/* The same with a name beneath a directory. */
int native_open_in(const char *dir, const char *name, int flags);
/* "DIR/NAME" in the caller's buffer. */
const char *native_path(char *buffer, size_t size, const char *dir, const char *name);
