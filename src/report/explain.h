/*
 * explain: a request with every default filled in, as JSON (`wasp.plan/1`), for --dry-run. Nothing
 * has been opened or run.
 */
#pragma once

#include "plan/request.h"

/* Writes the object and a newline to fd. 0, or -1 and errno when fd cannot take it. */
int explain_write(int fd, const struct request *request);
