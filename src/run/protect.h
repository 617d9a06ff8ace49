/*
 * protect: protected names (plan/protected.h) in directories that a native guest may write to: those
 * that are there are pinned by the cell, those that appear are reported.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "plan/plan.h"

struct protect_pins {
    struct plan_pin *pins; /* in the arena */
    size_t count;
};

struct protect_want {
    uint32_t grant;                 /* for plan_pin.grant */
    const char *const *unprotected; /* rules that do not hold; NULL-terminated */
    bool names;                     /* protected names (PIN_READ_ONLY), and the directories above
                                       them (PIN_PLACE) */
    bool sockets;                   /* sockets of the host (PIN_MASK) */
};

/*
 * Walks the tree below `dir` (a descriptor on the host's directory; O_PATH will do) without
 * following a link or crossing into a special file, and adds what is to be pinned. A parent comes
 * before what is in it. -1 and *err if the tree is too large to look through (the hint names
 * overlay, ':ro' and --unprotect), or there are more than PROTECT_MAX_PINS.
 */
int protect_scan(int dir, const char *name, const struct protect_want *want, struct arena *arena,
                 struct protect_pins *pins, struct err *err);

#define PROTECT_MAX_PINS 512
#define PROTECT_MAX_ENTRIES 2000000

struct protect_found {
    const char *path; /* relative to the grant */
    const char *rule;
};

/*
 * Walks it again after the run: protected names that are there and were not pinned. At most
 * PROTECT_MAX_PINS of them; *ret_more says how many beyond.
 */
int protect_report(int dir, const char *name, const struct protect_want *want,
                   const struct protect_pins *pins, struct arena *arena,
                   struct protect_found **ret_found, size_t *ret_count, size_t *ret_more,
                   struct err *err);
