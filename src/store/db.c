#include "store/db.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/folder.h"
#include "store/sql.h"

#define NAME "store.db"
#define NEW_NAME "store.new"

/*
 * What leads from each version to the next; the last one is this wasp's. A row that was released is
 * never changed. Times are milliseconds since 1970; null: it has not happened, or nobody said.
 */
static const char *const steps[] = {
    /* 1 */
    "CREATE TABLE approvals ("
    "  number INTEGER PRIMARY KEY," /* their order */
    "  id TEXT NOT NULL UNIQUE,"
    "  holder TEXT NOT NULL,"
    "  request BLOB NOT NULL CHECK (length(request) = 32),"
    "  summary TEXT NOT NULL,"
    "  plan TEXT NOT NULL,"
    "  created_ms INTEGER NOT NULL,"
    "  expires_ms INTEGER NOT NULL,"
    "  max_ttl_ms INTEGER NOT NULL,"
    "  max_uses INTEGER NOT NULL,"
    /* pending past its time is expired, whether or not somebody has written it down */
    "  state TEXT NOT NULL CHECK (state IN ('pending', 'approved', 'denied', 'expired')),"
    "  answered_ms INTEGER,"
    "  answered_by TEXT"
    ") STRICT;"
    "CREATE INDEX approvals_of_request ON approvals (holder, request);"
    "CREATE INDEX approvals_pending ON approvals (holder) WHERE state = 'pending';"

    "CREATE TABLE approval_items ("
    "  approval TEXT NOT NULL REFERENCES approvals (id) ON DELETE CASCADE,"
    "  position INTEGER NOT NULL,"
    "  capability TEXT NOT NULL,"
    "  scope TEXT NOT NULL,"
    "  rule TEXT,"
    "  reason TEXT,"
    "  PRIMARY KEY (approval, position)"
    ") STRICT, WITHOUT ROWID;"

    "CREATE TABLE grants ("
    "  number INTEGER PRIMARY KEY,"
    "  id TEXT NOT NULL UNIQUE,"
    "  holder TEXT NOT NULL,"
    "  capability TEXT NOT NULL,"
    "  scope TEXT NOT NULL,"
    "  created_ms INTEGER NOT NULL,"
    "  expires_ms INTEGER NOT NULL,"
    "  uses_left INTEGER NOT NULL CHECK (uses_left >= 0),"
    "  uses INTEGER NOT NULL,"
    "  reason TEXT,"
    "  approved_by TEXT NOT NULL,"
    "  request BLOB CHECK (length(request) = 32),"
    "  approval TEXT REFERENCES approvals (id),"
    "  revoked_ms INTEGER,"
    "  is_over INTEGER NOT NULL DEFAULT 0" /* its expiry was reported: it never comes back */
    ") STRICT;"
    "CREATE INDEX grants_of_holder ON grants (holder, expires_ms);"
    "CREATE INDEX grants_of_approval ON grants (approval);"
    "CREATE INDEX grants_running ON grants (expires_ms)"
    "  WHERE is_over = 0 AND revoked_ms IS NULL AND uses_left > 0;"

    /* Numbered by holder and capability, so that the n-th use ago is one look away. */
    "CREATE TABLE uses ("
    "  holder TEXT NOT NULL,"
    "  capability TEXT NOT NULL,"
    "  number INTEGER NOT NULL,"
    "  at_ms INTEGER NOT NULL,"
    "  PRIMARY KEY (holder, capability, number)"
    ") STRICT, WITHOUT ROWID;"
    "CREATE INDEX uses_by_time ON uses (at_ms);",
};

/* ---- the file -------------------------------------------------------------------------------- */

/*
 * The file itself is never opened here: closing it would take away the locks that another
 * connection of this process has on it. The folder is ours alone, so nobody changes it in between.
 */
static int check_file(int folder, const char *path, bool *ret_exists, struct err *err)
{
    struct stat st;

    *ret_exists = fstatat(folder, NAME, &st, AT_SYMLINK_NOFOLLOW) == 0;
    if (!*ret_exists)
        return errno == ENOENT ? 0 : err_sys(err, ERR_HOST, "cannot stat the store '%s'", path);
    const char *wrong = !S_ISREG(st.st_mode)     ? "is no regular file"
                        : st.st_uid != geteuid() ? "belongs to somebody else"
                        : st.st_nlink != 1       ? "has a second name elsewhere"
                                                 : NULL;
    if (wrong) {
        (void) err_set(err, ERR_HOST, "the store '%s' %s", path, wrong); /* -1, as below */
        return err_hint(err, "find out who put it there, then move it away");
    }
    if ((st.st_mode & 07777) != 0600 && fchmodat(folder, NAME, 0600, 0) < 0)
        return err_sys(err, ERR_HOST, "cannot make the store '%s' yours alone", path);
    return 0;
}

