/*
 * policy_explain: a verb of `policy`'s.
 */
#pragma once

#include "front/verb.h"

extern const struct verb verb_policy_explain;
