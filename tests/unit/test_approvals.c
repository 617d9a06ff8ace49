/* Requests that wait for a person: filed, answered, expired; by several processes at once. */
#include "store_rig.h"

#include "store/sql.h"

#define END (RIG_T + 60000)

/* Files rig_request(which); the test goes on without its id if that fails, and fails. */
static struct approval ask(struct db *db, int which, uint64_t now_ms)
{
    struct approval approval = rig_request(which);
    struct err err;
    bool is_new;

    approval.expires_ms = now_ms < END ? END : now_ms + 60000;
    if (approvals_ask(db, &approval, now_ms, &is_new, &err) < 0)
        printf("# %s\n", err.message);
    return approval;
}

/* An approval that is asked for and answered with the same words each time. */
struct answer {
    struct approval approval;
    struct grant *grants;
    size_t n_grants;
    struct err err;
};

static int approve(struct db *db, const struct rig *rig, const char *id, uint64_t now_ms,
                   struct answer *ret_answer)
{
    *ret_answer = (struct answer){.n_grants = 0};
    return approvals_approve(db, id, 0, 0, "uid:7", now_ms, rig->arena, &ret_answer->approval,
                             &ret_answer->grants, &ret_answer->n_grants, &ret_answer->err);
}

static int deny(struct db *db, const struct rig *rig, const char *id, uint64_t now_ms,
                struct answer *ret_answer)
{
    *ret_answer = (struct answer){.n_grants = 0};
    return approvals_deny(db, id, "uid:8", now_ms, rig->arena, &ret_answer->approval,
                          &ret_answer->err);
}

static size_t count_pending(struct db *db, const struct rig *rig, uint64_t now_ms)
{
    struct approval_list list;
    struct err err;

    return approvals_list(db, true, now_ms, rig->arena, &list, &err) < 0 ? 999 : list.count;
}

static size_t count_grants(struct db *db, const struct rig *rig, uint64_t now_ms)
{
    struct grant_list list;
    struct err err;

    return grants_list(db, NULL, true, now_ms, rig->arena, &list, &err) < 0 ? 999 : list.count;
}

static void test_kept(const struct rig *rig)
{
    struct db *db = rig_open(rig);
    struct approval wanted = rig_request(1), found;
    struct approval_list list;
    struct err err;
    bool is_new = false;

    wanted.max_ttl_ms = 5000;
    wanted.max_uses = 3;
    ok(approvals_ask(db, &wanted, RIG_T, &is_new, &err) == 0 && is_new &&
           wanted.created_ms == RIG_T && wanted.state == APPROVAL_PENDING,
       "a request is filed");
    db_close(db);
    db = rig_open(rig);
    ok(approvals_find(db, wanted.id, RIG_T, rig->arena, &found, &err) == 0 &&
           strcmp(found.holder, "agent:a") == 0 && digest_equal(&found.request, &wanted.request) &&
           strcmp(found.summary, "git status") == 0 && strcmp(found.plan, wanted.plan) == 0 &&
           found.created_ms == RIG_T && found.expires_ms == END && found.max_ttl_ms == 5000 &&
           found.max_uses == 3 && found.state == APPROVAL_PENDING && found.answered_ms == 0 &&
           !found.answered_by,
       "it is found after a restart as it was");
    ok(found.n_items == 2 && found.items[0].capability == CAPABILITY_FS_READ &&
           strcmp(found.items[0].scope, "/home/x/papers") == 0 &&
           strcmp(found.items[0].rule, "user policy p.yaml:12") == 0 &&
           strcmp(found.items[0].reason, "papers are private") == 0 &&
           found.items[1].capability == CAPABILITY_EXEC_RUN && !found.items[1].rule,
       "with all it asks for, in that order");
    struct approval again = rig_request(1);
    again.expires_ms += 500;
    ok(approvals_ask(db, &again, RIG_T + 1, &is_new, &err) == 0 && !is_new &&
           strcmp(again.id, wanted.id) == 0 && again.created_ms == RIG_T && again.expires_ms == END,
       "asked again it is the same one, with its old times");
    struct approval other = rig_request(1);
    other.holder = "agent:b";
    ok(approvals_ask(db, &other, RIG_T + 1, &is_new, &err) == 0 && is_new,
       "another holder's is not");
    ok(approvals_list(db, true, RIG_T + 2, rig->arena, &list, &err) == 0 && list.count == 2 &&
           strcmp(list.items[0].id, wanted.id) == 0 && list.items[1].n_items == 2 &&
           !list.items[1].plan,
       "both are listed, the older first");
    ok(approvals_find(db, "00000000", RIG_T, rig->arena, &found, &err) < 0 &&
           err.code == ERR_NOT_FOUND && strstr(err.hint, "wasp approvals --all"),
       "one that is not there is not found: %s", err.message);
    char beginning[14];
    (void) snprintf(beginning, sizeof(beginning), "%.13s", other.id); /* cut on purpose */
    ok(approvals_find(db, beginning, RIG_T, rig->arena, &found, &err) == 0 &&
           strcmp(found.id, other.id) == 0,
       "the beginning of an id is enough");
    db_close(db);
}

