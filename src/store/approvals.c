#include "store/approvals.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "store/sql.h"

const char *const approval_state_names[] = {
    [APPROVAL_PENDING] = "pending",
    [APPROVAL_APPROVED] = "approved",
    [APPROVAL_DENIED] = "denied",
    [APPROVAL_EXPIRED] = "expired",
    NULL,
};

static const struct sql_kind kind = {"approvals", "approval", "wasp approvals --all"};

/* In the order in which read_row has them, but for the plan. ?1 is now. */
#define COLUMNS                                                                                 \
    "id, holder, request, summary, created_ms, expires_ms, max_ttl_ms, max_uses, answered_ms, " \
    "answered_by, CASE WHEN state = 'pending' AND expires_ms <= ?1 THEN 'expired' ELSE state END"
#define PENDING "state = 'pending' AND expires_ms > ?1"

/* ---- rows ------------------------------------------------------------------------------------ */

static enum approval_state read_state(struct sql *sql, int column, struct arena *arena)
{
    const char *name = sql_text(sql, column, arena);

    for (int i = 0; name && approval_state_names[i]; i++)
        if (strcmp(approval_state_names[i], name) == 0)
            return (enum approval_state) i;
    sql->is_foreign = true;
    return APPROVAL_DENIED;
}

static int read_row(struct sql *sql, bool with_plan, struct arena *arena,
                    struct approval *ret_approval, struct err *err)
{
    struct approval approval = {
        .holder = sql_text(sql, 1, arena),
        .summary = sql_text(sql, 3, arena),
        .created_ms = sql_number(sql, 4, INT64_MAX),
        .expires_ms = sql_number(sql, 5, INT64_MAX),
        .max_ttl_ms = sql_number(sql, 6, GRANT_MAX_TTL_MS),
        .max_uses = (uint32_t) sql_number(sql, 7, GRANT_MAX_USES),
        .answered_ms = sql_number(sql, 8, INT64_MAX),
        .answered_by = sql_text_or_null(sql, 9, arena),
        .state = read_state(sql, 10, arena),
        .plan = with_plan ? sql_text(sql, 11, arena) : NULL,
    };

    sql->is_foreign |= !sql_digest(sql, 2, &approval.request);
    sql_id(sql, 0, approval.id);
    if (sql_row_end(sql, err) < 0)
        return -1;
    *ret_approval = approval;
    return 0;
}

static int read_item(struct sql *sql, struct arena *arena, struct approval *approval,
                     struct err *err)
{
    const char *name = sql_text(sql, 0, arena);
    int capability = name ? capability_find(name) : -1;
    struct approval_item item = {
        .capability = (enum capability) capability,
        .scope = sql_text(sql, 1, arena),
        .rule = sql_text_or_null(sql, 2, arena),
        .reason = sql_text_or_null(sql, 3, arena),
    };

    sql->is_foreign |= capability < 0 || approval->n_items >= APPROVAL_MAX_ITEMS;
    if (sql_row_end(sql, err) < 0)
        return -1;
    approval->items[approval->n_items++] = item;
    return 0;
}

static int count_items(struct db *db, const char *id, size_t *ret_count, struct err *err)
{
    _cleanup_(sql_release) struct sql sql = {0};

    if (sql_prepare(db, "SELECT count(*) FROM approval_items WHERE approval = ?", &sql, err) < 0)
        return -1;
    sql_bind_text(&sql, id);
    int rc = sql_step(&sql, err);
    *ret_count = rc > 0 ? (size_t) sql_number(&sql, 0, APPROVAL_MAX_ITEMS) : 0;
    return rc < 0 ? -1 : sql_row_end(&sql, err);
}

/* Within a transaction, so that they are as many as were counted. */
static int read_items(struct db *db, struct arena *arena, struct approval *approval,
                      struct err *err)
{
    _cleanup_(sql_release) struct sql sql = {0};
    size_t count = 0;
    int rc;

