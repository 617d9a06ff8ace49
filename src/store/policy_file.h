/*
 * policy_file: a policy's file, opened once and judged by its descriptor.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"

struct policy_file {
    const char *path;
    bool is_yaml;
    char *text; /* in the arena; NULL: there is no such file */
    size_t len;
};

/* How much is asked of it. */
struct policy_trust {
    bool root_alone;    /* it and its folder belong to root, not to us */
    bool folder_itself; /* the folder must be no link */
};

/*
 * policy.yaml or policy.json of a folder; text is NULL if the folder or both are absent. Refused,
 * with what to do: both at once, a link, what is no regular file, what belongs to somebody else or
 * can be written by group or others, the folder included, what is larger than POLICY_MAX_BYTES. 0,
 * or -1 and *err (ERR_REQUEST, or ERR_HOST).
 */
int policy_file_find(const char *folder, struct policy_trust trust, struct arena *arena,
                     struct policy_file *ret_file, struct err *err);
/* One by its own name, which ends in .yaml, .yml or .json. It must be there. */
int policy_file_read(const char *path, struct arena *arena, struct policy_file *ret_file,
                     struct err *err);
