/* What becomes of a store that is damaged, cannot be written or cannot grow. */
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>

#include "store_rig.h"
#include "store_version_1.h"

#define OTHER_UID 12345

static int try_open(const struct rig *rig, struct err *err)
{
    _cleanup_db_ struct db *db = NULL;

    *err = (struct err){.code = ERR_NONE};
    return db_open(rig->state, &db, err);
}

static bool says_what_to_do(const struct err *err)
{
    return err->code == ERR_HOST && strstr(err->message, "damaged") && strstr(err->hint, "move it");
}

/* ---- damage ---------------------------------------------------------------------------------- */

/* Replaces all of the file, or changes some bytes of it. */
static void damage(const struct rig *rig, const char *name, off_t at, const char *bytes, size_t len)
{
    _cleanup_fd_ int fd = open(rig_path(rig, name), O_WRONLY | O_CLOEXEC);

    if (fd < 0 || pwrite(fd, bytes, len, at) != (ssize_t) len)
        printf("# cannot damage %s\n", name);
}

/* 0: what was there is found; 1: an error that says what to do; 2: anything else. */
static int look(const struct rig *rig)
{
    struct db *db = NULL;
    struct grant_list grants;
    struct err err = {0};

    int rc = db_open(rig->state, &db, &err);
    if (rc == 0)
        rc = grants_list(db, "agent:a", false, RIG_T, rig->arena, &grants, &err);
    db_close(db);
    return rc == 0 ? (grants.count > 0 ? 0 : 2) : says_what_to_do(&err) ? 1 : 2;
}

/* With what SQLite put beside it: the next one begins anew. */
static void remove_store(const struct rig *rig)
{
    static const char *const names[] = {"store.db", "store.db-wal", "store.db-shm"};

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        (void) unlink(rig_path(rig, names[i])); /* it may not be there */
}

static void test_no_store(const struct rig *rig)
{
    static const char garbage[8192] = "this is no database";
    struct err err = {0};

    ok(make_store(rig, version_1) == 0 && look(rig) == 0, "a store that is whole is read");
    damage(rig, "store.db", 0, garbage, sizeof(garbage));
    ok(try_open(rig, &err) < 0 && says_what_to_do(&err), "what is no database is an error: %s (%s)",
       err.message, err.hint);
    ok(truncate(rig_path(rig, "store.db"), 0) == 0 && try_open(rig, &err) < 0 &&
           says_what_to_do(&err),
       "so is an empty file: it is not taken for a new store: %s", err.message);
    remove_store(rig);
    ok(make_store(rig, "CREATE TABLE x (y)") == 0 && try_open(rig, &err) < 0 &&
           says_what_to_do(&err),
       "so is somebody else's database: %s", err.message);
    remove_store(rig);
    ok(make_store(rig, "PRAGMA user_version = 1") == 0 && look(rig) == 1,
       "so is one without our tables");
}

static void test_cut(const struct rig *rig)
{
    struct stat st = {0};

    ok(make_store(rig, version_1) == 0 && stat(rig_path(rig, "store.db"), &st) == 0 &&
           look(rig) == 0,
       "a store that is whole");
    ok(truncate(rig_path(rig, "store.db"), st.st_size / 2 / 4096 * 4096) == 0 && look(rig) == 1,
       "cut in half it is an error");
}

static void test_rows(const struct rig *rig)
{
    static const char *const bad[] = {
        "UPDATE grants SET capability = 'everything'",
        "UPDATE grants SET uses_left = 99999999",
        "UPDATE grants SET expires_ms = -5",
        "UPDATE grants SET id = 'short'",
        "UPDATE grants SET scope = CAST(x'2f00612f' AS TEXT)",
    };

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        ok(make_store(rig, version_1) == 0 && look(rig) == 0 && make_store(rig, bad[i]) == 0 &&
               look(rig) == 1,
           "what wasp never wrote is an error: %s", bad[i]);
        remove_store(rig);
    }
}

/* Each place of the file in turn. In a process of its own, so that a crash is seen. */
static void test_crashes(const struct rig *rig)
{
    static const char bytes[] = "\xff\xff\xff\xff\xff\xff\xff\xff";
    const char *store = rig_path(rig, "store.db"), *whole = rig_path(rig, "whole.db");
    int told = 0, lost = 0, tries = 0, crashed = 0, status;
    struct stat st = {0};
    char command[256];

    if (!ok(make_store(rig, version_1) == 0 && stat(store, &st) == 0 && rename(store, whole) == 0,
            "a store, of which each place is damaged in turn"))
        return;
    (void) snprintf(command, sizeof(command), "cp %s %s", whole, store); /* fits */
    for (off_t at = 0; at < st.st_size; at += 128, tries++) {
        remove_store(rig);
        if (system(command) != 0) /* NOLINT(cert-env33-c): our own words */
            break;
        damage(rig, "store.db", at, bytes, sizeof(bytes) - 1);
        pid_t pid = fork();
        if (pid == 0)
            _exit(look(rig));
        bool ended = waitpid(pid, &status, 0) == pid && WIFEXITED(status);
        crashed += !ended;
        told += ended && WEXITSTATUS(status) == 1;
        lost += ended && WEXITSTATUS(status) == 2;
    }
    ok(tries > 100 && crashed == 0, "wasp does not crash of it, %d times", tries);
    ok(told > 10 && lost == 0, "it tells of it, %d times, or the grant is found: %d lost", told,
       lost);
}

