/*
 * manifest_file: a manifest from where it lies.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "plan/manifest.h"

/*
 * Reads and parses the file, or standard input for "-". Relative paths in it count from the file's
 * folder as path is written (a symlink to a manifest is the owner's, and is followed), for "-" from
 * the working directory. 0, or -1 and *err. SIGINT, SIGTERM and SIGHUP, which the caller has
 * blocked, end the wait for standard input: -1 and *ret_signal.
 */
int manifest_file_read(const char *path, manifest_choose *choose, void *data, struct arena *arena,
                       struct manifest *ret_manifest, int *ret_signal, struct err *err);
