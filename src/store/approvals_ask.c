/* Filing a request, declared in approvals.h with what becomes of it. */
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "base/uuid.h"
#include "store/approvals.h"
#include "store/sql.h"

/* ?1 is now. */
#define PENDING "state = 'pending' AND expires_ms > ?1"

/* Adds the text's length; what is not UTF-8 counts as too much. */
static size_t weigh(const char *text)
{
    size_t len = text ? strlen(text) : 0;

    return text && !utf8_valid(text, len) ? APPROVAL_MAX_BYTES + 1 : len;
}

/* What a person is shown is shown whole, or it is not asked. */
static int check_new(const struct approval *approval, uint64_t now_ms, struct err *err)
{
    size_t bytes = weigh(approval->holder) + weigh(approval->summary) + weigh(approval->plan);

    if (approval->expires_ms <= now_ms || approval->expires_ms > INT64_MAX ||
        approval->max_ttl_ms > GRANT_MAX_TTL_MS || approval->max_uses > GRANT_MAX_USES)
        return err_set(err, ERR_REQUEST, "the times or uses of the request make no sense");
    if (approval->n_items == 0 || approval->n_items > APPROVAL_MAX_ITEMS)
        return err_set(err, ERR_DENIED, "a person is asked for 1 to %d things at once, not %zu",
                       APPROVAL_MAX_ITEMS, approval->n_items);
    for (size_t i = 0; i < approval->n_items; i++) {
        const struct approval_item *item = &approval->items[i];
        bool too_long = strlen(item->scope) > GRANT_MAX_SCOPE ||
                        (item->reason && strlen(item->reason) > GRANT_MAX_REASON);
        bytes += weigh(item->scope) + weigh(item->rule) + weigh(item->reason);
        bytes += too_long ? APPROVAL_MAX_BYTES : 0;
    }
    if (bytes > APPROVAL_MAX_BYTES)
        return err_set(err, ERR_DENIED,
                       "the request is too long for a person to judge, or is not "
                       "UTF-8: ask for less at once");
    return 0;
}

/* 1 and the pending one of the same holder and request; 0: there is none. */
static int find_pending(struct db *db, struct approval *approval, uint64_t now_ms, struct err *err)
{
    _cleanup_(sql_release) struct sql sql = {0};

    if (sql_prepare(db,
                    "SELECT id, created_ms, expires_ms FROM approvals WHERE " PENDING
                    " AND holder = ?2 AND request = ?3",
                    &sql, err) < 0)
        return -1;
    sql_bind_number(&sql, now_ms);
    sql_bind_text(&sql, approval->holder);
    sql_bind_digest(&sql, &approval->request);
    int rc = sql_step(&sql, err);
    if (rc <= 0)
        return rc;
    char id[GRANT_ID_SIZE];
    sql_id(&sql, 0, id);
    uint64_t created_ms = sql_number(&sql, 1, INT64_MAX);
    uint64_t expires_ms = sql_number(&sql, 2, INT64_MAX);
    if (sql_row_end(&sql, err) < 0)
        return -1;
    memcpy(approval->id, id, GRANT_ID_SIZE);
    approval->created_ms = created_ms;
    approval->expires_ms = expires_ms;
    return 1;
}

static int check_room(struct db *db, const char *holder, uint64_t now_ms, struct err *err)
{
    _cleanup_(sql_release) struct sql sql = {0};

    if (sql_prepare(db, "SELECT count(*) FROM approvals WHERE " PENDING " AND holder = ?2", &sql,
                    err) < 0)
        return -1;
    sql_bind_number(&sql, now_ms);
    sql_bind_text(&sql, holder);
    if (sql_step(&sql, err) < 0)
        return -1;
    if (sql_number(&sql, 0, INT64_MAX) < APPROVAL_MAX_PENDING)
        return 0;
    (void) err_set(err, ERR_DENIED, "%d requests of '%s' are waiting for an answer already",
                   APPROVAL_MAX_PENDING, holder); /* -1, as below */
    return err_hint(err, "the owner answers them with 'wasp approve' and 'wasp deny', or waits "
                         "until they expire");
}

