/*
 * environment: what names and values of variables tell.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * True if a variable of that name makes a loader, an interpreter or a tool run or read something
 * that its command line does not name: LD_PRELOAD, PYTHONSTARTUP, NODE_OPTIONS, BASH_ENV, GIT_*.
 */
bool environment_is_hook(const char *name, size_t len);
