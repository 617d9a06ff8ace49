/*
 * protect: protected names (plan/protected.h) in directories that a native guest may write to:
 * those that are there are pinned by the cell (cell/pins.c), those that appear are reported.
 *
 * What the pins hold: such a name can be neither changed, removed nor renamed, nor can a directory
 * above it, and no file is made on the host for that. What they cannot hold, and the report tells
 * instead: a name that was not there when the run began, and one that the host itself replaced
 * meanwhile. In a directory that we may not read nothing is found; a guest with our rights that
 * owns it could change that.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "plan/plan.h"

/* By what a file is known again. No program sets its ctime; whatever changes it does. */
struct protect_stamp {
    uint64_t ino;
    int64_t ctime_ns;
};

struct protect_pins {
    struct plan_pin *pins;        /* in the arena */
    struct protect_stamp *stamps; /* one for each */
    size_t count;
    int64_t since_ns; /* unheld: what is stamped later changed after the scan */
};

struct protect_want {
    uint32_t grant;                 /* for plan_pin.grant */
    const char *const *unprotected; /* rules that do not hold; NULL-terminated */
    bool names;                     /* protected names (PIN_READ_ONLY), and the directories above
                                       them (PIN_PLACE) */
    bool sockets;                   /* sockets of the host (PIN_MASK) */
    bool unheld;                    /* nothing will be pinned (landlock rung): any change counts */
    size_t max_entries;             /* 0: PROTECT_MAX_ENTRIES */
};

#define PROTECT_MAX_PINS 512
#define PROTECT_MAX_ENTRIES 2000000

/*
 * Walks the tree below `dir` (a descriptor on the host's directory; O_PATH will do) without
 * following a link or crossing into a special file, and adds what is to be pinned. What is mounted
 * in it belongs to it. A parent comes before what is in it. `name` is for messages. -1 and *err if
 * the tree is too large to look through, there are more than PROTECT_MAX_PINS, or a protected name
 * is a symlink: that could be held, but not what it leads to.
 */
int protect_scan(int dir, const char *name, const struct protect_want *want, struct arena *arena,
                 struct protect_pins *pins, struct err *err);

struct protect_found {
    const char *path; /* relative to the grant */
    const char *rule;
};

/*
 * Walks it again after the run: protected names that are there and were not pinned, or that changed
 * since the scan. At most PROTECT_MAX_PINS of them; *ret_more says how many beyond. -1 and *err if
 * not all could be looked through (the guest may have seen to that); what was found is there all
 * the same.
 */
int protect_report(int dir, const char *name, const struct protect_want *want,
                   const struct protect_pins *pins, struct arena *arena,
                   struct protect_found **ret_found, size_t *ret_count, size_t *ret_more,
                   struct err *err);

/*
 * Where a granted directory lies, for plan_grant.at (protected_root of where it really is). `name`
 * counts where /proc cannot tell.
 */
uint8_t protect_root(int dir, const char *name, const char *const *unprotected);
