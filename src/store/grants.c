#include "store/grants.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "base/uuid.h"
#include "store/sql.h"

_Static_assert(GRANT_ID_SIZE == UUID_SIZE, "an id is a UUID");

const char *const grant_state_names[] = {
    [GRANT_USABLE] = "usable",
    [GRANT_SPENT] = "spent",
    [GRANT_EXPIRED] = "expired",
    [GRANT_REVOKED] = "revoked",
    NULL,
};

static const struct sql_kind kind = {"grants", "grant", "wasp grant list --all"};

/* In the order in which read_row has them. */
#define COLUMNS                                                                        \
    "id, holder, capability, scope, created_ms, expires_ms, uses_left, uses, reason, " \
    "approved_by, request, approval, revoked_ms"
/* ?1 is now. What was told to be over stays so, even if the clock is set back. */
#define RUNNING "is_over = 0 AND revoked_ms IS NULL AND uses_left > 0"
#define USABLE RUNNING " AND expires_ms > ?1"

enum grant_state grant_state(const struct grant *grant, uint64_t now_ms)
{
    if (grant->revoked_ms != 0)
        return GRANT_REVOKED;
    if (grant->uses_left == 0)
        return GRANT_SPENT;
    return now_ms >= grant->expires_ms ? GRANT_EXPIRED : GRANT_USABLE;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static enum capability read_capability(struct sql *sql, int column, struct arena *arena)
{
    const char *name = sql_text(sql, column, arena);
    int found = name ? capability_find(name) : -1;

    sql->is_foreign |= found < 0;
    return found < 0 ? CAPABILITY_FS_READ : (enum capability) found;
}

static int read_row(struct sql *sql, struct arena *arena, struct grant *ret_grant, struct err *err)
{
    struct grant grant = {
        .holder = sql_text(sql, 1, arena),
        .capability = read_capability(sql, 2, arena),
        .scope = sql_text(sql, 3, arena),
        .created_ms = sql_number(sql, 4, INT64_MAX),
        .expires_ms = sql_number(sql, 5, INT64_MAX),
        .uses_left = (uint32_t) sql_number(sql, 6, GRANT_MAX_USES),
        .uses = (uint32_t) sql_number(sql, 7, GRANT_MAX_USES),
        .reason = sql_text_or_null(sql, 8, arena),
        .approved_by = sql_text(sql, 9, arena),
        .approval = sql_text_or_null(sql, 11, arena),
        .revoked_ms = sql_number(sql, 12, INT64_MAX),
    };

    grant.is_bound = sql_digest(sql, 10, &grant.request);
    sql_id(sql, 0, grant.id);
    if (sql_row_end(sql, err) < 0)
        return -1;
    *ret_grant = grant;
    return 0;
}

static int read_list(struct sql *sql, struct arena *arena, struct grant_list *ret_list,
                     struct err *err)
{
    struct grant_list list = {.items = NULL};
    size_t room = 0;
    int rc;

    while ((rc = sql_step(sql, err)) > 0) {
        if (list.count == room) {
            room = room > 0 ? 2 * room : 8;
            struct grant *grown = arena_array(arena, room, sizeof(*grown));
            if (!grown)
                return err_no_memory(err);
            if (list.count > 0)
                memcpy(grown, list.items, list.count * sizeof(*grown));
            list.items = grown;
        }
        if (read_row(sql, arena, &list.items[list.count], err) < 0)
            return -1;
        list.count++;
    }
    if (rc == 0)
        *ret_list = list;
    return rc;
}

/* By its whole id; 1: there is one, 0: there is none. */
static int look(struct db *db, const char *id, struct arena *arena, struct grant *ret_grant,
                struct err *err)
{
    _cleanup_(sql_release) struct sql sql = {0};