/* Waits as long as a change would. */
static int lock_folder(int folder, const char *path, struct err *err)
{
    const struct timespec pause = {.tv_nsec = 5 * (long) NS_PER_MS};
    uint64_t end_ns = clock_monotonic_ns() + SQL_PATIENCE_MS * NS_PER_MS;

    while (flock(folder, LOCK_EX | LOCK_NB) < 0) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return err_sys(err, ERR_HOST, "cannot lock the folder of the store '%s'", path);
        if (clock_monotonic_ns() > end_ns)
            return err_set(err, ERR_HOST,
                           "another process has been making the store '%s' for too "
                           "long: end it and try again",
                           path);
        (void) nanosleep(&pause, NULL); /* a signal makes it shorter, which does no harm */
    }
    return 0;
}

static void remove_new(int folder)
{
    static const char *const names[] = {NEW_NAME, NEW_NAME "-wal", NEW_NAME "-shm",
                                        NEW_NAME "-journal"};

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        (void) unlinkat(folder, names[i], 0); /* as a rule it is not there */
}

static void close_db(struct db **db)
{
    db_close(*db);
}

/* All tables in a file that is not yet the store. It is on the disk when this returns. */
static int fill_new(const char *path, struct err *err)
{
    _cleanup_(close_db) struct db *db = NULL;

    if (sql_connect(path, &db, err) < 0 || sql_migrate(db, steps, ARRAY_SIZE(steps), err) < 0)
        return -1;
    /* the last to close it then moves all into the one file and removes the others */
    if (sqlite3_db_config(db->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL) != SQLITE_OK)
        return sql_fail(db, err);
    return sql_do(db, "PRAGMA journal_mode = WAL", err);
}

/*
 * It gets its name when it is whole. So an empty file of that name is a damaged store, and not one
 * that was just begun.
 */
static int make(int folder, const char *path, struct err *err)
{
    char new_path[PATH_MAX];
    bool exists;

    if (lock_folder(folder, path, err) < 0 || check_file(folder, path, &exists, err) < 0)
        return -1;
    if (exists)
        return 0; /* somebody was quicker */
    remove_new(folder);
    (void) snprintf(new_path, sizeof(new_path),
                    "%.*s" NEW_NAME, /* no longer than path, which fits */
                    (int) (strlen(path) - strlen(NAME)), path);
    _cleanup_fd_ int fd = openat(folder, NEW_NAME, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || fchmod(fd, 0600) < 0)
        return err_sys(err, ERR_HOST, "cannot make the store '%s'", path);
    if (fill_new(new_path, err) < 0) {
        remove_new(folder);
        return err_prefix(err, "cannot make the store '%s'", path);
    }
    if (renameat(folder, NEW_NAME, folder, NAME) < 0 || fsync(folder) < 0)
        return err_sys(err, ERR_HOST, "cannot make the store '%s'", path);
    return 0;
}

/* ---- opening --------------------------------------------------------------------------------- */

static int open_file(const char *path, struct db **ret_db, struct err *err)
{
    _cleanup_(close_db) struct db *db = NULL;
    int version;

    if (sql_connect(path, &db, err) < 0 || sql_version(db, &version, err) < 0)
        return -1;
    if (version == 0)
        return sql_damaged(db, "it is empty, or no store of wasp's", err);
    if (version != ARRAY_SIZE(steps) && sql_migrate(db, steps, ARRAY_SIZE(steps), err) < 0)
        return -1;
    *ret_db = db;
    db = NULL;
    return 0;
}

static int check_place(const char *state_dir, char path[PATH_MAX], struct err *err)
{
    if (!state_dir) {
        (void) err_set(err, ERR_HOST, "there is no place for the store"); /* always -1, as below */
        return err_hint(err, "set HOME, XDG_STATE_HOME or WASP_STATE_DIR to an absolute path");
    }
    if (snprintf(path, PATH_MAX, "%s/" NEW_NAME, state_dir) >= PATH_MAX)
        return err_set(err, ERR_HOST, "the state folder has too long a name");
    (void) snprintf(path, PATH_MAX, "%s/" NAME, state_dir); /* shorter */
    return 0;
}

int db_open(const char *state_dir, struct db **ret_db, struct err *err)
{
    _cleanup_fd_ int folder = -1;
    char path[PATH_MAX];
    bool exists;

    if (check_place(state_dir, path, err) < 0 || folder_open(state_dir, &folder, err) < 0 ||
        check_file(folder, path, &exists, err) < 0)
        return -1;
    if (!exists && make(folder, path, err) < 0)
        return -1;
    return open_file(path, ret_db, err);
}

int db_open_existing(const char *state_dir, struct db **ret_db, struct err *err)
{
    char path[PATH_MAX];
    struct stat st;

    if (check_place(state_dir, path, err) < 0)
        return -1;
    if (lstat(path, &st) < 0 && (errno == ENOENT || errno == ENOTDIR))
        return err_set(err, ERR_NOT_FOUND, "there is no store yet: '%s'", path);
    return db_open(state_dir, ret_db, err);
}

void db_close(struct db *db)
{
    sql_disconnect(db);
}

bool db_has_changed(struct db *db)
{
    _cleanup_(sql_release) struct sql sql = {0};
    struct err ignored; /* true says it, and whoever looks then is told */

    if (sql_prepare(db, "PRAGMA data_version", &sql, &ignored) < 0 || sql_step(&sql, &ignored) != 1)
        return true;
    int64_t now = sqlite3_column_int64(sql.statement, 0);
    bool changed = now != db->seen;
    db->seen = now;
    return changed;
}