    if (count_items(db, approval->id, &count, err) < 0 ||
        sql_prepare(db,
                    "SELECT capability, scope, rule, reason FROM approval_items "
                    "WHERE approval = ? ORDER BY position",
                    &sql, err) < 0)
        return -1;
    if (count == 0)
        return sql_damaged(db, "a request asks for nothing", err);
    approval->items = arena_array(arena, count, sizeof(*approval->items));
    if (!approval->items)
        return err_no_memory(err);
    sql_bind_text(&sql, approval->id);
    while ((rc = sql_step(&sql, err)) > 0)
        if (read_item(&sql, arena, approval, err) < 0)
            return -1;
    return rc;
}

static int read_list(struct db *db, struct sql *sql, struct arena *arena,
                     struct approval_list *ret_list, struct err *err)
{
    struct approval_list list = {.items = NULL};
    size_t room = 0;
    int rc;

    while ((rc = sql_step(sql, err)) > 0) {
        if (list.count == room) {
            room = room > 0 ? 2 * room : 8;
            struct approval *grown = arena_array(arena, room, sizeof(*grown));
            if (!grown)
                return err_no_memory(err);
            if (list.count > 0)
                memcpy(grown, list.items, list.count * sizeof(*grown));
            list.items = grown;
        }
        struct approval *next = &list.items[list.count];
        if (read_row(sql, false, arena, next, err) < 0 || read_items(db, arena, next, err) < 0)
            return -1;
        list.count++;
    }
    if (rc == 0)
        *ret_list = list;
    return rc;
}

/* The one row of a statement whose parameters are now and then those given, which may be NULL. */
static int read_one(struct db *db, const char *text, uint64_t now_ms, const char *holder_or_id,
                    const struct digest *request, struct arena *arena,
                    struct approval *ret_approval, struct err *err)
{
    _cleanup_(sql_release) struct sql sql = {0};

    if (sql_prepare(db, text, &sql, err) < 0)
        return -1;
    sql_bind_number(&sql, now_ms);
    sql_bind_text(&sql, holder_or_id);
    if (request)
        sql_bind_digest(&sql, request);
    int rc = sql_step(&sql, err);
    if (rc > 0 && (read_row(&sql, true, arena, ret_approval, err) < 0 ||
                   read_items(db, arena, ret_approval, err) < 0))
        return -1;
    return rc;
}

/* ---- looking --------------------------------------------------------------------------------- */

int approvals_list(struct db *db, bool pending_only, uint64_t now_ms, struct arena *arena,
                   struct approval_list *ret_list, struct err *err)
{
    _cleanup_(sql_end) struct transaction transaction = {0};
    _cleanup_(sql_release) struct sql sql = {0};

    if (sql_begin(db, SQL_LOOK, &transaction, err) < 0 ||
        sql_prepare(db,
                    pending_only ? "SELECT " COLUMNS " FROM approvals WHERE " PENDING
                                   " ORDER BY number"
                                 : "SELECT " COLUMNS " FROM approvals ORDER BY number",
                    &sql, err) < 0)
        return -1;
    sql_bind_number(&sql, now_ms);
    return read_list(db, &sql, arena, ret_list, err);
}

/* Within a transaction. */
static int find(struct db *db, const char *id, uint64_t now_ms, struct arena *arena,
                struct approval *ret_approval, struct err *err)
{
    char whole[GRANT_ID_SIZE];

    if (sql_find_id(db, &kind, id, whole, err) < 0)
        return -1;
    int rc = read_one(db, "SELECT " COLUMNS ", plan FROM approvals WHERE id = ?2", now_ms, whole,
                      NULL, arena, ret_approval, err);
    if (rc == 0)
        (void) sql_damaged(db, "an index leads nowhere", err); /* always -1, as below */
    return rc > 0 ? 0 : -1;
}

int approvals_find(struct db *db, const char *id, uint64_t now_ms, struct arena *arena,
                   struct approval *ret_approval, struct err *err)
{
    _cleanup_(sql_end) struct transaction transaction = {0};

    if (sql_begin(db, SQL_LOOK, &transaction, err) < 0)
        return -1;
    return find(db, id, now_ms, arena, ret_approval, err);
}

