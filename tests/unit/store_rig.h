/*
 * store_rig: a state folder of its own, and several processes that use the store in it at once.
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "store/approvals.h"
#include "store/counters.h"
#include "store/grants.h"
#include "tap.h"

#define RIG_T 1700000000000ULL /* a time, in ms */

struct rig {
    char base[64];  /* goes at the end */
    char state[80]; /* the state folder; is not there yet */
    struct arena *arena;
};

__attribute__((unused)) static void rig_init(struct rig *rig)
{
    (void) snprintf(rig->base, sizeof(rig->base), "/tmp/wasp-store-XXXXXX"); /* fits */
    if (!mkdtemp(rig->base))
        abort();
    (void) snprintf(rig->state, sizeof(rig->state), "%s/state", rig->base); /* fits */
    rig->arena = arena_new();
}

__attribute__((unused)) static void rig_release(struct rig *rig)
{
    char command[256];

    arena_free(rig->arena);
    (void) snprintf(command, sizeof(command), "chmod -R u+rwx %s; rm -rf %s", rig->base, rig->base);
    if (system(command) != 0) /* NOLINT(cert-env33-c): our own words */
        printf("# cannot remove %s\n", rig->base);
}

__attribute__((unused)) static const char *rig_path(const struct rig *rig, const char *name)
{
    return arena_printf(rig->arena, "%s/%s", rig->state, name);
}

/* A connection; the test ends where there is none. */
__attribute__((unused)) static struct db *rig_open(const struct rig *rig)
{
    struct db *db = NULL;
    struct err err;

    if (db_open(rig->state, &db, &err) < 0) {
        printf("Bail out! %s\n", err.message);
        exit(1);
    }
    return db;
}

__attribute__((unused)) static void rig_close(struct db **db)
{
    db_close(*db);
}
#define _cleanup_db_ _cleanup_(rig_close)

/*
 * n processes call each(rig, number) at the same moment, as nearly as can be: they wait for one
 * pipe to be closed. Returns how many gave `wanted`; a crash gives none.
 */
__attribute__((unused)) static int rig_race(const struct rig *rig, int n,
                                            int (*each)(const struct rig *rig, int number),
                                            int wanted)
{
    int gate[2], count = 0, status;
    char byte;

    if (pipe(gate) < 0)
        abort();
    for (int i = 0; i < n; i++) {
        pid_t pid = fork();
        if (pid < 0)
            abort();
        if (pid == 0) {
            (void) close(gate[1]);
            _exit(read(gate[0], &byte, 1) == 0 ? each(rig, i) : 99);
        }
    }
    (void) close(gate[0]);
    (void) close(gate[1]);
    for (int i = 0; i < n; i++)
        if (wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == wanted)
            count++;
    return count;
}

/* One that can be used from RIG_T for a minute, once. */
__attribute__((unused)) static struct grant rig_grant(void)
{
    return (struct grant){
        .holder = "agent:a",
        .capability = CAPABILITY_FS_READ,
        .scope = "/data",
        .created_ms = RIG_T,
        .expires_ms = RIG_T + 60000,
        .uses_left = 1,
        .approved_by = "uid:1000",
    };
}

/* A request that waits from RIG_T for a minute; `which` makes it another one. */
__attribute__((unused)) static struct approval rig_request(int which)
{
    static struct approval_item items[] = {
        {CAPABILITY_FS_READ, "/home/x/papers", "user policy p.yaml:12", "papers are private"},
        {CAPABILITY_EXEC_RUN, "/usr/bin/git status", NULL, NULL},
    };
    struct approval approval = {
        .holder = "agent:a",
        .summary = "git status",
        .plan = "{\"schema\":\"wasp.plan/1\"}",
        .items = items,
        .n_items = ARRAY_SIZE(items),
        .expires_ms = RIG_T + 60000,
    };

    memcpy(approval.request.bytes, &which, sizeof(which));
    return approval;
}
