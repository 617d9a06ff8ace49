/* The store's file: whose it is, which version, what damage, other processes and full disks do. */
#include <signal.h>

#include "store/sql.h"
#include "store_rig.h"
#include "store_version_1.h"

#define OTHER_UID 12345

static unsigned int mode_of(const char *path)
{
    struct stat st;

    return stat(path, &st) < 0 ? 0 : st.st_mode & 07777;
}

static int try_open(const struct rig *rig, struct err *err)
{
    _cleanup_db_ struct db *db = NULL;

    *err = (struct err){.code = ERR_NONE};
    return db_open(rig->state, &db, err);
}

static bool refuses(const struct rig *rig, const char *word, struct err *err)
{
    return try_open(rig, err) < 0 && err->code == ERR_HOST && strstr(err->message, word);
}

/* ---- the file -------------------------------------------------------------------------------- */

static void test_modes(const struct rig *rig)
{
    _cleanup_db_ struct db *none = NULL;
    struct err err = {0};
    struct stat st;

    ok(db_open(NULL, &none, &err) < 0 && strstr(err.hint, "WASP_STATE_DIR"),
       "without a place there is no store: %s", err.message);
    ok(db_open_existing(rig->state, &none, &err) < 0 && err.code == ERR_NOT_FOUND,
       "whoever only looks is told that there is none");
    ok(stat(rig->state, &st) < 0, "and makes nothing");
    mode_t old = umask(0);
    struct db *db = rig_open(rig);
    struct grant grant = rig_grant();
    ok(grants_create(db, &grant, &err) == 0, "a store is made");
    (void) umask(old);
    ok(mode_of(rig->state) == 0700 && mode_of(rig_path(rig, "store.db")) == 0600 &&
           mode_of(rig_path(rig, "store.db-wal")) == 0600 &&
           mode_of(rig_path(rig, "store.db-shm")) == 0600,
       "it is its owner's alone, whatever the umask");
    ok(lstat(rig_path(rig, "store.new"), &st) < 0, "and nothing is left beside it");
    db_close(db);
    ok(db_open_existing(rig->state, &none, &err) == 0, "then whoever looks finds it");
    (void) chmod(rig_path(rig, "store.db"), 0644); /* what follows sees it */
    ok(try_open(rig, &err) == 0 && mode_of(rig_path(rig, "store.db")) == 0600,
       "a mode that is too wide is made narrow");
}

static void test_narrow_umask(const struct rig *rig)
{
    struct err err = {0};

    (void) mkdir(rig->state, 0700); /* what follows needs it */
    mode_t old = umask(0777);
    int rc = try_open(rig, &err);
    (void) umask(old);
    ok(rc == 0 && mode_of(rig_path(rig, "store.db")) == 0600, "nor can it be too narrow: %s",
       err.message);
}

static void test_foreign_files(const struct rig *rig)
{
    const char *store = rig_path(rig, "store.db"), *aside = rig_path(rig, "aside.db");
    struct err err = {0};

    ok(try_open(rig, &err) == 0 && rename(store, aside) == 0, "a store is moved away");
    ok(symlink("aside.db", store) == 0 && refuses(rig, "no regular file", &err),
       "a symlink to it is refused: %s", err.message);
    ok(unlink(store) == 0 && link(aside, store) == 0 && refuses(rig, "second name", &err),
       "so is a second name of it: %s", err.message);
    ok(unlink(store) == 0 && mkdir(store, 0700) == 0 && refuses(rig, "no regular file", &err),
       "so is a folder: %s", err.message);
    ok(rmdir(store) == 0 && rename(aside, store) == 0 && try_open(rig, &err) == 0,
       "in its place it opens");
    ok(chmod(rig->state, 0770) == 0 && refuses(rig, "not yours alone", &err),
       "a folder that others can write to is refused: %s", err.message);
    (void) chmod(rig->state, 0700); /* what follows sees it */
    if (geteuid() != 0) {
        skip("only root can make a file somebody else's");
        return;
    }
    ok(chown(store, OTHER_UID, OTHER_UID) == 0 && refuses(rig, "somebody else", &err),
       "somebody else's file is refused: %s", err.message);
    ok(chown(store, 0, 0) == 0 && try_open(rig, &err) == 0, "our own is not");
}

