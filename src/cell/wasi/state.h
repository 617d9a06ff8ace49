/*
 * state: all that one guest's WASI remembers. A runner may be forked inside a call: nothing is kept
 * anywhere else.
 */
#pragma once

#include <sys/types.h>

#include "base/buf.h"
#include "cell/wasi/fds.h"
#include "cell/wasi/wasi.h"

/* Standard streams: the host's descriptors from 0 on. Nothing else ever makes a guest wait. */
#define N_STREAMS 3

#define N_CLOCKS 4

/* A granted directory, one for each preopen. */
struct grant {
    int root;         /* stays open to the end: closing it would take a detached mount apart */
    const char *name; /* as the guest sees it */
    size_t same_as;   /* the first grant of this directory with this access: "." is a second name */
    bool writable;
    uint8_t at; /* plan/protected.h */
    dev_t dev;
    ino_t ino;
};

struct wasi {
    struct fds fds;
    struct grant *grants;
    size_t n_grants;
    struct wasi_config config; /* preopens is NULL: they are in grants */
    uint64_t disk_bytes;       /* limits, UINT64_MAX where there is none */
    uint64_t file_bytes;
    uint64_t disk_used; /* of disk_bytes, as quota.h counts it */
    struct wasi_counters counters;
    uint64_t clock_res_ns[N_CLOCKS]; /* read at the start, when there still is a call for it */
    struct buf answer;               /* of the door's last call (door.c) */
    bool door_broken;
    bool exited;
    uint32_t exit_code;
};