static void test_approving(const struct rig *rig)
{
    _cleanup_db_ struct db *db = rig_open(rig);
    struct approval wanted = ask(db, 1, RIG_T), last;
    struct answer answer;
    struct err err;

    ok(approvals_last(db, "agent:a", &wanted.request, RIG_T, rig->arena, &last, &err) < 0 &&
           err.code == ERR_NOT_FOUND,
       "while it waits there is no answer");
    ok(approve(db, rig, wanted.id, RIG_T + 9, &answer) == 0 &&
           answer.approval.state == APPROVAL_APPROVED && answer.approval.answered_ms == RIG_T + 9 &&
           strcmp(answer.approval.answered_by, "uid:7") == 0,
       "it is approved");
    ok(answer.n_grants == 2 && answer.grants[0].capability == CAPABILITY_FS_READ &&
           strcmp(answer.grants[0].scope, "/home/x/papers") == 0 &&
           strcmp(answer.grants[1].scope, "/usr/bin/git status") == 0,
       "each thing it asks for is granted");
    bool are_alike = true;
    for (size_t i = 0; i < answer.n_grants; i++) {
        struct grant kept;
        const struct grant *made = &answer.grants[i];
        are_alike = are_alike && grants_find(db, made->id, rig->arena, &kept, &err) == 0 &&
                    kept.is_bound && digest_equal(&kept.request, &wanted.request) &&
                    strcmp(kept.approval, wanted.id) == 0 && kept.uses_left == 1 &&
                    kept.expires_ms == RIG_T + 9 + 600000 &&
                    strcmp(kept.approved_by, "uid:7") == 0 && strcmp(kept.holder, "agent:a") == 0;
    }
    ok(are_alike, "for this request alone, once, for ten minutes");
    ok(approvals_last(db, "agent:a", &wanted.request, RIG_T + 10, rig->arena, &last, &err) == 0 &&
           strcmp(last.id, wanted.id) == 0 && last.state == APPROVAL_APPROVED,
       "that is the last answer to it");
    ok(approve(db, rig, wanted.id, RIG_T + 11, &answer) < 0 && answer.err.code == ERR_REQUEST &&
           strstr(answer.err.message, "approved") && strstr(answer.err.message, "uid:7") &&
           strstr(answer.err.message, "2023-11-14T22:13:20.009Z"),
       "approved twice it says who did it and when: %s", answer.err.message);
    ok(deny(db, rig, wanted.id, RIG_T + 11, &answer) < 0 && answer.err.code == ERR_REQUEST,
       "nor can it be denied then: %s", answer.err.message);
    ok(count_grants(db, rig, RIG_T + 12) == 2, "and it granted nothing more");
    struct approval again = ask(db, 1, RIG_T + 13);
    ok(strcmp(again.id, wanted.id) != 0, "asked again it is another one, which waits");
}

static void test_denying(const struct rig *rig)
{
    _cleanup_db_ struct db *db = rig_open(rig);
    struct approval wanted = ask(db, 1, RIG_T), last;
    struct answer answer;
    struct err err;

    ok(deny(db, rig, wanted.id, RIG_T + 1, &answer) == 0 &&
           answer.approval.state == APPROVAL_DENIED,
       "a request is denied");
    ok(approve(db, rig, wanted.id, RIG_T + 2, &answer) < 0 && answer.err.code == ERR_REQUEST &&
           strstr(answer.err.message, "denied") && strstr(answer.err.message, "uid:8"),
       "and cannot be approved then: %s", answer.err.message);
    ok(count_grants(db, rig, RIG_T + 2) == 0 && count_pending(db, rig, RIG_T + 2) == 0,
       "nothing is granted, and nothing waits");
    ok(approvals_last(db, "agent:a", &wanted.request, RIG_T + 2, rig->arena, &last, &err) == 0 &&
           last.state == APPROVAL_DENIED,
       "that is the last answer");
    struct approval again = ask(db, 1, RIG_T + 3);
    ok(approvals_last(db, "agent:a", &wanted.request, RIG_T + 3, rig->arena, &last, &err) == 0 &&
           strcmp(last.id, wanted.id) == 0,
       "even while it is asked again");
    ok(approve(db, rig, again.id, RIG_T + 4, &answer) == 0 &&
           approvals_last(db, "agent:a", &wanted.request, RIG_T + 4, rig->arena, &last, &err) ==
               0 &&
           last.state == APPROVAL_APPROVED,
       "until that one is answered");
}

