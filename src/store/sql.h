/*
 * sql: a thin cover over SQLite, for the files that keep something in the store. Every failure is a
 * struct err that says which file it is about and what to do.
 */
#pragma once

#include <sqlite3.h>

#include "base/arena.h"
#include "base/digest.h"
#include "store/db.h"

#define SQL_PATIENCE_MS 5000          /* how long a change waits for its turn */
#define SQL_MAX_BYTES ((int) 4 << 20) /* of one text or row */
#define SQL_CHECKPOINT_PAGES 64 /* of the log, all of which the next to open may have to read */

struct db {
    sqlite3 *handle;
    char *path; /* for messages */
    uint64_t patience_ms, waits_since_ns;
    int64_t seen; /* data_version as db_has_changed last saw it; -1: not yet */
};

/*
 * A connection to a file that is there. 0, or -1 and *err; sql_disconnect takes both, and NULL.
 * An empty file is a database without tables, of version 0.
 */
int sql_connect(const char *path, struct db **ret_db, struct err *err);
void sql_disconnect(struct db *db);
/* What SQLite says of its last failure as an error. Always -1. */
int sql_fail(struct db *db, struct err *err);
/* Something is in there that wasp never wrote. Always -1. */
int sql_damaged(struct db *db, const char *what, struct err *err);

/* ---- one statement --------------------------------------------------------------------------- */

/*
 *     _cleanup_(sql_release) struct sql sql = {0};
 *     if (sql_prepare(db, "SELECT scope FROM grants WHERE id = ?", &sql, err) < 0)
 *         return -1;
 *     sql_bind_text(&sql, id);
 *     int rc = sql_step(&sql, err);
 */
struct sql {
    struct db *db;
    sqlite3_stmt *statement;
    int n_bound;
    bool failed;     /* a value could not be bound; sql_step tells it */
    bool is_foreign; /* a column holds what wasp never wrote; sql_row_end tells it */
};

int sql_prepare(struct db *db, const char *text, struct sql *ret_sql, struct err *err);
void sql_release(struct sql *sql);
/* The next parameter. What is bound must last as long as the statement. */
void sql_bind_text(struct sql *sql, const char *text); /* NULL: null */
void sql_bind_number(struct sql *sql, uint64_t number);
void sql_bind_signed(struct sql *sql, int64_t number);
void sql_bind_digest(struct sql *sql, const struct digest *digest); /* NULL: null */
/* 1: there is a row; 0: there is none any more; -1 and *err. */
int sql_step(struct sql *sql, struct err *err);
/* For a statement without rows: 0, or -1 and *err. It can then be bound and run again. */
int sql_run(struct sql *sql, struct err *err);
/* Statements without parameters, apart by ';'. */
int sql_do(struct db *db, const char *text, struct err *err);

/* Columns of the row, from 0. Texts are copied to the arena. */
const char *sql_text(struct sql *sql, int column, struct arena *arena);
const char *sql_text_or_null(struct sql *sql, int column, struct arena *arena);
uint64_t sql_number(struct sql *sql, int column, uint64_t max);          /* null: 0 */
bool sql_digest(struct sql *sql, int column, struct digest *ret_digest); /* false: null */
void sql_id(struct sql *sql, int column, char *ret_id);                  /* UUID_SIZE bytes */
/* 0 if all columns that were read hold what can be there; or -1 and *err. */
int sql_row_end(struct sql *sql, struct err *err);

/* ---- transactions ---------------------------------------------------------------------------- */

enum sql_mode {
    SQL_LOOK,   /* several reads of one state */
    SQL_CHANGE, /* survives kill -9 once it is committed; a power loss may take it back */
    SQL_KEEP,   /* and survives a power loss */
};

struct transaction {
    struct db *db; /* NULL: it is over */
    enum sql_mode mode;
};

/*
 * A change waits here until it has its turn, so that what it reads is what it changes. sql_end
 * takes it back unless it was committed.
 */
int sql_begin(struct db *db, enum sql_mode mode, struct transaction *ret_transaction,
              struct err *err);
int sql_commit(struct transaction *transaction, struct err *err);
void sql_end(struct transaction *transaction);

/* ---- versions -------------------------------------------------------------------------------- */

int sql_version(struct db *db, int *ret_version, struct err *err);
/*
 * Brings a database from its version to the last one: steps[n] leads from version n to n + 1, in
 * one transaction. A version that the steps do not reach is refused. Safe beside others that do
 * the same.
 */
int sql_migrate(struct db *db, const char *const *steps, int n_steps, struct err *err);

/* ---- ids ------------------------------------------------------------------------------------- */

#define SQL_ID_MIN 8

/* A thing that has one. */
struct sql_kind {
    const char *table;
    const char *what; /* "grant" */
    const char *list; /* the command that shows them */
};

/*
 * The whole id of which `beginning` is a beginning, UUID_SIZE bytes. -1 and *err: ERR_REQUEST (it
 * is none, or one of several), ERR_NOT_FOUND.
 */
int sql_find_id(struct db *db, const struct sql_kind *kind, const char *beginning, char *ret_id,
                struct err *err);
