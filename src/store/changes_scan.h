/*
 * changes_scan: finds what differs between the tree that a guest left and the host's directory. For
 * store/changes_*.c alone.
 */
#pragma once

#include "store/changes.h"

struct changes_scanning {
    uint64_t started_ns, ended_ns; /* when the guest ran */
    uint32_t mask;                 /* the umask */
    uint64_t max_entries;
    /*
     * Gets each change, in the order of a walk: a directory comes before what is new in it, and
     * behind what is deleted from it. content is the file, or -1; it stays the walk's.
     */
    int (*take)(struct change *change, int content, void *data, struct err *err);
    void *data;
};

/* `dir` is its number. count goes on from one directory to the next. 0, or -1 and *err. */
int changes_scan(const struct changes_source *source, uint64_t dir,
                 const struct changes_scanning *how, uint64_t *count, struct err *err);
