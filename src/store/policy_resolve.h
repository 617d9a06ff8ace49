/*
 * policy_resolve: what the names in a policy are on this host.
 */
#pragma once

#include "base/arena.h"
#include "plan/policy.h"

/*
 * Fills in `real` of rules about files and modules: where links lead, also those above it. A rule
 * that allows is not followed where it lies beneath another that allows writing: who may write
 * there could put a link in its place. 0, or -1 and *err (memory).
 */
int policy_resolve_paths(struct policy *policy, struct arena *arena, struct err *err);
/*
 * Fills in `program_id` of exec rules, with links followed; a bare name is looked for on CELL_PATH.
 * Then tests their examples, where the program is there. Problems are kept. 0, or -1 and *err
 * (memory).
 */
int policy_resolve_programs(struct policy *policy, struct problems *problems, struct err *err);
