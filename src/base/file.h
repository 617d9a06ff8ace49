/*
 * file: files of the caller's, written whole or not at all.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/*
 * Puts the bytes at path, with the mode that the umask leaves. Whoever looks sees what was there
 * before or all of them, and after a crash too: they are on the disk before they have the name. A
 * symlink there is replaced, not followed. no_clobber: refused (ERR_REQUEST) where there is
 * anything. Returns 0, or -1 and *err with nothing changed and nothing left behind.
 */
int file_replace(const char *path, const void *bytes, size_t len, bool no_clobber, struct err *err);
