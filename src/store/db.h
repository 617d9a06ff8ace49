/*
 * db: the store, STATE/store.db: an SQLite database in WAL mode (sql.h alone knows SQLite). Several
 * wasp processes use it at once; every change is one transaction that waits its turn, a few seconds
 * at most.
 *
 * What was acknowledged survives kill -9. A power loss does not damage the store; it may take back
 * the last uses of grants and counts (a use may then be had once more), never what the owner said:
 * a grant made or revoked, a request approved or denied is on the disk before it is acknowledged.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct db; /* one connection, for one thread of one process; opaque */

/*
 * Opens it, makes it (0600, in a folder that is ours alone) if it is not there, and brings an older
 * schema up to this version's. A newer one is refused: what it may mean is not known. So is one
 * that is damaged: it is never taken for an empty one. 0 and a connection that db_close closes, or
 * -1 and *err (ERR_HOST). state_dir NULL: -1, naming what to set.
 */
int db_open(const char *state_dir, struct db **ret_db, struct err *err);
/* The same, but -1 with ERR_NOT_FOUND where there is none yet: whoever only looks makes nothing. */
int db_open_existing(const char *state_dir, struct db **ret_db, struct err *err);
void db_close(struct db *db); /* NULL: nothing happens */
/*
 * True if another connection changed it since this was last asked, and the first time; cheap. Also
 * if it cannot be told: whoever then looks is told why.
 */
bool db_has_changed(struct db *db);
