/*
 * explain: a request with every default filled in, as JSON (`wasp.plan/1`), for --dry-run. Nothing
 * has been opened or run.
 */
#pragma once

#include "base/json.h"
#include "plan/request.h"

/*
 * Writes the object and a newline to fd. A native guest's variables that look like credentials are
 * named without their value. 0, or -1 and errno when fd cannot take it or memory is exhausted.
 */
int explain_write(int fd, const struct request *request);
/*
 * The same as a value, where one may stand. in_full: with the source and what the guest reads as
 * text, for whoever approves it. 0, or -1 if memory is exhausted: nothing was put.
 */
int explain_put(struct json_writer *json, const struct request *request, bool in_full);
