/*
 * hear: what a cell tells (plan/tell.h), and how much of it is believed.
 */
#pragma once

#include "run/supervise.h"

/* One datagram. False once the cell's end is closed. */
bool hear_once(struct watch *watch, struct arena *arena);
/* All that is there. */
void hear_rest(struct watch *watch, struct arena *arena);
