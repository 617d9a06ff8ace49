/*
 * policies: the layers in force, found and read: each file opened once, judged by its descriptor
 * (a regular file, owned by root or by us, the system's by root alone, not writable by group or
 * others; neither is the folder it lies in), read whole, parsed (plan/policy.h).
 */
#pragma once

#include "base/arena.h"
#include "plan/policy.h"

#define POLICIES_SYSTEM_DIR "/etc/wasp"

struct policy_places {
    const char *system_dir; /* POLICIES_SYSTEM_DIR; tests have another */
    const char *user_dir;   /* the user's configuration folder; NULL: none */
    const char *file; /* --policy: a path, or "preset:NAME"; takes the user's place. NULL: none */
    const char *cwd;  /* the project's layers are looked for from here upwards; NULL: not */
    const char *home; /* what "~" is; NULL: refused */
    enum tier tier;   /* that the request names; TIER_NONE: none */
    bool is_agent;    /* with neither system's nor user's: tier low is in force */
};

struct policies {
    struct policy *layers; /* in the arena; in the order of enum layer, tiers after the rest */
    size_t count;
    struct digest digest; /* of all layers' digests in their order */
};

/*
 * In each folder policy.yaml or policy.json, both at once are refused; a project's lies in .wasp/
 * of the working directory or any above it (those are all in force, the nearest last), not of one
 * that everybody may write to, such as /tmp. A file that is there and cannot be taken is an error,
 * never skipped. `real` of rules is filled in.
 * resolve_programs: also find what exec rules name (on CELL_PATH of plan/plan.h), and test their
 * examples. 0, or -1 and *err (ERR_REQUEST, or ERR_HOST).
 */
int policies_load(const struct policy_places *places, bool resolve_programs, struct arena *arena,
                  struct policies *ret_policies, struct err *err);
/*
 * One file for `policy check`, with all its problems; the file's owner and mode are judged too. In
 * a folder .wasp, if the path is absolute, it is a project's. 0, or -1 and *err; no problems: the
 * file itself is not taken.
 */
int policies_check(const char *path, const char *home, struct arena *arena,
                   struct policy *ret_policy, struct policy_problems *ret_problems,
                   struct err *err);
