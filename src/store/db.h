/*
 * db: the store, STATE/store.db: an SQLite database in WAL mode (the only file that knows SQLite).
 * Several wasp processes use it at once; every change is one transaction that waits its turn.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct db; /* one connection; opaque */

/*
 * Opens it, makes it (0600, in a folder that is ours alone) if it is not there, and brings an older
 * schema up to this version's. A newer one is refused: what it may mean is not known. 0 and a
 * connection that db_close closes, or -1 and *err (ERR_HOST). state_dir NULL: -1, naming what to set.
 */
int db_open(const char *state_dir, struct db **ret_db, struct err *err);
/* The same, but -1 with ERR_NOT_FOUND where there is none yet: whoever only looks makes nothing. */
int db_open_existing(const char *state_dir, struct db **ret_db, struct err *err);
void db_close(struct db *db); /* NULL: nothing happens */
/* True if another process changed it since this was last asked; cheap. */
bool db_has_changed(struct db *db);