static void test_expiry(const struct rig *rig)
{
    _cleanup_db_ struct db *db = rig_open(rig);
    struct approval late = ask(db, 1, RIG_T), just = ask(db, 2, RIG_T), found;
    struct approval_list list;
    struct answer answer;
    struct err err;

    ok(count_pending(db, rig, END - 1) == 2, "it waits until its last millisecond");
    ok(approve(db, rig, just.id, END - 1, &answer) == 0, "and can be approved in it");
    ok(approve(db, rig, late.id, END, &answer) < 0 && answer.err.code == ERR_REQUEST &&
           strstr(answer.err.message, "expired"),
       "in the next it cannot: %s", answer.err.message);
    ok(deny(db, rig, late.id, END, &answer) < 0, "nor be denied");
    ok(count_pending(db, rig, END) == 0, "it waits no more");
    ok(approvals_find(db, late.id, END, rig->arena, &found, &err) == 0 &&
           found.state == APPROVAL_EXPIRED && !found.answered_by,
       "it is expired");
    ok(approvals_last(db, "agent:a", &late.request, END, rig->arena, &found, &err) == 0 &&
           found.state == APPROVAL_EXPIRED,
       "which is an answer, too");
    ok(approvals_take_expired(db, END - 1, rig->arena, &list, &err) == 0 && list.count == 0,
       "before its end it is not reported");
    ok(approvals_take_expired(db, END, rig->arena, &list, &err) == 0 && list.count == 1 &&
           strcmp(list.items[0].id, late.id) == 0 && list.items[0].n_items == 2,
       "then it is");
    ok(approvals_take_expired(db, END, rig->arena, &list, &err) == 0 && list.count == 0, "once");
    ok(approve(db, rig, late.id, END - 1, &answer) < 0,
       "a clock that is set back does not bring it back");
    ok(strcmp(ask(db, 1, END - 1).id, late.id) != 0, "nor is it found when it is asked again");
}

static void test_terms(const struct rig *rig)
{
    static const struct {
        uint64_t max_ttl_ms, ttl_ms, lasts_ms;
        uint32_t max_uses, uses, gets;
    } rows[] = {
        {0, 0, 600000, 0, 0, 1},
        {5000, 0, 5000, 9, 0, 1},
        {700000, 0, 600000, 1, 1, 1},
        {5000, 5000, 5000, 3, 3, 3},
        {5000, 5001, 0, 3, 3, 0},
        {5000, 5000, 0, 3, 4, 0},
        {0, GRANT_MAX_TTL_MS, GRANT_MAX_TTL_MS, 0, GRANT_MAX_USES, GRANT_MAX_USES},
        {0, GRANT_MAX_TTL_MS + 1, 0, 0, 1, 0},
        {0, 1, 0, 0, GRANT_MAX_USES + 1, 0},
    };
    _cleanup_db_ struct db *db = rig_open(rig);

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct approval wanted = rig_request((int) i), found;
        struct grant *grants = NULL;
        struct err err = {0};
        size_t n = 0;
        bool is_new;
        wanted.max_ttl_ms = rows[i].max_ttl_ms;
        wanted.max_uses = rows[i].max_uses;
        int asked = approvals_ask(db, &wanted, RIG_T, &is_new, &err);
        int rc = approvals_approve(db, wanted.id, rows[i].ttl_ms, rows[i].uses, "uid:7", RIG_T,
                                   rig->arena, &found, &grants, &n, &err);
        if (rows[i].gets > 0)
            ok(asked == 0 && rc == 0 && n == 2 && grants[1].uses_left == rows[i].gets &&
                   grants[1].expires_ms == RIG_T + rows[i].lasts_ms,
               "row %zu: the grants have the time and uses they may have", i);
        else
            ok(asked == 0 && rc < 0 && err.code == ERR_REQUEST &&
                   approvals_find(db, wanted.id, RIG_T, rig->arena, &found, &err) == 0 &&
                   found.state == APPROVAL_PENDING,
               "row %zu: more is refused, and it still waits", i);
    }
}

