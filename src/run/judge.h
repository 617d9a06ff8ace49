/*
 * judge: what became of a run, from what was seen of it.
 */
#pragma once

#include "run/result.h"
#include "run/supervise.h"

/* Fills reason, usage and walls of the result. The watched cell is gone. */
void judge(const struct watch *watch, uint64_t start_ns, struct result *result);