/* What a maker left who was killed. */
static void test_leftovers(const struct rig *rig)
{
    struct err err = {0};
    struct stat st;

    (void) mkdir(rig->state, 0700); /* what follows needs it */
    FILE *file = fopen(rig_path(rig, "store.new"), "w");
    ok(file && fputs("half of a store", file) >= 0 && fclose(file) == 0,
       "a half-made store is left");
    ok(try_open(rig, &err) == 0 && lstat(rig_path(rig, "store.new"), &st) < 0,
       "it does not get in the way: %s", err.message);
}

static int open_one(const struct rig *rig, int number)
{
    struct err err;

    (void) number;
    return try_open(rig, &err) == 0 ? 0 : 1;
}

static void test_makers(const struct rig *rig)
{
    ok(rig_race(rig, 30, open_one, 0) == 30, "30 processes at once make one store");
}

/* ---- versions -------------------------------------------------------------------------------- */

static void test_version_1(const struct rig *rig)
{
    struct approval_list approvals;
    struct grant_list grants;
    struct counter counter = {CAPABILITY_FS_WRITE, 1, 0};
    struct err err = {0};

    ok(make_store(rig, version_1) == 0, "a store of version 1");
    _cleanup_db_ struct db *db = rig_open(rig);
    ok(grants_list(db, "agent:a", true, RIG_T, rig->arena, &grants, &err) == 0 &&
           grants.count == 1 && grants.items[0].uses_left == 3 && grants.items[0].uses == 1 &&
           strcmp(grants.items[0].scope, "/data") == 0,
       "has its grants");
    ok(approvals_list(db, true, RIG_T, rig->arena, &approvals, &err) == 0 && approvals.count == 1 &&
           strcmp(approvals.items[0].items[0].reason, "because") == 0,
       "has what waits in it");
    ok(counters_use(db, "agent:a", &counter, 1, RIG_T + 1, NULL, &err) < 0 &&
           err.code == ERR_DENIED,
       "has its counts");
    counter.per_hour = 2;
    struct grant more = rig_grant();
    ok(counters_use(db, "agent:a", &counter, 1, RIG_T + 1, NULL, &err) == 0 &&
           grants_create(db, &more, &err) == 0,
       "and takes new ones");
}

static void test_newer(const struct rig *rig)
{
    struct err err = {0};

    ok(make_store(rig, version_1) == 0 && make_store(rig, "PRAGMA user_version = 99") == 0,
       "a store of a version that is yet to come");
    ok(refuses(rig, "version 99", &err) && strstr(err.hint, "newer wasp"), "is refused: %s (%s)",
       err.message, err.hint);
    ok(make_store(rig, "PRAGMA user_version = 1") == 0 && try_open(rig, &err) == 0,
       "and nothing else was wrong with it");
}

static const char *const two_steps[] = {
    "CREATE TABLE a (x INTEGER) STRICT; INSERT INTO a VALUES (1)",
    "ALTER TABLE a ADD COLUMN y INTEGER; UPDATE a SET y = x + 1",
};

static int migrate_two(const struct rig *rig, int number)
{
    _cleanup_db_ struct db *db = NULL;
    struct err err;

    (void) number;
    return sql_connect(rig_path(rig, "store.db"), &db, &err) < 0 ||
           sql_migrate(db, two_steps, 2, &err) < 0;
}

static int64_t ask_number(struct db *db, const char *text)
{
    _cleanup_(sql_release) struct sql sql = {0};
    struct err err;

    return sql_prepare(db, text, &sql, &err) == 0 && sql_step(&sql, &err) == 1
               ? sqlite3_column_int64(sql.statement, 0)
               : -1;
}

static void test_steps(const struct rig *rig)
{
    static const char *const bad[] = {"CREATE TABLE a (x INTEGER)",
                                      "CREATE TABLE b (x INTEGER);"
                                      "INSERT INTO nowhere VALUES (1)"};
    struct db *db = NULL;
    struct err err = {0};
    int version = -1;

    ok(make_store(rig, "PRAGMA journal_mode = WAL") == 0 &&
           sql_connect(rig_path(rig, "store.db"), &db, &err) == 0 &&
           sql_migrate(db, bad, 2, &err) < 0 && strstr(err.message, "version 2"),
       "a step that fails is told: %s", err.message);
    ok(sql_version(db, &version, &err) == 0 && version == 1 &&
           ask_number(db, "SELECT count(*) FROM sqlite_schema WHERE name = 'b'") == 0,
       "and leaves the version before it, whole");
    ok(sql_do(db, "DROP TABLE a; PRAGMA user_version = 0", &err) == 0, "from the beginning");
    db_close(db);
    db = NULL;
    ok(rig_race(rig, 20, migrate_two, 0) == 20, "20 processes at once take both steps");
    ok(sql_connect(rig_path(rig, "store.db"), &db, &err) == 0 &&
           ask_number(db, "SELECT count(*) FROM a") == 1 &&
           ask_number(db, "SELECT y FROM a") == 2 && sql_version(db, &version, &err) == 0 &&
           version == 2,
       "each of them once");
    db_close(db);
}