int approvals_last(struct db *db, const char *holder, const struct digest *request, uint64_t now_ms,
                   struct arena *arena, struct approval *ret_approval, struct err *err)
{
    _cleanup_(sql_end) struct transaction transaction = {0};

    if (sql_begin(db, SQL_LOOK, &transaction, err) < 0)
        return -1;
    int rc = read_one(db,
                      "SELECT " COLUMNS ", plan FROM approvals WHERE NOT (" PENDING ") "
                      "AND holder = ?2 AND request = ?3 ORDER BY number DESC LIMIT 1",
                      now_ms, holder, request, arena, ret_approval, err);
    if (rc == 0)
        return err_set(err, ERR_NOT_FOUND, "nobody has answered that request yet");
    return rc < 0 ? -1 : 0;
}

/* ---- answering ------------------------------------------------------------------------------- */

/* -1 and who answered what and when, unless it is pending. */
static int check_pending(const struct approval *approval, struct err *err)
{
    char when[CLOCK_TEXT_SIZE];

    if (approval->state == APPROVAL_PENDING)
        return 0;
    if (approval->state == APPROVAL_EXPIRED) {
        clock_format(approval->expires_ms * NS_PER_MS, when);
        (void) err_set(err, ERR_REQUEST, "the request '%s' of '%s' expired at %s without an answer",
                       approval->id, approval->holder, when); /* -1, as below */
        return err_hint(err, "it is denied; the agent has to ask again");
    }
    clock_format(approval->answered_ms * NS_PER_MS, when);
    (void) err_set(err, ERR_REQUEST, "the request '%s' of '%s' was %s already, by %s at %s",
                   approval->id, approval->holder, approval_state_names[approval->state],
                   approval->answered_by ? approval->answered_by : "somebody",
                   when); /* -1, as below */
    if (approval->state == APPROVAL_APPROVED)
        return err_hint(err, "'wasp grant revoke' takes back what it granted");
    return err_hint(err, "the agent has to ask again, or grant it with 'wasp grant create'");
}

/* Within a transaction: as it is after the answer. */
static int answer(struct db *db, const char *id, enum approval_state state, const char *by,
                  uint64_t now_ms, struct arena *arena, struct approval *ret_approval,
                  struct err *err)
{
    _cleanup_(sql_release) struct sql sql = {0};
    struct approval approval;

    if (find(db, id, now_ms, arena, &approval, err) < 0 || check_pending(&approval, err) < 0 ||
        sql_prepare(db,
                    "UPDATE approvals SET state = ?, answered_ms = ?, answered_by = ? WHERE id = ?",
                    &sql, err) < 0)
        return -1;
    approval.state = state;
    approval.answered_ms = now_ms > 0 ? now_ms : 1; /* 0: not */
    approval.answered_by = arena_strdup(arena, by);
    if (!approval.answered_by)
        return err_no_memory(err);
    sql_bind_text(&sql, approval_state_names[state]);
    sql_bind_number(&sql, approval.answered_ms);
    sql_bind_text(&sql, by);
    sql_bind_text(&sql, approval.id);
    *ret_approval = approval;
    return sql_run(&sql, err);
}

/* What is granted, within what the request's policy allows. */
static int choose_terms(const struct approval *approval, uint64_t *ttl_ms, uint32_t *uses,
                        struct err *err)
{
    uint64_t max_ttl_ms = approval->max_ttl_ms ? approval->max_ttl_ms : GRANT_MAX_TTL_MS;
    uint32_t max_uses = approval->max_uses ? approval->max_uses : GRANT_MAX_USES;

    if (*ttl_ms == 0)
        *ttl_ms = max_ttl_ms < APPROVAL_TTL_MS ? max_ttl_ms : APPROVAL_TTL_MS;
    if (*uses == 0)
        *uses = 1;
    if (*ttl_ms > max_ttl_ms)
        return err_set(err, ERR_REQUEST,
                       "this request can be approved for %llu s at most, not %llu",
                       (unsigned long long) max_ttl_ms / 1000, (unsigned long long) *ttl_ms / 1000);
    if (*uses > max_uses)
        return err_set(err, ERR_REQUEST, "this request can be approved for %u uses at most, not %u",
                       max_uses, *uses);
    return 0;
}