    if (sql_prepare(db, "SELECT " COLUMNS " FROM grants WHERE id = ?", &sql, err) < 0)
        return -1;
    sql_bind_text(&sql, id);
    int rc = sql_step(&sql, err);
    return rc > 0 && read_row(&sql, arena, ret_grant, err) < 0 ? -1 : rc;
}

/* ---- making ---------------------------------------------------------------------------------- */

static int check_text(const char *what, const char *text, size_t max, struct err *err)
{
    size_t len = text ? strlen(text) : 0;

    if (len > max)
        return err_set(err, ERR_REQUEST, "the %s of the grant is longer than %zu bytes", what, max);
    if (!utf8_valid(text ? text : "", len))
        return err_set(err, ERR_REQUEST, "the %s of the grant is not UTF-8", what);
    return 0;
}

static int check_new(const struct grant *grant, struct err *err)
{
    if (grant->expires_ms <= grant->created_ms ||
        grant->expires_ms - grant->created_ms > GRANT_MAX_TTL_MS || grant->expires_ms > INT64_MAX)
        return err_set(err, ERR_REQUEST, "a grant lasts from 1 ms to %d days",
                       (int) (GRANT_MAX_TTL_MS / 1000 / 3600 / 24));
    if (grant->uses_left == 0 || grant->uses_left > GRANT_MAX_USES)
        return err_set(err, ERR_REQUEST, "a grant has from 1 to %d uses", GRANT_MAX_USES);
    if (check_text("holder", grant->holder, GRANT_MAX_REASON, err) < 0 ||
        check_text("scope", grant->scope, GRANT_MAX_SCOPE, err) < 0)
        return -1;
    return check_text("reason", grant->reason, GRANT_MAX_REASON, err);
}

int grants_add(struct db *db, struct grant *grant, struct err *err)
{
    _cleanup_(sql_release) struct sql sql = {0};

    if (check_new(grant, err) < 0 ||
        sql_prepare(db,
                    "INSERT INTO grants (id, holder, capability, scope, created_ms, expires_ms, "
                    "uses_left, uses, reason, approved_by, request, approval) "
                    "VALUES (?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?)",
                    &sql, err) < 0)
        return -1;
    uuid_make(grant->created_ms * NS_PER_MS, grant->id);
    grant->uses = 0;
    grant->revoked_ms = 0;
    sql_bind_text(&sql, grant->id);
    sql_bind_text(&sql, grant->holder);
    sql_bind_text(&sql, capability_rows[grant->capability].name);
    sql_bind_text(&sql, grant->scope);
    sql_bind_number(&sql, grant->created_ms);
    sql_bind_number(&sql, grant->expires_ms);
    sql_bind_number(&sql, grant->uses_left);
    sql_bind_text(&sql, grant->reason);
    sql_bind_text(&sql, grant->approved_by);
    sql_bind_digest(&sql, grant->is_bound ? &grant->request : NULL);
    sql_bind_text(&sql, grant->approval);
    return sql_run(&sql, err);
}

/* What ended long ago and was reported, if there was anything to report. */
static int forget_old(struct db *db, uint64_t now_ms, struct err *err)
{
    _cleanup_(sql_release) struct sql sql = {0};

    if (sql_prepare(db, "DELETE FROM grants WHERE expires_ms < ? AND NOT (" RUNNING ")", &sql,
                    err) < 0)
        return -1;
    sql_bind_signed(&sql, (int64_t) now_ms - (int64_t) GRANT_KEPT_MS);
    return sql_run(&sql, err);
}

int grants_create(struct db *db, struct grant *grant, struct err *err)
{
    _cleanup_(sql_end) struct transaction transaction = {0};

    if (sql_begin(db, SQL_KEEP, &transaction, err) < 0 ||
        forget_old(db, grant->created_ms, err) < 0 || grants_add(db, grant, err) < 0)
        return -1;
    return sql_commit(&transaction, err);
}

/* ---- looking --------------------------------------------------------------------------------- */

int grants_list(struct db *db, const char *holder, bool usable_only, uint64_t now_ms,
                struct arena *arena, struct grant_list *ret_list, struct err *err)
{
    static const char usable[] = "SELECT " COLUMNS " FROM grants WHERE " USABLE
                                 " AND (?2 IS NULL OR holder = ?2) ORDER BY number";
    static const char usable_of[] =
        "SELECT " COLUMNS " FROM grants WHERE " USABLE " AND holder = ?2 ORDER BY number";
    static const char all[] = "SELECT " COLUMNS " FROM grants WHERE (?2 IS NULL OR holder = ?2) "
                              "AND ?1 IS NOT NULL ORDER BY number";
    _cleanup_(sql_release) struct sql sql = {0};
    const char *text = !usable_only ? all : holder ? usable_of : usable;

