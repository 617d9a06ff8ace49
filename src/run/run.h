/*
 * run: one request, run to its end.
 */
#pragma once

#include "base/arena.h"
#include "plan/request.h"
#include "run/observer.h"
#include "run/result.h"

/*
 * What the environment says, read once in front/ and handed on as values. Absolute paths or NULL.
 */
struct places {
    const char *cache_dir; /* WASP_CACHE_DIR, else XDG_CACHE_HOME/wasp, else HOME/.cache/wasp */
    const char
        *state_dir; /* WASP_STATE_DIR, else XDG_STATE_HOME/wasp, else HOME/.local/state/wasp */
    const char *config_dir;   /* XDG_CONFIG_HOME/wasp, else HOME/.config/wasp */
    const char *system_dir;   /* where the machine's policy lies */
    const char *home;         /* HOME, for "~" in policies */
    const char *program_dir;  /* where wasp-cell-wasm and wasp-compile are */
    uint64_t cache_max_bytes; /* WASP_CACHE_MAX, else 2 GiB */
    uint32_t uid_base,
        uid_count; /* the range for runs started by root (WASP_UID_RANGE=BASE:COUNT) */
#ifdef WASP_TEST_HOOKS
    const char *test_cell; /* WASP_TEST_CELL: another program in the runner's place */
    uint32_t test_without; /* WASP_TEST_WITHOUT: bits of enum tell_wall that are left out */
#endif
};

/*
 * Runs it and fills *result (already init'ed). Never fails as such: what went wrong is in the
 * result. observer may be NULL. Signals: the caller has blocked SIGINT, SIGTERM, SIGHUP and
 * ignores SIGPIPE.
 */
void run_request(const struct request *request, const struct places *places,
                 const struct observer *observer, struct arena *arena, struct result *result);
/*
 * Removes what a killed run may have left (temp files); returns how many things went, -1 and *err
 * if a folder cannot be read.
 */
int run_sweep(const struct places *places, struct err *err);
