/*
 * attempts: what hostile native code tries. Each attempt is one act that must not work inside a
 * cell and does work for an ordinary program outside of one, so that a test that sees it refused
 * has seen the wall and not a mistake in the attempt.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct stage {
    int writable; /* a granted directory, read-write; -1: none */
    int readable; /* a granted directory, read-only; -1: none */
    int code;     /* the descriptor of the compiled module; -1: none */
    int port;     /* a server listens there on the host's loopback */
    int pid;      /* a process of the host's */
};

struct attempt {
    const char *name;
    bool is_escape; /* reaches the host; the others only widen what the kernel offers */
    int (*act)(const struct stage *stage); /* 0: it worked; -1 and errno: refused */
};

extern const struct attempt attempts[];
extern const size_t n_attempts;

/* Makes all of them and prints a line each: NAME escape|surface done|refused ERRNO. */
void attempts_run(const struct stage *stage);
