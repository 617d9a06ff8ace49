/*
 * scope: how far a grant reaches, as text (grant.h says how it is written for each capability).
 * Made from a need, judged when a person writes one, compared when something is decided.
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/need.h"

/*
 * Of the grant that would cover the need and as little besides as can be written; in the arena, or
 * NULL for want of memory. `otherwise` stands for a path or program that is not known here. (A
 * program without arguments can only be written so that it may have any.)
 */
const char *scope_of(const struct need *need, const char *otherwise, struct arena *arena);

/* The need is of that capability, and lies within. A malformed scope covers nothing. */
bool scope_covers(enum capability capability, const char *scope, const struct need *need);

/* True if some scope can cover the need: not if the thing is not known here. */
bool scope_exists(const struct need *need);

/* Judges the text. 0, or -1 and *err (ERR_REQUEST), which says how one is written. */
int scope_check(enum capability capability, const char *scope, struct err *err);

/*
 * Both absolute, by components: `path` is `above` or lies beneath it. Slashes may be several, but
 * with a "." or ".." in either it is false.
 */
bool scope_path_covers(const char *above, const char *path);
