/*
 * hear: what a cell tells (plan/tell.h), and how much of it is believed.
 */
#pragma once

#include "run/supervise.h"

/* One datagram. False once the cell's end is closed. */
bool hear_once(struct watch *watch, struct arena *arena);
/* All that is there. */
void hear_rest(struct watch *watch, struct arena *arena);
/* A refusal, by the cell's word or by our own; more than TELL_MAX_DENIALS are not kept. */
void hear_denial(struct watch *watch, struct arena *arena, struct tell_denial *denial);