static void test_judging(const struct rig *rig)
{
    _cleanup_db_ struct db *db = rig_open(rig);
    _cleanup_free_ char *text = calloc(1, APPROVAL_MAX_BYTES + 1);
    struct approval_item items[APPROVAL_MAX_ITEMS + 1];
    struct approval wanted = rig_request(1);
    struct err err = {0};
    bool is_new;

    memset(text, 'x', APPROVAL_MAX_BYTES);
    for (size_t i = 0; i < ARRAY_SIZE(items); i++)
        items[i] = wanted.items[1];
    wanted.items = items;
    wanted.n_items = APPROVAL_MAX_ITEMS + 1;
    ok(approvals_ask(db, &wanted, RIG_T, &is_new, &err) < 0 && err.code == ERR_DENIED,
       "too many things at once are not asked for: %s", err.message);
    wanted.n_items = 0;
    ok(approvals_ask(db, &wanted, RIG_T, &is_new, &err) < 0, "nor is nothing at all");
    wanted.n_items = APPROVAL_MAX_ITEMS;
    ok(approvals_ask(db, &wanted, RIG_T, &is_new, &err) == 0, "as many as may be are");
    wanted = rig_request(2);
    wanted.plan = text;
    ok(approvals_ask(db, &wanted, RIG_T, &is_new, &err) < 0 && err.code == ERR_DENIED,
       "what is too long to be read is refused, not cut: %s", err.message);
    wanted.plan = text + 500;
    ok(approvals_ask(db, &wanted, RIG_T, &is_new, &err) == 0, "what is not is kept");
    wanted = rig_request(3);
    wanted.summary = "rm \xff";
    ok(approvals_ask(db, &wanted, RIG_T, &is_new, &err) < 0, "text that is not UTF-8 is refused");
    wanted = rig_request(4);
    wanted.expires_ms = RIG_T;
    ok(approvals_ask(db, &wanted, RIG_T, &is_new, &err) < 0 && err.code == ERR_REQUEST,
       "so is one that has expired before it begins");
    ok(count_pending(db, rig, RIG_T) == 2, "and none of those waits");
}

static void test_bounds(const struct rig *rig)
{
    _cleanup_db_ struct db *db = rig_open(rig);
    struct approval one = {.id = ""};
    struct approval wanted = rig_request(1000);
    struct answer answer;
    struct err err = {0};
    bool is_new;

    for (int i = 0; i < APPROVAL_MAX_PENDING; i++)
        one = ask(db, i, RIG_T);
    ok(count_pending(db, rig, RIG_T) == APPROVAL_MAX_PENDING,
       "an agent can have 100 requests wait");
    ok(approvals_ask(db, &wanted, RIG_T, &is_new, &err) < 0 && err.code == ERR_DENIED &&
           strstr(err.message, "100 requests of 'agent:a'"),
       "but not one more: %s", err.message);
    struct approval same = rig_request(5);
    ok(approvals_ask(db, &same, RIG_T, &is_new, &err) == 0 && !is_new,
       "asking for one again it can");
    wanted.holder = "agent:b";
    ok(approvals_ask(db, &wanted, RIG_T, &is_new, &err) == 0, "another agent has its own hundred");
    wanted.holder = "agent:a";
    ok(deny(db, rig, one.id, RIG_T, &answer) == 0 &&
           approvals_ask(db, &wanted, RIG_T, &is_new, &err) == 0,
       "an answer makes room");
    wanted = rig_request(1001);
    wanted.expires_ms = END + 1;
    ok(approvals_ask(db, &wanted, END - 1, &is_new, &err) < 0, "while they wait there is none");
    ok(approvals_ask(db, &wanted, END, &is_new, &err) == 0, "and when they have expired there is");
}

