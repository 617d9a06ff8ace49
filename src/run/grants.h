/*
 * grants: the granted directories, opened once, and whose rights the cell has.
 */
#pragma once

#include "base/arena.h"
#include "plan/plan.h"
#include "run/run.h"

struct grants {
    enum backend backend;
    struct plan_grant *planned; /* in the arena; for struct plan */
    size_t count;
    int fds[REQUEST_MAX_DIRS]; /* what goes to the cell; none (n_fds 0) where the cell opens them
                                  itself */
    size_t n_fds;
    int hosts[REQUEST_MAX_DIRS];         /* native: the directories on the host */
    const char *paths[REQUEST_MAX_DIRS]; /* where they lie, absolute */
    size_t n_hosts;
    enum identity identity;
    uint32_t host_uid; /* IDENTITY_RANGE */
    uint32_t uid, gid; /* inside the cell */
    int uid_lock;      /* holds the uid for this run; -1 otherwise */
};

/* Decides whose rights the cell has. 0, or -1 and *err; grants_release in both cases. */
int grants_choose(const struct request *request, const struct places *places,
                  struct grants *ret_grants, struct err *err);
/*
 * Opens each directory, refuses what must not be granted and, for runs started by root, makes the
 * idmapped clones. 0, or -1 and *err.
 */
int grants_open(struct grants *grants, const struct request *request, const struct places *places,
                struct arena *arena, struct err *err);
/* Refuses what is not the file that a policy judged. Returns -1. */
int grants_changed(const char *path, struct err *err);
void grants_release(struct grants *grants);
