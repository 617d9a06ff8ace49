/*
 * policy_page: policies in force, for people and as JSON.
 */
#pragma once

#include "base/json.h"
#include "front/page.h"
#include "plan/principal.h"
#include "store/policies.h"

/* Each layer, each rule with the file and line it comes from. Returns the exit status. */
int policy_page_print(const struct policies *policies, const struct principal *principal);
/* The same as 'wasp schema policy-show' has it. */
void policy_page_write(struct json_writer *json, const struct policies *policies,
                       const struct principal *principal);
