/*
 * runtimes: those there are, kept by content.
 *
 *   STATE/runtimes/NAME.json     the record
 *   STATE/runtimes/SHA256.wasm   the module, read-only; names with the same content share it
 *   STATE/runtimes/tmp/          files that are being written
 *
 * Whoever changes something holds the folder's lock. A run holds that of its module, so that the
 * file is there until it was opened: a module goes with the last name that uses it or, if it was in
 * use then, with the next change or `wasp gc`.
 */
#pragma once

#include <stdbool.h>

#include "store/runtime.h"

struct runtimes {
    const char *path; /* of the folder */
    int folder;
    int temp;
};

#define RUNTIMES_NONE                          \
    {                                          \
        .path = NULL, .folder = -1, .temp = -1 \
    }

/*
 * Opens the folder, making what is missing. state_dir may be NULL: nowhere to keep any. 0, or -1
 * and *err; runtimes_release in both cases.
 */
int runtimes_open(const char *state_dir, struct arena *arena, struct runtimes *ret_runtimes,
                  struct err *err);
void runtimes_release(struct runtimes *runtimes);

/*
 * Keeps a runtime of which name and what it is given are set; the rest is filled in here. module is
 * a sealed memfd with that digest, so that what was hashed is what is kept. Unless replace is set,
 * a name that is taken is refused (ERR_REQUEST). 0, or -1 and *err with no name changed.
 */
int runtimes_add(const struct runtimes *runtimes, struct runtime *runtime, int module,
                 const struct digest *digest, bool replace, struct arena *arena, struct err *err);
/* Removes a name, whatever its record looks like. ERR_NOT_FOUND if there is none. */
int runtimes_remove(const struct runtimes *runtimes, const char *name, struct arena *arena,
                    struct err *err);
/*
 * Reads a record and finds its module, which stays where it is while *ret_hold, a descriptor the
 * caller owns, is open. Its content is not looked at: that is for whoever reads it. 0, or -1 and
 * *err: ERR_NOT_FOUND, or ERR_HOST for one that is damaged.
 */
int runtimes_find(const struct runtimes *runtimes, const char *name, struct arena *arena,
                  struct runtime *ret_runtime, int *ret_hold, struct err *err);

/* A damaged record, or one whose module is not there or has another size. */
struct runtime_problem {
    const char *name;
    const char *error;
};

/* Each sorted by name. */
struct runtime_list {
    struct runtime *runtimes;
    size_t n_runtimes;
    struct runtime_problem *problems;
    size_t n_problems;
};

int runtimes_list(const struct runtimes *runtimes, struct arena *arena,
                  struct runtime_list *ret_list, struct err *err);
/*
 * Removes modules that no record names and files that a killed wasp was writing. Returns how many
 * went, or -1 and *err.
 */
int runtimes_sweep(const struct runtimes *runtimes, struct arena *arena, struct err *err);
