/*
 * principal: in whose name a request is made. The owner's flags grant; an agent's only ask.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

#define PRINCIPAL_MAX 128

struct principal {
    bool is_agent;
    char name[PRINCIPAL_MAX]; /* "owner", "agent:NAME": as it is recorded and as grants name it */
};

void principal_owner(struct principal *ret_principal);
/*
 * "owner", or "agent:NAME" with NAME of letters, digits and . _ - @ / (not empty, not too long). 0,
 * or -1 and *err (ERR_USAGE).
 */
int principal_parse(const char *text, struct principal *ret_principal, struct err *err);
