/*
 * environment: the variables wasp itself obeys, read here and handed on as values. No other room
 * reads any.
 */
#pragma once

#include "base/arena.h"
#include "run/run.h"

struct environment {
    struct places places;
    const char *isolation; /* WASP_ISOLATION as it is, or NULL; judged where --isolation is */
};

/*
 * 0, or -1 and *err for a value that makes no sense: a weaker or other place than was meant must
 * not be taken quietly. A folder counts only if it is absolute, as the XDG specification has it; an
 * empty variable is an unset one.
 */
int environment_read(struct arena *arena, struct environment *ret_environment, struct err *err);
