/*
 * approval: a person's word on a request that a policy wants one for.
 */
#pragma once

#include "gate/gate.h"

/*
 * Asks right here, if there is somebody to ask; otherwise files the request, which waits. request
 * is NULL for a single call. 0: it was approved, and gate's decision rests on the new grants. -1
 * and *err: ERR_APPROVAL (it waits) or ERR_DENIED.
 */
int approval_get(struct gate *gate, const struct request *request, struct err *err);