    if (sql_prepare(db, text, &sql, err) < 0)
        return -1;
    sql_bind_number(&sql, now_ms);
    sql_bind_text(&sql, holder);
    return read_list(&sql, arena, ret_list, err);
}

int grants_find(struct db *db, const char *id, struct arena *arena, struct grant *ret_grant,
                struct err *err)
{
    char whole[GRANT_ID_SIZE];

    if (sql_find_id(db, &kind, id, whole, err) < 0)
        return -1;
    int rc = look(db, whole, arena, ret_grant, err);
    if (rc == 0)
        return err_set(err, ERR_NOT_FOUND, "the grant '%s' was just removed", whole);
    return rc < 0 ? -1 : 0;
}

/* ---- using ----------------------------------------------------------------------------------- */

/* Why it cannot be used, or could not. Always -1. */
static int refuse(struct db *db, const struct grant *wanted, uint64_t now_ms, struct err *err)
{
    struct arena *arena = arena_new();
    struct grant grant;
    int rc = arena ? look(db, wanted->id, arena, &grant, err) : err_no_memory(err);

    arena_free(arena);
    if (rc < 0)
        return -1;
    if (rc == 0)
        return err_set(err, ERR_DENIED, "the grant '%s' is there no more", wanted->id);
    (void) err_set(err, ERR_DENIED, "the grant '%s' is %s", wanted->id,
                   grant_state_names[grant_state(&grant, now_ms)]); /* -1, as below */
    return err_hint(err, "ask for it again, or have the owner grant it anew");
}

static bool is_before(const struct grant *const *grants, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (strcmp(grants[i]->id, grants[index]->id) == 0)
            return true;
    return false;
}

static int use_each(struct db *db, const struct grant *const *grants, size_t count, uint64_t now_ms,
                    struct err *err)
{
    _cleanup_(sql_release) struct sql sql = {0};

    if (sql_prepare(db,
                    "UPDATE grants SET uses_left = uses_left - 1, uses = uses + 1 "
                    "WHERE " USABLE " AND id = ?2",
                    &sql, err) < 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        if (is_before(grants, i))
            continue;
        sql_bind_number(&sql, now_ms);
        sql_bind_text(&sql, grants[i]->id);
        if (sql_run(&sql, err) < 0)
            return -1;
        if (sqlite3_changes(db->handle) != 1)
            return refuse(db, grants[i], now_ms, err);
    }
    return 0;
}

int grants_use(struct db *db, const struct grant *const *grants, size_t count, uint64_t now_ms,
               struct err *err)
{
    _cleanup_(sql_end) struct transaction transaction = {0};

