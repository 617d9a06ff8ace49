/*
 * protect_walk: a directory tree, every name once, with where it lies (plan/protected.h).
 *
 * Made for large and hostile trees: four calls a directory and none a file, one descriptor at a
 * time whatever the depth, no link followed, no special file opened, and a bound on all of it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct protect_entry {
    int dir;          /* that holds it */
    const char *name; /* in it */
    const char *path; /* from where the walk began */
    uint8_t type;     /* DT_*, never DT_UNKNOWN */
    uint8_t above;    /* where the directory that holds it lies, */
    uint8_t at;       /* and itself */
};

struct protect_walk {
    const char *name; /* of the tree, for messages */
    const char *const *unprotected;
    bool whole;    /* also what lies beneath a rule */
    bool must_see; /* a directory of ours that cannot be read, or lies too deep, is an error, but
                      one that waits until the rest has been seen */
    size_t max_entries;
    int (*visit)(void *data, const struct protect_entry *entry, struct err *err);
    void *data;
};

/* 0, or -1 and *err: visit's, or that the tree is too large or too deep. */
int protect_walk(int dir, uint8_t at, const struct protect_walk *walk, struct err *err);
