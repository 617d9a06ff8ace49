/*
 * environment: the variables wasp itself obeys, read here and handed on as values. No other room
 * reads any.
 */
#pragma once

#include "base/arena.h"
#include "base/redact.h"
#include "plan/request.h"
#include "run/run.h"

struct environment {
    struct places places;
    const char *home;      /* HOME if it is absolute, or NULL */
    const char *isolation; /* WASP_ISOLATION as it is, or NULL; judged where --isolation is */
};

/*
 * Takes the values of the request's secret_env, registers them in *secrets, gives them to the
 * request and wipes them from our own environment, where /proc would show them. A core of ours,
 * which would hold them, is not written from then on. 0, or -1 and *err about the first one that
 * is not set or is none; the others are registered all the same.
 */
int environment_take_secrets(struct request *request, struct arena *arena, struct secrets *secrets,
                             struct err *err);
/*
 * 0, or -1 and *err for a value that makes no sense: a weaker or other place than was meant must
 * not be taken quietly. A folder counts only if it is absolute, as the XDG specification has it; an
 * empty variable is an unset one.
 */
int environment_read(struct arena *arena, struct environment *ret_environment, struct err *err);
