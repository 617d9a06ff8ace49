/*
 * mount: the new mount API, by descriptor. Nothing here walks a path twice.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mount.h>
#ifndef __GLIBC__
#include <linux/mount.h> /* glibc has the same in sys/mount.h and does not bear both */
#endif

#include "base/err.h"

/* What every mount that a guest can reach has at least. */
#define MOUNT_TAME (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)

/* The attributes of a granted tree. */
static inline uint64_t mount_attributes(bool read_only, bool executable)
{
    return MOUNT_TAME | (read_only ? MOUNT_ATTR_RDONLY : 0) | (executable ? 0 : MOUNT_ATTR_NOEXEC);
}

/*
 * Clones the tree below `dir` (with what is mounted in it) as a detached mount with these
 * MOUNT_ATTR_*. From a descriptor on it `..` ends at its root. user_namespace is -1, or one whose
 * map says how owners on disk appear to the guest. `name` is for messages. Returns 0 and a
 * descriptor the caller owns, or -1 and *err.
 */
int mount_detach(int dir, const char *name, uint64_t attributes, int user_namespace, int *ret_fd,
                 struct err *err);

/* The bare calls. Each returns 0 or a descriptor, or -1 and errno. */

/* A detached clone of the mount at path, with what is mounted below it. */
int mount_clone(int dir, const char *path);
/* Puts a detached mount in its place. A symlink there is not followed. */
int mount_attach(int mount, int dir, const char *path);
/* Sets attributes of a mount; recursive: of those below it too. */
int mount_set(int mount, bool recursive, uint64_t set, uint64_t clear);

/* One option of a new file system: a key with a value, or (NULL) a flag. */
struct mount_option {
    const char *key, *value;
};
/* A new instance of a file system, mounted nowhere. */
int mount_new(const char *type, const struct mount_option *options, size_t n, uint64_t attributes);