    if (count == 0)
        return 0;
    if (sql_begin(db, SQL_CHANGE, &transaction, err) < 0 ||
        use_each(db, grants, count, now_ms, err) < 0)
        return -1;
    return sql_commit(&transaction, err);
}

int grants_hold(struct db *db, const struct grant *const *grants, size_t count, uint64_t now_ms,
                bool *ret_hold, size_t *ret_which, struct err *err)
{
    _cleanup_(sql_release) struct sql sql = {0};

    if (sql_prepare(db,
                    "SELECT 1 FROM grants WHERE id = ? AND is_over = 0 AND revoked_ms IS NULL AND "
                    "expires_ms > ?",
                    &sql, err) < 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        sql_bind_text(&sql, grants[i]->id);
        sql_bind_number(&sql, now_ms);
        int rc = sql_step(&sql, err);
        if (rc < 0)
            return -1;
        if (rc == 0) {
            *ret_hold = false;
            *ret_which = i;
            return 0;
        }
        (void) sqlite3_reset(sql.statement); /* it did not fail */
        sql.n_bound = 0;
    }
    *ret_hold = true;
    return 0;
}

/* ---- ending ---------------------------------------------------------------------------------- */

static int mark_revoked(struct db *db, const char *id, uint64_t now_ms, struct err *err)
{
    _cleanup_(sql_release) struct sql sql = {0};

    if (sql_prepare(db, "UPDATE grants SET revoked_ms = ? WHERE id = ?", &sql, err) < 0)
        return -1;
    sql_bind_number(&sql, now_ms);
    sql_bind_text(&sql, id);
    return sql_run(&sql, err);
}

int grants_revoke(struct db *db, const char *id, uint64_t now_ms, struct arena *arena,
                  struct grant *ret_grant, struct err *err)
{
    _cleanup_(sql_end) struct transaction transaction = {0};
    char when[CLOCK_TEXT_SIZE];
    struct grant grant;

    if (sql_begin(db, SQL_KEEP, &transaction, err) < 0 ||
        grants_find(db, id, arena, &grant, err) < 0)
        return -1;
    if (grant.revoked_ms != 0) {
        clock_format(grant.revoked_ms * NS_PER_MS, when);
        return err_set(err, ERR_REQUEST, "the grant '%s' was revoked already, at %s", grant.id,
                       when);
    }
    grant.revoked_ms = now_ms > 0 ? now_ms : 1; /* 0: not */
    if (mark_revoked(db, grant.id, grant.revoked_ms, err) < 0 || sql_commit(&transaction, err) < 0)
        return -1;
    *ret_grant = grant;
    return 0;
}

/* So that the common case, nothing to tell, waits for nobody. */
static int has_expired(struct db *db, uint64_t now_ms, struct err *err)
{
    _cleanup_(sql_release) struct sql sql = {0};

    if (sql_prepare(db, "SELECT 1 FROM grants WHERE " RUNNING " AND expires_ms <= ? LIMIT 1", &sql,
                    err) < 0)
        return -1;
    sql_bind_number(&sql, now_ms);
    return sql_step(&sql, err);
}

static int take_expired(struct db *db, uint64_t now_ms, struct arena *arena,
                        struct grant_list *ret_list, struct err *err)
{
    _cleanup_(sql_release) struct sql list = {0}, mark = {0};

    if (sql_prepare(db,
                    "SELECT " COLUMNS " FROM grants WHERE " RUNNING
                    " AND expires_ms <= ? ORDER BY expires_ms, number",
                    &list, err) < 0 ||
        sql_prepare(db, "UPDATE grants SET is_over = 1 WHERE " RUNNING " AND expires_ms <= ?",
                    &mark, err) < 0)
        return -1;
    sql_bind_number(&list, now_ms);
    sql_bind_number(&mark, now_ms);
    return read_list(&list, arena, ret_list, err) < 0 ? -1 : sql_run(&mark, err);
}

int grants_take_expired(struct db *db, uint64_t now_ms, struct arena *arena,
                        struct grant_list *ret_list, struct err *err)
{
    _cleanup_(sql_end) struct transaction transaction = {0};
    struct grant_list found = {.items = NULL};
    int any = has_expired(db, now_ms, err);

    if (any < 0)
        return -1;
    if (any > 0 &&
        (sql_begin(db, SQL_CHANGE, &transaction, err) < 0 ||
         take_expired(db, now_ms, arena, &found, err) < 0 || sql_commit(&transaction, err) < 0))
        return -1;
    *ret_list = found;
    return 0;
}