/* ---- others ---------------------------------------------------------------------------------- */

static void test_waiting(const struct rig *rig)
{
    struct db *holder = rig_open(rig), *db = rig_open(rig);
    struct grant grant = rig_grant();
    struct err err = {0};

    ok(sql_do(holder, "BEGIN IMMEDIATE", &err) == 0, "somebody holds the store");
    db->patience_ms = 50;
    ok(grants_create(db, &grant, &err) < 0 && err.code == ERR_HOST &&
           strstr(err.message, "another process"),
       "whoever waits too long is told: %s (%s)", err.message, err.hint);
    struct grant_list list;
    ok(grants_list(db, NULL, true, RIG_T, rig->arena, &list, &err) == 0,
       "looking needs no waiting");
    ok(sql_do(holder, "ROLLBACK", &err) == 0 && grants_create(db, &grant, &err) == 0,
       "when it is free again it is changed");
    ok(db_has_changed(holder), "somebody changed it");
    ok(!db_has_changed(holder), "since then nobody did");
    ok(grants_revoke(db, grant.id, RIG_T, rig->arena, &grant, &err) == 0 && db_has_changed(holder),
       "until it is changed again");
    (void) db_has_changed(db); /* from here on */
    ok(!db_has_changed(db), "one's own changes are not somebody's");
    db_close(holder);
    db_close(db);
}

/* Makes grants and writes a byte for each that was acknowledged, until it is killed. */
static void write_on(const struct rig *rig, int out)
{
    _cleanup_db_ struct db *db = rig_open(rig);
    struct counter counter = {CAPABILITY_FS_READ, PER_HOUR_ANY, 0};
    struct err err;

    for (;;) {
        struct grant grant = rig_grant();
        if (counters_use(db, "agent:a", &counter, 1, RIG_T, NULL, &err) < 0 ||
            grants_create(db, &grant, &err) < 0 || write(out, "x", 1) != 1)
            _exit(1);
    }
}

static int kill_one(const struct rig *rig, int rounds)
{
    int out[2], acknowledged = 0;
    char byte;

    if (pipe(out) < 0)
        abort();
    pid_t pid = fork();
    if (pid == 0)
        write_on(rig, out[1]);
    (void) close(out[1]);
    while (acknowledged < rounds && read(out[0], &byte, 1) == 1)
        acknowledged++;
    (void) kill(pid, SIGKILL);          /* it is ours */
    (void) waitpid(pid, NULL, 0);       /* likewise */
    while (read(out[0], &byte, 1) == 1) /* what it still could say */
        acknowledged++;
    (void) close(out[0]);
    return acknowledged;
}

static void test_killing(const struct rig *rig)
{
    int64_t acknowledged = 0, least = 0;
    const int storms = 15;

    for (int i = 0; i < storms; i++)
        acknowledged += kill_one(rig, 1 + 7 * i);
    _cleanup_db_ struct db *db = rig_open(rig);
    int64_t grants = ask_number(db, "SELECT count(*) FROM grants");
    int64_t uses = ask_number(db, "SELECT count(*) FROM uses");
    least = acknowledged;
    ok(grants >= least && grants <= least + storms,
       "what was acknowledged outlives kill -9: %lld grants, %lld acknowledged", (long long) grants,
       (long long) least);
    ok(uses >= grants && uses <= grants + storms, "and so do counts: %lld", (long long) uses);
    _cleanup_(sql_release) struct sql sql = {0};
    struct err err;
    ok(sql_prepare(db, "PRAGMA integrity_check", &sql, &err) == 0 && sql_step(&sql, &err) == 1 &&
           strcmp((const char *) sqlite3_column_text(sql.statement, 0), "ok") == 0,
       "the store is whole");
}

int main(void)
{
    static void (*const tests[])(const struct rig *rig) = {
        test_modes,     test_narrow_umask, test_foreign_files, test_leftovers, test_makers,
        test_version_1, test_newer,        test_steps,         test_waiting,   test_killing,
    };

    for (size_t i = 0; i < ARRAY_SIZE(tests); i++) {
        struct rig rig;
        rig_init(&rig);
        tests[i](&rig);
        rig_release(&rig);
    }
    return done();
}
