/* Grants: made, used, expired, revoked; by several processes at once. */
#include "store_rig.h"

#include "store/sql.h"

static int use(struct db *db, const struct grant *grant, uint64_t now_ms, struct err *err)
{
    return grants_use(db, &grant, 1, now_ms, err);
}

static bool holds(struct db *db, const struct grant *grant, uint64_t now_ms)
{
    bool hold = false;
    size_t which = 9;
    struct err err;

    return grants_hold(db, &grant, 1, now_ms, &hold, &which, &err) == 0 && hold == (which == 9) &&
           hold;
}

static size_t count(struct db *db, const struct rig *rig, const char *holder, bool usable_only,
                    uint64_t now_ms)
{
    struct grant_list list;
    struct err err;

    return grants_list(db, holder, usable_only, now_ms, rig->arena, &list, &err) < 0 ? 999
                                                                                     : list.count;
}

static void test_kept(const struct rig *rig)
{
    struct db *db = rig_open(rig);
    struct grant grant = rig_grant(), found;
    struct err err;

    grant.reason = "a \xe2\x80\xae reason \\ 'quoted'; DROP TABLE grants;";
    grant.is_bound = true;
    memset(grant.request.bytes, 7, DIGEST_BYTES);
    ok(grants_create(db, &grant, &err) == 0 && strlen(grant.id) == 36, "a grant gets an id");
    db_close(db);
    db = rig_open(rig);
    ok(grants_find(db, grant.id, rig->arena, &found, &err) == 0, "it is found after a restart");
    ok(strcmp(found.id, grant.id) == 0 && strcmp(found.holder, "agent:a") == 0 &&
           found.capability == CAPABILITY_FS_READ && strcmp(found.scope, "/data") == 0 &&
           found.created_ms == RIG_T && found.expires_ms == RIG_T + 60000 && found.uses_left == 1 &&
           found.uses == 0 && strcmp(found.reason, grant.reason) == 0 &&
           strcmp(found.approved_by, "uid:1000") == 0 && found.is_bound &&
           digest_equal(&found.request, &grant.request) && !found.approval && found.revoked_ms == 0,
       "as it was made");
    struct grant plain = rig_grant();
    ok(grants_create(db, &plain, &err) == 0 &&
           grants_find(db, plain.id, rig->arena, &found, &err) == 0 && !found.is_bound &&
           !found.reason,
       "what was not said is not there");
    db_close(db);
}

static void test_refused(const struct rig *rig)
{
    _cleanup_db_ struct db *db = rig_open(rig);
    _cleanup_free_ char *long_text = calloc(1, GRANT_MAX_SCOPE + 2);
    struct err err = {0};

    memset(long_text, 'x', GRANT_MAX_SCOPE + 1);
    const struct {
        const char *what;
        uint64_t expires_ms;
        uint32_t uses;
        const char *scope, *reason;
        bool is_fine;
    } rows[] = {
        {"no time", RIG_T, 1, "/", NULL, false},
        {"a time before now", RIG_T - 1, 1, "/", NULL, false},
        {"one millisecond", RIG_T + 1, 1, "/", NULL, true},
        {"a year", RIG_T + GRANT_MAX_TTL_MS, 1, "/", NULL, true},
        {"more than a year", RIG_T + GRANT_MAX_TTL_MS + 1, 1, "/", NULL, false},
        {"no use", RIG_T + 1, 0, "/", NULL, false},
        {"a million uses", RIG_T + 1, GRANT_MAX_USES, "/", NULL, true},
        {"more uses", RIG_T + 1, GRANT_MAX_USES + 1, "/", NULL, false},
        {"the longest scope", RIG_T + 1, 1, long_text + 1, NULL, true},
        {"a longer scope", RIG_T + 1, 1, long_text, NULL, false},
        {"the longest reason", RIG_T + 1, 1, "/",
         long_text + GRANT_MAX_SCOPE + 1 - GRANT_MAX_REASON, true},
        {"a longer reason", RIG_T + 1, 1, "/", long_text + GRANT_MAX_SCOPE - GRANT_MAX_REASON,
         false},
        {"a scope that is not UTF-8", RIG_T + 1, 1, "/\xff", NULL, false},
        {"a reason that is not UTF-8", RIG_T + 1, 1, "/", "\xff", false},
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct grant grant = rig_grant();
        grant.expires_ms = rows[i].expires_ms;
        grant.uses_left = rows[i].uses;
        grant.scope = rows[i].scope;
        grant.reason = rows[i].reason;
        int rc = grants_create(db, &grant, &err);
        ok(rows[i].is_fine ? rc == 0 : rc < 0 && err.code == ERR_REQUEST, "a grant of %s is %s",
           rows[i].what, rows[i].is_fine ? "kept" : "refused");
    }
}

