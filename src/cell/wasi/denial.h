/*
 * denial: telling the owner what the sandbox refused. Not for what any program meets, as a file
 * that is not there.
 */
#pragma once

#include <stdint.h>

#include "cell/wasi/state.h"

/*
 * `action` is the function's name; the target is `path`, behind the preopen's name if `entry` is
 * one. `path` may be NULL where the call has none: the target is then the grant's name.
 */
void wasi_deny(struct wasi *wasi, const char *action, const struct fd_entry *entry,
               const char *path, const char *rule);
