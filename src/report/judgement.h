/*
 * judgement: how a request would be judged, as JSON (`wasp.judgement/1`), for `policy explain`.
 */
#pragma once

#include "plan/decide.h"
#include "report/leave.h"

/* Writes the object and a newline to fd. 0, or -1 and errno when fd cannot take it. */
int judgement_write(int fd, const struct leave *leave, const struct needs *needs,
                    const struct decision *decision);