static void test_expiry(const struct rig *rig)
{
    _cleanup_db_ struct db *db = rig_open(rig);
    struct grant grant = rig_grant();
    struct err err = {0};

    grant.uses_left = 3;
    (void) grants_create(db, &grant, &err); /* what follows finds it */
    ok(use(db, &grant, RIG_T + 59999, &err) == 0, "it is used in its last millisecond");
    ok(use(db, &grant, RIG_T + 60000, &err) < 0 && err.code == ERR_DENIED &&
           strstr(err.message, "expired"),
       "and not in the next: %s", err.message);
    ok(count(db, rig, "agent:a", true, RIG_T + 59999) == 1, "it is listed until then");
    ok(count(db, rig, "agent:a", true, RIG_T + 60000) == 0, "and then no more");
    ok(count(db, rig, "agent:a", false, RIG_T + 60000) == 1, "but with all that there are");
    ok(holds(db, &grant, RIG_T + 59999), "it holds until then");
    ok(!holds(db, &grant, RIG_T + 60000), "and then no more");
}

static void test_uses(const struct rig *rig)
{
    _cleanup_db_ struct db *db = rig_open(rig);
    struct grant one = rig_grant(), two = rig_grant(), found;
    struct err err = {0};

    two.uses_left = 2;
    (void) grants_create(db, &one, &err); /* what follows finds them */
    (void) grants_create(db, &two, &err);
    const struct grant *both[] = {&one, &two, &one};
    ok(grants_use(db, both, 3, RIG_T, &err) == 0,
       "two grants are used at once, one of them named twice");
    ok(grants_find(db, one.id, rig->arena, &found, &err) == 0 && found.uses_left == 0 &&
           found.uses == 1,
       "it was used once");
    ok(grants_use(db, both, 2, RIG_T, &err) < 0 && err.code == ERR_DENIED &&
           strstr(err.message, "spent") && strstr(err.message, one.id),
       "one that is spent refuses both: %s", err.message);
    const struct grant *reverse[] = {&two, &one};
    ok(grants_use(db, reverse, 2, RIG_T, &err) < 0, "whatever their order");
    ok(grants_find(db, two.id, rig->arena, &found, &err) == 0 && found.uses_left == 1 &&
           found.uses == 1,
       "and nothing was taken of the other");
    ok(holds(db, &one, RIG_T + 1), "a spent grant still holds what was begun with it");
    ok(count(db, rig, NULL, true, RIG_T) == 1, "but is not offered any more");
    struct grant gone = rig_grant();
    memset(gone.id, '0', GRANT_ID_SIZE - 1);
    ok(use(db, &gone, RIG_T, &err) < 0 && err.code == ERR_DENIED,
       "one that is not there is refused");
    ok(!holds(db, &gone, RIG_T), "and does not hold");
}

static void test_revoking(const struct rig *rig)
{
    _cleanup_db_ struct db *db = rig_open(rig);
    struct grant grant = rig_grant(), found;
    struct err err = {0};
    bool hold = true;
    size_t which = 9;

    grant.uses_left = 5;
    (void) grants_create(db, &grant, &err); /* what follows finds it */
    ok(use(db, &grant, RIG_T, &err) == 0 && holds(db, &grant, RIG_T + 1), "it can be used");
    ok(grants_revoke(db, grant.id, RIG_T + 2, rig->arena, &found, &err) == 0 &&
           found.revoked_ms == RIG_T + 2 && found.uses_left == 4,
       "it is revoked");
    ok(use(db, &grant, RIG_T + 3, &err) < 0 && err.code == ERR_DENIED &&
           strstr(err.message, "revoked"),
       "and cannot be used any more: %s", err.message);
    struct grant other = rig_grant();
    (void) grants_create(db, &other, &err); /* as above */
    const struct grant *both[] = {&other, &grant};
    ok(grants_hold(db, both, 2, RIG_T + 3, &hold, &which, &err) == 0 && !hold && which == 1,
       "nor does it hold, and is named");
    ok(grants_revoke(db, grant.id, RIG_T + 4, rig->arena, &found, &err) < 0 &&
           err.code == ERR_REQUEST && strstr(err.message, "2023-11-14T22:13:20.002Z"),
       "a second time it is told when it was: %s", err.message);
    ok(count(db, rig, "agent:a", true, RIG_T + 5) == 1 &&
           count(db, rig, "agent:b", true, RIG_T + 5) == 0,
       "the list is the holder's, without it");
}