/*
 * What waits no more, beyond what is kept; not while a grant tells whence it came. Whoever wants to
 * report what expired does so before the next is asked.
 */
static int forget_old(struct db *db, const char *holder, uint64_t now_ms, struct err *err)
{
    _cleanup_(sql_release) struct sql sql = {0};

    if (sql_prepare(db,
                    "DELETE FROM approvals WHERE NOT (" PENDING ") "
                    "AND id NOT IN (SELECT approval FROM grants WHERE approval IS NOT NULL) "
                    "AND (created_ms < ?2 OR holder = ?3 AND number <= ("
                    "SELECT number FROM approvals WHERE NOT (" PENDING ") AND holder = ?3 "
                    "ORDER BY number DESC LIMIT 1 OFFSET ?4))",
                    &sql, err) < 0)
        return -1;
    sql_bind_number(&sql, now_ms);
    sql_bind_signed(&sql, (int64_t) now_ms - (int64_t) APPROVAL_KEPT_MS);
    sql_bind_text(&sql, holder);
    sql_bind_number(&sql, APPROVAL_MAX_KEPT);
    return sql_run(&sql, err);
}

static int add_items(struct db *db, const struct approval *approval, struct err *err)
{
    _cleanup_(sql_release) struct sql sql = {0};

    if (sql_prepare(db, "INSERT INTO approval_items VALUES (?, ?, ?, ?, ?, ?)", &sql, err) < 0)
        return -1;
    for (size_t i = 0; i < approval->n_items; i++) {
        const struct approval_item *item = &approval->items[i];
        sql_bind_text(&sql, approval->id);
        sql_bind_number(&sql, i);
        sql_bind_text(&sql, capability_rows[item->capability].name);
        sql_bind_text(&sql, item->scope);
        sql_bind_text(&sql, item->rule);
        sql_bind_text(&sql, item->reason);
        if (sql_run(&sql, err) < 0)
            return -1;
    }
    return 0;
}

static int add(struct db *db, struct approval *approval, uint64_t now_ms, struct err *err)
{
    _cleanup_(sql_release) struct sql sql = {0};

    if (sql_prepare(db,
                    "INSERT INTO approvals (id, holder, request, summary, plan, created_ms, "
                    "expires_ms, max_ttl_ms, max_uses, state) "
                    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'pending')",
                    &sql, err) < 0)
        return -1;
    uuid_make(now_ms * NS_PER_MS, approval->id);
    approval->created_ms = now_ms;
    sql_bind_text(&sql, approval->id);
    sql_bind_text(&sql, approval->holder);
    sql_bind_digest(&sql, &approval->request);
    sql_bind_text(&sql, approval->summary);
    sql_bind_text(&sql, approval->plan);
    sql_bind_number(&sql, approval->created_ms);
    sql_bind_number(&sql, approval->expires_ms);
    sql_bind_number(&sql, approval->max_ttl_ms);
    sql_bind_number(&sql, approval->max_uses);
    return sql_run(&sql, err) < 0 ? -1 : add_items(db, approval, err);
}

int approvals_ask(struct db *db, struct approval *approval, uint64_t now_ms, bool *ret_is_new,
                  struct err *err)
{
    _cleanup_(sql_end) struct transaction transaction = {0};

    if (check_new(approval, now_ms, err) < 0 || sql_begin(db, SQL_CHANGE, &transaction, err) < 0)
        return -1;
    int found = find_pending(db, approval, now_ms, err);
    if (found < 0)
        return -1;
    if (found == 0 && (check_room(db, approval->holder, now_ms, err) < 0 ||
                       forget_old(db, approval->holder, now_ms, err) < 0 ||
                       add(db, approval, now_ms, err) < 0 || sql_commit(&transaction, err) < 0))
        return -1;
    approval->state = APPROVAL_PENDING;
    approval->answered_ms = 0;
    approval->answered_by = NULL;
    *ret_is_new = found == 0;
    return 0;
}