static void test_forgetting(const struct rig *rig)
{
    _cleanup_db_ struct db *db = rig_open(rig);
    struct approval first = ask(db, 0, RIG_T), second = {.id = ""}, found;
    struct approval_list list;
    struct answer answer;
    struct err err = {0};

    (void) approve(db, rig, first.id, RIG_T, &answer); /* what follows finds it */
    for (int i = 1; i <= APPROVAL_MAX_KEPT + 1; i++) {
        struct approval next = ask(db, i, RIG_T);
        if (i == 1)
            second = next;
        (void) deny(db, rig, next.id, RIG_T, &answer); /* likewise */
    }
    ok(approvals_find(db, second.id, RIG_T, rig->arena, &found, &err) == 0,
       "old answers are kept as long as there are not too many");
    (void) ask(db, 9999, RIG_T); /* likewise */
    ok(approvals_find(db, second.id, RIG_T, rig->arena, &found, &err) < 0 &&
           err.code == ERR_NOT_FOUND,
       "then the oldest goes, with what it asked for");
    ok(approvals_find(db, first.id, RIG_T, rig->arena, &found, &err) == 0,
       "but not while a grant of it is kept");
    for (int i = 0; i < 8 * APPROVAL_MAX_PENDING; i++)
        (void) ask(db, 10000 + i,
                   RIG_T + (uint64_t) (1 + i / APPROVAL_MAX_PENDING) * 60000); /* likewise */
    int rc = approvals_list(db, false, RIG_T, rig->arena, &list, &err);
    ok(rc == 0 && list.count <= APPROVAL_MAX_KEPT + APPROVAL_MAX_PENDING + 2,
       "the list is bounded, even if nobody reports what expires: %zu", list.count);
}

static void test_revoked(const struct rig *rig)
{
    _cleanup_db_ struct db *db = rig_open(rig);
    struct approval wanted = ask(db, 1, RIG_T);
    struct answer answer;
    struct grant revoked;
    struct err err = {0};

    (void) approve(db, rig, wanted.id, RIG_T, &answer); /* what follows uses it */
    const struct grant *both[] = {&answer.grants[0], &answer.grants[1]};
    ok(grants_revoke(db, both[1]->id, RIG_T + 1, rig->arena, &revoked, &err) == 0,
       "one of the grants is revoked");
    ok(grants_use(db, both, 2, RIG_T + 2, &err) < 0 && err.code == ERR_DENIED,
       "then the request cannot use them");
    ok(grants_use(db, both, 1, RIG_T + 2, &err) == 0, "and nothing was taken of the other");
}

/* ---- several at once ------------------------------------------------------------------------- */

static int answer_first(const struct rig *rig, int number)
{
    _cleanup_db_ struct db *db = rig_open(rig);
    struct approval_list list;
    struct answer answer;
    struct err err;

    if (approvals_list(db, false, RIG_T, rig->arena, &list, &err) < 0 || list.count != 1)
        return 98;
    int rc = number % 2 ? approve(db, rig, list.items[0].id, RIG_T, &answer)
                        : deny(db, rig, list.items[0].id, RIG_T, &answer);
    return rc == 0 ? 0 : answer.err.code == ERR_REQUEST ? 2 : 97;
}

static int ask_same(const struct rig *rig, int number)
{
    _cleanup_db_ struct db *db = rig_open(rig);
    struct approval wanted = rig_request(1);
    struct err err;
    bool is_new = false;

    (void) number;
    return approvals_ask(db, &wanted, RIG_T, &is_new, &err) < 0 ? 98 : is_new;
}

static int take_all(const struct rig *rig, int number)
{
    _cleanup_db_ struct db *db = rig_open(rig);
    struct approval_list list;
    struct err err;

    (void) number;
    return approvals_take_expired(db, END, rig->arena, &list, &err) < 0 ? 98 : (int) list.count;
}

static void test_races(const struct rig *rig)
{
    struct db *db;

    ok(rig_race(rig, 20, ask_same, 1) == 1, "one of 20 processes files the request they all have");
    ok(rig_race(rig, 20, ask_same, 0) == 20, "and the others find it");
    ok(rig_race(rig, 20, answer_first, 0) == 1, "one of 20 answers it");
    ok(rig_race(rig, 4, answer_first, 2) == 4, "and the others come too late");
    db = rig_open(rig);
    size_t grants = count_grants(db, rig, RIG_T);
    ok(grants == 0 || grants == 2, "so that there are the grants of one answer or none: %zu",
       grants);
    (void) ask(db, 2, RIG_T); /* what follows takes it */
    db_close(db);
    ok(rig_race(rig, 20, take_all, 1) == 1, "one of 20 reports what expired");
}

int main(void)
{
    static void (*const tests[])(const struct rig *rig) = {
        test_kept,    test_approving, test_denying,    test_expiry,  test_terms,
        test_judging, test_bounds,    test_forgetting, test_revoked, test_races,
    };

    for (size_t i = 0; i < ARRAY_SIZE(tests); i++) {
        struct rig rig;
        rig_init(&rig);
        tests[i](&rig);
        rig_release(&rig);
    }
    return done();
}