static void test_ids(const struct rig *rig)
{
    _cleanup_db_ struct db *db = rig_open(rig);
    struct grant grant = rig_grant(), other = rig_grant(), found;
    struct err err = {0};
    char text[64];

    (void) grants_create(db, &grant, &err); /* what follows finds them */
    other.created_ms += 65536ULL * 4;
    other.expires_ms += 65536ULL * 4;
    (void) grants_create(db, &other, &err);
    for (int len = 8; len <= 36; len += 7) {
        (void) snprintf(text, sizeof(text), "%.*s", len, grant.id);
        ok(grants_find(db, text, rig->arena, &found, &err) == 0 && strcmp(found.id, grant.id) == 0,
           "the first %d characters of an id find it", len);
    }
    (void) snprintf(text, sizeof(text), "%.7s", grant.id);
    ok(grants_find(db, text, rig->arena, &found, &err) < 0 && err.code == ERR_REQUEST,
       "fewer than eight do not: %s", err.message);
    (void) snprintf(text, sizeof(text), "%.13s", grant.id);
    for (char *c = text; *c; c++)
        *c = (char) (*c >= 'a' ? *c - 'a' + 'A' : *c);
    ok(grants_find(db, text, rig->arena, &found, &err) == 0, "capitals do");
    struct grant same = rig_grant();
    (void) grants_create(db, &same, &err); /* as above */
    (void) snprintf(text, sizeof(text), "%.13s", grant.id);
    ok(grants_find(db, text, rig->arena, &found, &err) < 0 && err.code == ERR_REQUEST &&
           strstr(err.message, "more than one"),
       "a beginning of two is refused: %s", err.message);
    ok(grants_find(db, grant.id, rig->arena, &found, &err) == 0, "a whole one never is");
    static const char *const bad[] = {"",
                                      "%%%%%%%%%",
                                      "________",
                                      "' OR 1=1 --",
                                      "0188*",
                                      "g1234567",
                                      "00000000-0000-7000-8000-0000000000000"};
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        ok(grants_find(db, bad[i], rig->arena, &found, &err) < 0 && err.code == ERR_REQUEST,
           "'%s' is no id", bad[i]);
    ok(grants_find(db, "00000000", rig->arena, &found, &err) < 0 && err.code == ERR_NOT_FOUND &&
           strstr(err.hint, "wasp grant list"),
       "one that is not there is not found: %s (%s)", err.message, err.hint);
}

static void test_reporting(const struct rig *rig)
{
    _cleanup_db_ struct db *db = rig_open(rig);
    struct grant unused = rig_grant(), spent = rig_grant(), revoked = rig_grant(),
                 partly = rig_grant();
    struct grant_list list;
    struct grant found;
    struct err err = {0};

    partly.uses_left = 2;
    (void) grants_create(db, &unused, &err); /* what follows finds them */
    (void) grants_create(db, &spent, &err);
    (void) grants_create(db, &revoked, &err);
    (void) grants_create(db, &partly, &err);
    (void) use(db, &spent, RIG_T, &err);
    (void) use(db, &partly, RIG_T, &err);
    (void) grants_revoke(db, revoked.id, RIG_T, rig->arena, &found, &err);
    ok(grants_take_expired(db, RIG_T + 59999, rig->arena, &list, &err) == 0 && list.count == 0,
       "before it expired nothing is reported");
    ok(grants_take_expired(db, RIG_T + 60000, rig->arena, &list, &err) == 0 && list.count == 2 &&
           strcmp(list.items[0].id, unused.id) == 0 && strcmp(list.items[1].id, partly.id) == 0 &&
           list.items[1].uses == 1,
       "those that were neither spent nor revoked are reported");
    ok(grants_take_expired(db, RIG_T + 60000, rig->arena, &list, &err) == 0 && list.count == 0,
       "and only once");
    ok(use(db, &unused, RIG_T + 1, &err) < 0 && !holds(db, &unused, RIG_T + 1),
       "what was reported is over, even if the clock is set back");
}

