/*
 * store_version_1: a store as version 1 of it was released, made by hand.
 */
#pragma once

#include <fcntl.h>

#include "store/sql.h"
#include "store_rig.h"

/* As version 1 was released, with one row of each. Never to be changed. */
__attribute__((unused)) static const char version_1[] =
    "PRAGMA journal_mode = WAL;"
    "CREATE TABLE approvals (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, holder TEXT NOT "
    "NULL, request BLOB NOT NULL CHECK (length(request) = 32), summary TEXT NOT NULL, plan TEXT "
    "NOT NULL, created_ms INTEGER NOT NULL, expires_ms INTEGER NOT NULL, max_ttl_ms INTEGER NOT "
    "NULL, max_uses INTEGER NOT NULL, state TEXT NOT NULL CHECK (state IN ('pending', 'approved', "
    "'denied', 'expired')), answered_ms INTEGER, answered_by TEXT) STRICT;"
    "CREATE INDEX approvals_of_request ON approvals (holder, request);"
    "CREATE INDEX approvals_pending ON approvals (holder) WHERE state = 'pending';"
    "CREATE TABLE approval_items (approval TEXT NOT NULL REFERENCES approvals (id) ON DELETE "
    "CASCADE, position INTEGER NOT NULL, capability TEXT NOT NULL, scope TEXT NOT NULL, rule TEXT, "
    "reason TEXT, PRIMARY KEY (approval, position)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE grants (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, holder TEXT NOT "
    "NULL, capability TEXT NOT NULL, scope TEXT NOT NULL, created_ms INTEGER NOT NULL, expires_ms "
    "INTEGER NOT NULL, uses_left INTEGER NOT NULL CHECK (uses_left >= 0), uses INTEGER NOT NULL, "
    "reason TEXT, approved_by TEXT NOT NULL, request BLOB CHECK (length(request) = 32), approval "
    "TEXT REFERENCES approvals (id), revoked_ms INTEGER, is_over INTEGER NOT NULL DEFAULT 0) "
    "STRICT;"
    "CREATE INDEX grants_of_holder ON grants (holder, expires_ms);"
    "CREATE INDEX grants_of_approval ON grants (approval);"
    "CREATE INDEX grants_running ON grants (expires_ms) WHERE is_over = 0 AND revoked_ms IS NULL "
    "AND uses_left > 0;"
    "CREATE TABLE uses (holder TEXT NOT NULL, capability TEXT NOT NULL, number INTEGER NOT NULL, "
    "at_ms INTEGER NOT NULL, PRIMARY KEY (holder, capability, number)) STRICT, WITHOUT ROWID;"
    "CREATE INDEX uses_by_time ON uses (at_ms);"
    "INSERT INTO approvals VALUES (1, '018bcfe5-6800-7000-8000-000000000001', 'agent:a', "
    "zeroblob(32), 'git status', '{}', 1700000000000, 1700000060000, 0, 0, 'pending', NULL, NULL);"
    "INSERT INTO approval_items VALUES ('018bcfe5-6800-7000-8000-000000000001', 0, 'exec_run', "
    "'/usr/bin/git', NULL, 'because');"
    "INSERT INTO grants VALUES (1, '018bcfe5-6800-7000-8000-000000000002', 'agent:a', 'fs_write', "
    "'/data', 1700000000000, 1700000060000, 3, 1, NULL, 'uid:1', NULL, NULL, NULL, 0);"
    "INSERT INTO uses VALUES ('agent:a', 'fs_write', 41, 1700000000000);"
    "PRAGMA user_version = 1;";

/* A database of exactly these statements in the store's place. */
__attribute__((unused)) static int make_store(const struct rig *rig, const char *text)
{
    _cleanup_db_ struct db *db = NULL;
    const char *path = rig_path(rig, "store.db");
    struct err err;

    (void) mkdir(rig->state, 0700); /* as a rule it is there */
    _cleanup_fd_ int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0 && sql_connect(path, &db, &err) == 0 && sql_do(db, text, &err) == 0 &&
        sql_do(db, "PRAGMA wal_checkpoint(TRUNCATE)", &err) == 0)
        return 0;
    printf("# %s\n", err.message);
    return -1;
}