/* ---- where it cannot be written -------------------------------------------------------------- */

/* In a process of its own, which ends. As OTHER_UID where we are root, whom no mode stops. */
static int open_read_only(const struct rig *rig, int number)
{
    struct db *db = NULL;
    struct err err = {0};

    (void) number;
    if (geteuid() == 0 && (setgid(OTHER_UID) < 0 || setuid(OTHER_UID) < 0))
        return 99;
    int rc = db_open(rig->state, &db, &err);
    return rc == 0 ? 0 : err.code == ERR_HOST && err.message[0] ? 1 : 2;
}

static void test_read_only(const struct rig *rig)
{
    char command[256];

    ok(mkdir(rig->state, 0500) == 0, "a folder that nobody can write to");
    (void) snprintf(command, sizeof(command), "chmod 755 %s; chown -R %d %s", rig->base,
                    geteuid() == 0 ? OTHER_UID : (int) geteuid(), rig->state); /* fits */
    ok(system(command) == 0, "of an ordinary user's"); /* NOLINT(cert-env33-c): our own words */
    ok(rig_race(rig, 1, open_read_only, 1) == 1, "no store can be made in it, which is an error");
    ok(chmod(rig->state, 0700) == 0 && rig_race(rig, 1, open_read_only, 0) == 1,
       "where it can be written to, it can");
    (void) unlink(rig_path(rig, "store.db-wal")); /* as after a clean end */
    (void) unlink(rig_path(rig, "store.db-shm")); /* likewise */
    ok(chmod(rig->state, 0500) == 0 && rig_race(rig, 1, open_read_only, 1) == 1,
       "one that is there cannot be used, which is an error, too");
}

static int put(const char *path, const char *text)
{
    _cleanup_fd_ int fd = open(path, O_WRONLY | O_CLOEXEC);

    return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t) strlen(text) ? 0 : -1;
}

/* An ordinary user is root in a namespace of his own. */
static int own_mounts(void)
{
    char uid_map[32], gid_map[32];

    (void) snprintf(uid_map, sizeof(uid_map), "0 %u 1", geteuid()); /* fits */
    (void) snprintf(gid_map, sizeof(gid_map), "0 %u 1", getegid()); /* likewise */
    if (geteuid() == 0)
        return unshare(CLONE_NEWNS) < 0 ? -1 : mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0 || put("/proc/self/setgroups", "deny") < 0 ||
        put("/proc/self/gid_map", gid_map) < 0)
        return -1;
    return put("/proc/self/uid_map", uid_map);
}

/* Fills a file system of 1 MiB; 0: there was an error that says so, and the store still works. */
static int fill_disk(const struct rig *rig)
{
    struct db *db = NULL;
    struct err err = {0};
    struct grant_list list;
    size_t made = 0;
    bool full = false;

    if (own_mounts() < 0 || mount("tmpfs", rig->state, "tmpfs", 0, "size=1m,mode=700") < 0)
        return 77;
    if (db_open(rig->state, &db, &err) < 0)
        return 2;
    for (int i = 0; i < 2000 && !full; i++) {
        struct grant grant = rig_grant();
        grant.scope = arena_printf(rig->arena, "/%04000d", i);
        full = grants_create(db, &grant, &err) < 0;
        made += !full;
    }
    db_close(db);
    if (!full || made == 0 || err.code != ERR_HOST || err.message[0] == '\0')
        return 3;
    printf("# %s (%s)\n", err.message, err.hint);
    if (db_open(rig->state, &db, &err) < 0)
        return 4;
    bool holds =
        grants_list(db, NULL, false, RIG_T, rig->arena, &list, &err) == 0 && list.count == made;
    db_close(db);
    return holds ? 0 : 5;
}

static void test_full_disk(const struct rig *rig)
{
    (void) mkdir(rig->state, 0700); /* what follows needs it */
    (void) fflush(stdout);
    pid_t pid = fork();
    int status;
    if (pid == 0) {
        status = fill_disk(rig);
        (void) fflush(stdout);
        _exit(status);
    }
    (void) waitpid(pid, &status, 0); /* it is ours */
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip("no file system can be mounted here");
    else
        ok(WIFEXITED(status) && WEXITSTATUS(status) == 0,
           "a full disk is an error, and what was acknowledged before is there");
}

int main(void)
{
    static void (*const tests[])(const struct rig *rig) = {
        test_no_store, test_cut, test_rows, test_crashes, test_read_only, test_full_disk,
    };

    for (size_t i = 0; i < ARRAY_SIZE(tests); i++) {
        struct rig rig;
        rig_init(&rig);
        tests[i](&rig);
        rig_release(&rig);
    }
    return done();
}