static int grant_each(struct db *db, const struct approval *approval, uint64_t ttl_ms,
                      uint32_t uses, struct arena *arena, struct grant **ret_grants,
                      struct err *err)
{
    struct grant *grants = arena_array(arena, approval->n_items, sizeof(*grants));
    const char *id = arena_strdup(arena, approval->id);

    if (!grants || !id)
        return err_no_memory(err);
    for (size_t i = 0; i < approval->n_items; i++) {
        grants[i] = (struct grant){
            .holder = approval->holder,
            .capability = approval->items[i].capability,
            .scope = approval->items[i].scope,
            .created_ms = approval->answered_ms,
            .expires_ms = approval->answered_ms + ttl_ms,
            .uses_left = uses,
            .reason = approval->items[i].reason,
            .approved_by = approval->answered_by,
            .is_bound = true,
            .request = approval->request,
            .approval = id,
        };
        if (grants_add(db, &grants[i], err) < 0)
            return -1;
    }
    *ret_grants = grants;
    return 0;
}

int approvals_approve(struct db *db, const char *id, uint64_t ttl_ms, uint32_t uses, const char *by,
                      uint64_t now_ms, struct arena *arena, struct approval *ret_approval,
                      struct grant **ret_grants, size_t *ret_n_grants, struct err *err)
{
    _cleanup_(sql_end) struct transaction transaction = {0};
    struct approval approval;
    struct grant *grants;

    if (sql_begin(db, SQL_KEEP, &transaction, err) < 0 ||
        answer(db, id, APPROVAL_APPROVED, by, now_ms, arena, &approval, err) < 0 ||
        choose_terms(&approval, &ttl_ms, &uses, err) < 0 ||
        grant_each(db, &approval, ttl_ms, uses, arena, &grants, err) < 0 ||
        sql_commit(&transaction, err) < 0)
        return -1;
    *ret_approval = approval;
    *ret_grants = grants;
    *ret_n_grants = approval.n_items;
    return 0;
}

int approvals_deny(struct db *db, const char *id, const char *by, uint64_t now_ms,
                   struct arena *arena, struct approval *ret_approval, struct err *err)
{
    _cleanup_(sql_end) struct transaction transaction = {0};
    struct approval approval;

    if (sql_begin(db, SQL_KEEP, &transaction, err) < 0 ||
        answer(db, id, APPROVAL_DENIED, by, now_ms, arena, &approval, err) < 0 ||
        sql_commit(&transaction, err) < 0)
        return -1;
    *ret_approval = approval;
    return 0;
}

/* ---- expiring -------------------------------------------------------------------------------- */

#define EXPIRED "state = 'pending' AND expires_ms <= ?1"

static int has_expired(struct db *db, uint64_t now_ms, struct err *err)
{
    _cleanup_(sql_release) struct sql sql = {0};

    if (sql_prepare(db, "SELECT 1 FROM approvals WHERE " EXPIRED " LIMIT 1", &sql, err) < 0)
        return -1;
    sql_bind_number(&sql, now_ms);
    return sql_step(&sql, err);
}

static int take_expired(struct db *db, uint64_t now_ms, struct arena *arena,
                        struct approval_list *ret_list, struct err *err)
{
    _cleanup_(sql_release) struct sql list = {0}, mark = {0};

    if (sql_prepare(
            db, "SELECT " COLUMNS " FROM approvals WHERE " EXPIRED " ORDER BY expires_ms, number",
            &list, err) < 0 ||
        sql_prepare(db, "UPDATE approvals SET state = 'expired' WHERE " EXPIRED, &mark, err) < 0)
        return -1;
    sql_bind_number(&list, now_ms);
    sql_bind_number(&mark, now_ms);
    return read_list(db, &list, arena, ret_list, err) < 0 ? -1 : sql_run(&mark, err);
}

int approvals_take_expired(struct db *db, uint64_t now_ms, struct arena *arena,
                           struct approval_list *ret_list, struct err *err)
{
    _cleanup_(sql_end) struct transaction transaction = {0};
    struct approval_list found = {.items = NULL};
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
