/*
 * identity: whose rights a cell has, and user namespaces as maps for mounts.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "plan/plan.h"
#include "run/run.h"

/*
 * Root of the host: a uid of the range that no other run has, held by *ret_lock until it is closed.
 * Everyone else (root of a container's user namespace included): the caller's own. 0, or -1 and
 * *err.
 */
int identity_choose(enum isolation isolation, const struct places *places,
                    enum identity *ret_identity, uint32_t *ret_host_uid, int *ret_lock,
                    struct err *err);

struct identity_maps {
    struct identity_pair {
        uint32_t uid, gid;
        int user_namespace;
    } pairs[REQUEST_MAX_DIRS];
    size_t count;
};

/*
 * A user namespace in which files of this owner appear as the cell's: made once an owner. It stays
 * the maps'.
 */
int identity_map(struct identity_maps *maps, uint32_t uid, uint32_t gid, uint32_t host_uid,
                 int *ret_user_namespace, struct err *err);
void identity_maps_release(struct identity_maps *maps);

/* Writes /proc/PID/FILE, or the one-line id map in it. 0, or -1 and errno. */
int identity_write_proc(pid_t pid, const char *file, const char *text);
int identity_write_map(pid_t pid, const char *file, uint32_t inside, uint32_t outside);
