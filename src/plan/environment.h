/*
 * environment: what names and values of variables tell, and what a native guest finds besides them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "plan/request.h"

/*
 * True if a variable of that name makes a loader, an interpreter or a tool run or load code that
 * its command line does not name: LD_PRELOAD, PYTHONPATH, NODE_OPTIONS, BASH_ENV, GIT_*. Where
 * programs are looked for (PATH, JAVA_HOME, CC, SHELL) is no hook: that is how one says which
 * program is meant. Nor is what a program merely reads, writes or trusts.
 */
bool environment_is_hook(const char *name, size_t len);
/*
 * True if "NAME=value" looks like a credential, by its name (TOKEN, API_KEY, as words in it) or by
 * the shape of its value (keys with known beginnings, private keys, JWTs, passwords in URLs).
 */
bool environment_is_credential(const char *assignment);

/*
 * The whole environment of a native guest: PATH, HOME, LANG, TERM, TZ and TMPDIR, constants that
 * tell nothing of the host, unless the request has its own; then the request's. (The program itself
 * is looked for on CELL_PATH whatever PATH says.) The list is NULL-terminated and in the arena.
 */
int request_native_env(const struct request *request, struct arena *arena, const char ***ret_env,
                       size_t *ret_n_env, struct err *err);