static void test_forgetting(const struct rig *rig)
{
    _cleanup_db_ struct db *db = rig_open(rig);
    struct grant old = rig_grant(), unreported = rig_grant(), later = rig_grant(), found;
    struct err err = {0};

    (void) grants_create(db, &old, &err); /* what follows finds them */
    (void) use(db, &old, RIG_T, &err);
    (void) grants_create(db, &unreported, &err);
    later.created_ms = old.expires_ms + GRANT_KEPT_MS;
    later.expires_ms = later.created_ms + 1;
    (void) grants_create(db, &later, &err);
    ok(grants_find(db, old.id, rig->arena, &found, &err) == 0,
       "one that ended is kept for a month");
    later.created_ms++;
    later.expires_ms++;
    (void) grants_create(db, &later, &err);
    ok(grants_find(db, old.id, rig->arena, &found, &err) < 0, "and then it goes");
    ok(grants_find(db, unreported.id, rig->arena, &found, &err) == 0,
       "but not before its end was reported");
}

/* ---- several at once ------------------------------------------------------------------------- */

static int use_first(const struct rig *rig, int number)
{
    _cleanup_db_ struct db *db = rig_open(rig);
    struct grant_list list;
    struct err err = {0};

    (void) number;
    if (grants_list(db, NULL, false, RIG_T, rig->arena, &list, &err) < 0 || list.count != 1)
        return 98;
    return use(db, &list.items[0], RIG_T, &err) == 0 ? 0 : err.code == ERR_DENIED ? 77 : 97;
}

static int take_first(const struct rig *rig, int number)
{
    _cleanup_db_ struct db *db = rig_open(rig);
    struct grant_list list;
    struct err err;

    (void) number;
    return grants_take_expired(db, RIG_T + 60000, rig->arena, &list, &err) < 0 ? 98
                                                                               : (int) list.count;
}

static int revoke_first(const struct rig *rig, int number)
{
    _cleanup_db_ struct db *db = rig_open(rig);
    struct grant_list list;
    struct grant found;
    struct err err = {0};

    (void) number;
    if (grants_list(db, NULL, false, RIG_T, rig->arena, &list, &err) < 0 || list.count != 1)
        return 98;
    int rc = grants_revoke(db, list.items[0].id, RIG_T, rig->arena, &found, &err);
    return rc == 0 ? 0 : err.code == ERR_REQUEST ? 2 : 97;
}

static void test_races(const struct rig *rig)
{
    struct grant grant = rig_grant(), found;
    struct err err = {0};
    struct db *db = rig_open(rig);

    grant.uses_left = 21;
    (void) grants_create(db, &grant, &err); /* what follows finds it */
    db_close(db);
    ok(rig_race(rig, 50, use_first, 0) == 20 + 1,
       "of 50 processes at once exactly 21 get their use");
    ok(rig_race(rig, 10, use_first, 77) == 10, "those after them are denied");
    db = rig_open(rig);
    ok(grants_find(db, grant.id, rig->arena, &found, &err) == 0 && found.uses_left == 0 &&
           found.uses == 21,
       "and the numbers are right");
    ok(sql_do(db, "UPDATE grants SET uses_left = 1", &err) == 0, "with a use put back");
    db_close(db);
    ok(rig_race(rig, 20, take_first, 1) == 1, "one of 20 processes reports that it expired");
    ok(rig_race(rig, 20, revoke_first, 0) == 1, "one of 20 revokes it");
    ok(rig_race(rig, 5, revoke_first, 2) == 5, "the others are told that it was");
}

int main(void)
{
    static void (*const tests[])(const struct rig *rig) = {
        test_kept, test_refused,   test_expiry,     test_uses,  test_revoking,
        test_ids,  test_reporting, test_forgetting, test_races,
    };

    for (size_t i = 0; i < ARRAY_SIZE(tests); i++) {
        struct rig rig;
        rig_init(&rig);
        tests[i](&rig);
        rig_release(&rig);
    }
    return done();
}
