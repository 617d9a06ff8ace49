/*
 * manifest_keys: the keys of a manifest, by what they are about. For manifest.c, whose table has a
 * row for each.
 */
#pragma once

#include "plan/keys.h"
#include "plan/manifest.h"

/* `into` is a struct manifest, of which kind and backend are known. */

/* What the guest gets (manifest_guest.c). */
key_handler manifest_read_args, manifest_read_stdin, manifest_read_env, manifest_read_env_force,
    manifest_read_secret_env, manifest_read_dirs, manifest_read_unprotected, manifest_read_labels,
    manifest_read_capabilities, manifest_read_commands;
/* What a native guest is (manifest_native.c). */
key_handler manifest_read_argv, manifest_read_command, manifest_read_cwd, manifest_read_rootfs,
    manifest_read_proc, manifest_read_tty, manifest_read_apply, manifest_read_diff,
    manifest_read_language, manifest_read_source, manifest_read_runtime;

/* Of a native-run, once all keys were read: exactly one of the first two was there. */
int manifest_check_program(struct reading *reading, const struct manifest *manifest);
/* A path that counts from the manifest's folder, and is not empty. */
int manifest_keep_path(struct reading *reading, const char *path, const struct json_value *value,
                       const char **ret_path);
