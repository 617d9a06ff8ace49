/*
 * call: one capability without a guest, judged, counted and recorded as a guest's use of it.
 */
#pragma once

#include "gate/gate.h"
#include "plan/door.h"

/* Fills in *answer, unless it was refused at the gate, and *result, which was init'ed. */
void call_once(struct gate *gate, struct request *request, enum door_call call, const char *json,
               struct arena *arena, struct buf *answer, struct result *result);
