#include "store/sql.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/uuid.h"

/* ---- what went wrong ------------------------------------------------------------------------- */

#define DAMAGED_HINT                                                                         \
    "keep a copy, then move it and what lies beside it with -wal and -shm at its end away: " \
    "grants and waiting requests are then gone, and hourly counts begin anew; "              \
    "'sqlite3 FILE .recover' may save what is in it"

/* By SQLite's code, without what extends it. */
static const struct failure {
    int code;
    const char *says;
    const char *hint;
} failures[] = {
    {SQLITE_BUSY, "is held by another process for too long",
     "see who has it open ('fuser FILE'), wait for it or end it, and try again"},
    {SQLITE_CORRUPT, "is damaged", DAMAGED_HINT},
    {SQLITE_NOTADB, "is damaged", DAMAGED_HINT},
    {SQLITE_ERROR, "is damaged: it is not built as wasp builds it", DAMAGED_HINT},
    {SQLITE_MISMATCH, "is damaged", DAMAGED_HINT},
    {SQLITE_CONSTRAINT, "is damaged: it holds what cannot be together", DAMAGED_HINT},
    {SQLITE_FULL, "cannot grow: the disk or the quota is full", "make room there and try again"},
    {SQLITE_READONLY, "cannot be written",
     "make the folder and the file yours and writable, or set WASP_STATE_DIR to one that is"},
    {SQLITE_CANTOPEN, "cannot be opened",
     "make the folder and the file yours and writable, or set WASP_STATE_DIR to one that is"},
    {SQLITE_PERM, "cannot be opened",
     "make the folder and the file yours and writable, or set WASP_STATE_DIR to one that is"},
};

static const struct failure *failure_of(int code)
{
    static const struct failure other = {SQLITE_IOERR, "cannot be read or written",
                                         "see what the disk has ('dmesg'), and try again"};

    for (size_t i = 0; i < ARRAY_SIZE(failures); i++)
        if (failures[i].code == code)
            return &failures[i];
    return &other;
}

int sql_fail(struct db *db, struct err *err)
{
    int code = sqlite3_errcode(db->handle) & 0xff;
    const struct failure *failure = failure_of(code);
    int number = sqlite3_system_errno(db->handle);

    if (code == SQLITE_NOMEM || code == SQLITE_OK) /* a value that could not be bound */
        return err_no_memory(err);
    errno = number;
    if (code == SQLITE_IOERR && number != 0)
        (void) err_sys(err, ERR_HOST, "the store '%s' %s", db->path, failure->says);
    else
        (void) err_set(err, ERR_HOST, "the store '%s' %s (%s)", db->path, failure->says,
                       sqlite3_errmsg(db->handle));
    return err_hint(err, "%s", failure->hint);
}

int sql_damaged(struct db *db, const char *what, struct err *err)
{
    (void) err_set(err, ERR_HOST, "the store '%s' is damaged: %s", db->path,
                   what); /* -1, as below */
    return err_hint(err, "%s", DAMAGED_HINT);
}

/* ---- the connection -------------------------------------------------------------------------- */

/*
 * Ours and not SQLite's own, which may have been built to sleep whole seconds. count: how often it
 * was called for the same wait.
 */
static int wait_turn(void *data, int count)
{
    struct db *db = data;
    uint64_t now_ns = clock_monotonic_ns();
    uint64_t pause_ms = count < 5 ? 1U << count : 25;

    if (count == 0)
        db->waits_since_ns = now_ns;
    if (now_ns - db->waits_since_ns >= db->patience_ms * NS_PER_MS)
        return 0;
    const struct timespec pause = {.tv_nsec = (long) (pause_ms * NS_PER_MS)};
    (void) nanosleep(&pause, NULL); /* a signal makes it shorter, which does no harm */
    return 1;
}

