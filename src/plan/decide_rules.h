/*
 * decide_rules: what one layer says of one need, by its rules alone. For decide.c.
 */
#pragma once

#include "plan/need.h"
#include "plan/policy.h"

/*
 * An allow rule counts if it is about all that is asked for; a deny or ask rule if it is about any
 * part of it, or may be for want of knowledge. So a directory above a denied one is denied, and a
 * command pattern that could become a denied command, too. *ret_rule is the rule that decided; NULL
 * with VERDICT_DENY: none allows it.
 */
enum verdict decide_layer(const struct policy *layer, const struct need *need,
                          const struct rule **ret_rule);
