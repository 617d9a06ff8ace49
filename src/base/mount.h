/*
 * mount: a directory as a mount of its own that hangs nowhere.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

/*
 * Clones the tree below `dir` (with what is mounted in it) as a detached mount: nosuid, nodev,
 * noexec, read-only if asked. From a descriptor on it `..` ends at its root. user_namespace is -1,
 * or one whose map says how owners on disk appear to the guest. `name` is for messages. Returns 0
 * and a descriptor the caller owns, or -1 and *err.
 */
int mount_detach(int dir, const char *name, bool read_only, int user_namespace, int *ret_fd,
                 struct err *err);