/* What SQLite would otherwise do for whoever can write a schema or a statement. */
static int configure(struct db *db, struct err *err)
{
    static const struct {
        int option, value;
    } options[] = {
        {SQLITE_DBCONFIG_DEFENSIVE, 1},
        {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
        {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
        {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
        {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
        {SQLITE_DBCONFIG_ENABLE_FKEY, 1},
        {SQLITE_DBCONFIG_DQS_DML, 0},
        {SQLITE_DBCONFIG_DQS_DDL, 0},
        /* or each run that is alone would wait for the disk when it ends */
        {SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1},
    };

    for (size_t i = 0; i < ARRAY_SIZE(options); i++)
        if (sqlite3_db_config(db->handle, options[i].option, options[i].value, NULL) != SQLITE_OK)
            return err_set(err, ERR_HOST, "this SQLite (%s) is too old: wasp needs 3.37",
                           sqlite3_libversion());
    (void) sqlite3_limit(db->handle, SQLITE_LIMIT_LENGTH, SQL_MAX_BYTES); /* gives the old one */
    (void) sqlite3_limit(db->handle, SQLITE_LIMIT_ATTACHED, 0);           /* likewise */
    if (sqlite3_busy_handler(db->handle, wait_turn, db) != SQLITE_OK ||
        sqlite3_wal_autocheckpoint(db->handle, SQL_CHECKPOINT_PAGES) != SQLITE_OK)
        return sql_fail(db, err);
    return sql_do(db,
                  "PRAGMA synchronous = NORMAL; PRAGMA cell_size_check = ON; "
                  "PRAGMA temp_store = MEMORY", /* or it might write where TMPDIR says */
                  err);
}

static void disconnect(struct db **db)
{
    sql_disconnect(*db);
}

int sql_connect(const char *path, struct db **ret_db, struct err *err)
{
    /* One thread uses it: no mutex. It is no URI, whatever its name looks like. */
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE |
                      SQLITE_OPEN_EXRESCODE;
    _cleanup_(disconnect) struct db *db = calloc(1, sizeof(*db));

    if (!db || !(db->path = strdup(path)))
        return err_no_memory(err);
    db->patience_ms = SQL_PATIENCE_MS;
    db->seen = -1;
    int rc = sqlite3_open_v2(path, &db->handle, flags, NULL);
    if (!db->handle)
        return err_no_memory(err);
    if (rc != SQLITE_OK)
        return sql_fail(db, err);
    if (configure(db, err) < 0)
        return -1;
    *ret_db = db;
    db = NULL;
    return 0;
}

void sql_disconnect(struct db *db)
{
    if (!db)
        return;
    (void) sqlite3_close(db->handle); /* every statement is released by now; takes NULL */
    free(db->path);
    free(db);
}

/* ---- one statement --------------------------------------------------------------------------- */

int sql_prepare(struct db *db, const char *text, struct sql *ret_sql, struct err *err)
{
    *ret_sql = (struct sql){.db = db};
    if (sqlite3_prepare_v2(db->handle, text, -1, &ret_sql->statement, NULL) != SQLITE_OK)
        return sql_fail(db, err);
    return 0;
}

void sql_release(struct sql *sql)
{
    (void) sqlite3_finalize(sql->statement); /* repeats what sql_step told; takes NULL */
    sql->statement = NULL;
}

static void note(struct sql *sql, int rc)
{
    sql->failed |= rc != SQLITE_OK;
}

void sql_bind_text(struct sql *sql, const char *text)
{
    note(sql, sqlite3_bind_text(sql->statement, ++sql->n_bound, text, -1, SQLITE_STATIC));
}

void sql_bind_number(struct sql *sql, uint64_t number)
{
    sql_bind_signed(sql, number > INT64_MAX ? INT64_MAX : (int64_t) number);
}

void sql_bind_signed(struct sql *sql, int64_t number)
{
    note(sql, sqlite3_bind_int64(sql->statement, ++sql->n_bound, number));
}

void sql_bind_digest(struct sql *sql, const struct digest *digest)
{
    note(sql, sqlite3_bind_blob(sql->statement, ++sql->n_bound, digest ? digest->bytes : NULL,
                                DIGEST_BYTES, SQLITE_STATIC));
}

int sql_step(struct sql *sql, struct err *err)
{
    int rc = sql->failed ? SQLITE_ERROR : sqlite3_step(sql->statement);

    if (rc == SQLITE_ROW || rc == SQLITE_DONE)
        return rc == SQLITE_ROW;
    return sql_fail(sql->db, err);
}

int sql_run(struct sql *sql, struct err *err)
{
    int rc;

    while ((rc = sql_step(sql, err)) > 0)
        continue;
    (void) sqlite3_reset(sql->statement); /* repeats what sql_step told */
    sql->n_bound = 0;
    return rc;
}

int sql_do(struct db *db, const char *text, struct err *err)
{
    return sqlite3_exec(db->handle, text, NULL, NULL, NULL) == SQLITE_OK ? 0 : sql_fail(db, err);
}

const char *sql_text_or_null(struct sql *sql, int column, struct arena *arena)
{
    int type = sqlite3_column_type(sql->statement, column);

    if (type == SQLITE_NULL)
        return NULL;
    const char *text = (const char *) sqlite3_column_text(sql->statement, column);
    int len = sqlite3_column_bytes(sql->statement, column);
    const char *copy = text ? arena_strndup(arena, text, (size_t) len) : NULL;
    sql->failed |= !copy;
    /* a NUL in the middle would make it another text for whoever reads it */
    sql->is_foreign |= type != SQLITE_TEXT || (copy && strlen(copy) != (size_t) len);
    return copy;
}

const char *sql_text(struct sql *sql, int column, struct arena *arena)
{
    const char *text = sql_text_or_null(sql, column, arena);

    sql->is_foreign |= !text;
    return text;
}

uint64_t sql_number(struct sql *sql, int column, uint64_t max)
{
    int type = sqlite3_column_type(sql->statement, column);
    int64_t number = sqlite3_column_int64(sql->statement, column);

    if (type == SQLITE_NULL)
        return 0;
    sql->is_foreign |= type != SQLITE_INTEGER || number < 0 || (uint64_t) number > max;
    return (uint64_t) number;
}

bool sql_digest(struct sql *sql, int column, struct digest *ret_digest)
{
    int type = sqlite3_column_type(sql->statement, column);

    if (type == SQLITE_NULL)
        return false;
    const void *bytes = sqlite3_column_blob(sql->statement, column);
    if (type != SQLITE_BLOB || sqlite3_column_bytes(sql->statement, column) != DIGEST_BYTES) {
        sql->is_foreign = true;
        return false;
    }
    memcpy(ret_digest->bytes, bytes, DIGEST_BYTES);
    return true;
}

void sql_id(struct sql *sql, int column, char *ret_id)
{
    const char *text = (const char *) sqlite3_column_text(sql->statement, column);
    bool is_one = text && strlen(text) == UUID_SIZE - 1;

    sql->is_foreign |= !is_one;
    memcpy(ret_id, is_one ? text : "", is_one ? UUID_SIZE : 1);
}

int sql_row_end(struct sql *sql, struct err *err)
{
    if (sql->failed)
        return err_no_memory(err);
    return sql->is_foreign ? sql_damaged(sql->db, "a row holds what wasp never wrote", err) : 0;
}

/* ---- transactions ---------------------------------------------------------------------------- */

int sql_begin(struct db *db, enum sql_mode mode, struct transaction *ret_transaction,
              struct err *err)
{
    if (mode == SQL_KEEP && sql_do(db, "PRAGMA synchronous = FULL", err) < 0)
        return -1;
    if (sql_do(db, mode == SQL_LOOK ? "BEGIN" : "BEGIN IMMEDIATE", err) < 0) {
        struct err ignored; /* the first one counts */
        if (mode == SQL_KEEP)
            (void) sql_do(db, "PRAGMA synchronous = NORMAL", &ignored); /* as above */
        return -1;
    }
    *ret_transaction = (struct transaction){.db = db, .mode = mode};
    return 0;
}

int sql_commit(struct transaction *transaction, struct err *err)
{
    return sql_do(transaction->db, "COMMIT", err);
}

void sql_end(struct transaction *transaction)
{
    struct db *db = transaction->db;
    struct err ignored; /* whoever failed has told why, and what is left open ends with db */

    if (!db)
        return;
    if (!sqlite3_get_autocommit(db->handle))
        (void) sql_do(db, "ROLLBACK", &ignored); /* as above */
    if (transaction->mode == SQL_KEEP)
        (void) sql_do(db, "PRAGMA synchronous = NORMAL", &ignored); /* cannot fail out of one */
    transaction->db = NULL;
}

/* ---- versions -------------------------------------------------------------------------------- */

int sql_version(struct db *db, int *ret_version, struct err *err)
{
    _cleanup_(sql_release) struct sql sql = {0};

    if (sql_prepare(db, "PRAGMA user_version", &sql, err) < 0)
        return -1;
    int rc = sql_step(&sql, err);
    if (rc < 0)
        return -1;
    int version = rc ? sqlite3_column_int(sql.statement, 0) : -1;
    if (version < 0)
        return sql_damaged(db, "it tells no version", err);
    *ret_version = version;
    return 0;
}

/* One step, unless somebody else made it meanwhile. */
static int step_up(struct db *db, const char *step, int from, struct err *err)
{
    _cleanup_(sql_end) struct transaction transaction = {0};
    char set[48];
    int version;

    if (sql_begin(db, SQL_KEEP, &transaction, err) < 0 || sql_version(db, &version, err) < 0)
        return -1;
    if (version != from)
        return 0;
    (void) snprintf(set, sizeof(set), "PRAGMA user_version = %d", from + 1); /* fits */
    if (sql_do(db, step, err) < 0 || sql_do(db, set, err) < 0)
        return err_prefix(err, "bringing it to version %d", from + 1);
    return sql_commit(&transaction, err);
}

int sql_migrate(struct db *db, const char *const *steps, int n_steps, struct err *err)
{
    int version;

    if (sql_version(db, &version, err) < 0)
        return -1;
    if (version > n_steps) {
        (void) err_set(err, ERR_HOST, "the store '%s' is of version %d, and this wasp knows %d",
                       db->path, version, n_steps); /* -1, as below */
        return err_hint(err, "a newer wasp has used it: use that one, or set WASP_STATE_DIR to "
                             "another folder");
    }
    for (; version < n_steps; version++)
        if (step_up(db, steps[version], version, err) < 0)
            return -1;
    return 0;
}

/* ---- ids ------------------------------------------------------------------------------------- */

/* In lower case, as they are kept. False: no id begins like that. */
static bool copy_beginning(const char *text, char ret_id[UUID_SIZE])
{
    size_t len = strlen(text);

    if (len >= UUID_SIZE)
        return false;
    for (size_t i = 0; i <= len; i++) {
        ret_id[i] = (char) tolower((unsigned char) text[i]);
        if (text[i] != '\0' && text[i] != '-' && !isxdigit((unsigned char) text[i]))
            return false;
    }
    return true;
}

/* Whether there is a second one. */
static int read_ids(struct sql *sql, const struct sql_kind *kind, const char *beginning,
                    char *ret_id, struct err *err)
{
    int rc = sql_step(sql, err);

    if (rc < 0)
        return -1;
    if (rc == 0) {
        (void) err_set(err, ERR_NOT_FOUND, "there is no %s '%s'", kind->what,
                       beginning); /* -1, as below */
        return err_hint(err, "'%s' shows those there are", kind->list);
    }
    sql_id(sql, 0, ret_id);
    if (sql_row_end(sql, err) < 0)
        return -1;
    rc = sql_step(sql, err);
    if (rc > 0)
        return err_set(err, ERR_REQUEST,
                       "more than one %s has an id that begins with '%s': "
                       "write more of it",
                       kind->what, beginning);
    return rc;
}

int sql_find_id(struct db *db, const struct sql_kind *kind, const char *beginning, char *ret_id,
                struct err *err)
{
    _cleanup_(sql_release) struct sql sql = {0};
    char text[128], from[UUID_SIZE];

    if (!copy_beginning(beginning, from))
        return err_set(err, ERR_REQUEST, "'%s' is not the id of any %s", beginning, kind->what);
    if (strlen(from) < SQL_ID_MIN)
        return err_set(err, ERR_REQUEST,
                       "'%s' is too short for an id: write at least %d characters", beginning,
                       SQL_ID_MIN);
    /* the name is our own; 'g' is behind every digit and '-' */
    (void) snprintf(text, sizeof(text),
                    "SELECT id FROM %s WHERE id >= ?1 AND id < ?1 || 'g' LIMIT 2", kind->table);
    if (sql_prepare(db, text, &sql, err) < 0)
        return -1;
    sql_bind_text(&sql, from);
    return read_ids(&sql, kind, beginning, ret_id, err);
}
