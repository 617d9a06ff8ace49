/* Hourly numbers: exact to the millisecond, across processes and restarts. */
#include "store_rig.h"

#define WINDOW COUNTERS_WINDOW_MS

static int use(struct db *db, enum capability capability, int per_hour, uint64_t now_ms)
{
    struct counter counter = {capability, per_hour, 0};
    struct err err;

    if (counters_use(db, "agent:a", &counter, 1, now_ms, NULL, &err) == 0)
        return 0;
    return err.code == ERR_DENIED ? 77 : 1;
}

static int use_once(const struct rig *rig, int number)
{
    _cleanup_db_ struct db *db = rig_open(rig);

    return use(db, CAPABILITY_EXEC_RUN, 20, RIG_T + (uint64_t) number);
}

static void test_edge(const struct rig *rig)
{
    struct db *db = rig_open(rig);

    ok(use(db, CAPABILITY_EXEC_RUN, 2, RIG_T) == 0, "the first use is within the number");
    ok(use(db, CAPABILITY_EXEC_RUN, 2, RIG_T + 10) == 0, "the last one is, too");
    ok(use(db, CAPABILITY_EXEC_RUN, 2, RIG_T + 11) == 77, "one more is refused");
    ok(use(db, CAPABILITY_NET_HTTP, 2, RIG_T + 11) == 0, "another capability has its own number");
    db_close(db);
    db = rig_open(rig);
    ok(use(db, CAPABILITY_EXEC_RUN, 2, RIG_T + WINDOW - 1) == 77,
       "a use counts until the last millisecond of its hour, and outlives a restart");
    ok(use(db, CAPABILITY_EXEC_RUN, 2, RIG_T + WINDOW) == 0, "an hour later there is room again");
    ok(use(db, CAPABILITY_EXEC_RUN, 2, RIG_T + WINDOW) == 77, "but only for one: the second stays");
    ok(use(db, CAPABILITY_EXEC_RUN, 2, RIG_T + WINDOW + 9) == 77, "until its own last millisecond");
    ok(use(db, CAPABILITY_EXEC_RUN, 2, RIG_T + WINDOW + 10) == 0, "then there is room for another");
    ok(use(db, CAPABILITY_EXEC_RUN, 3, RIG_T + WINDOW + 10) == 0,
       "a higher number counts the same uses");
    ok(use(db, CAPABILITY_EXEC_RUN, 1, RIG_T + WINDOW + 11) == 77, "so does a lower one");
    db_close(db);
}

static void test_refusal(const struct rig *rig)
{
    _cleanup_db_ struct db *db = rig_open(rig);
    struct counter two[] = {{CAPABILITY_CODE_RUN, 5, 0}, {CAPABILITY_ENV_SET, 1, 0}};
    struct err err = {0};
    size_t which = 99;

    ok(counters_use(db, "agent:b", two, 2, RIG_T, &which, &err) == 0 && which == 99,
       "several are counted together");
    ok(counters_use(db, "agent:b", two, 2, RIG_T + 5, &which, &err) < 0 && which == 1,
       "one that is used up refuses all, and is named");
    ok(two[1].free_ms == RIG_T + WINDOW, "it tells when there is room again");
    ok(strstr(err.message, "env_set") && strstr(err.message, "2023-11-14T23:13:20.000Z") &&
           err.code == ERR_DENIED,
       "so does the message: %s", err.message);
    for (int i = 0; i < 4; i++)
        if (counters_use(db, "agent:b", two, 1, RIG_T + 6, NULL, &err) < 0)
            which = 7;
    ok(which == 1, "none of them was counted then");
    ok(counters_use(db, "agent:b", two, 1, RIG_T + 6, NULL, &err) < 0,
       "all that were, are counted");
    struct counter never = {CAPABILITY_FS_READ, 0, 0};
    ok(counters_use(db, "agent:b", &never, 1, RIG_T, NULL, &err) < 0 && never.free_ms == UINT64_MAX,
       "the number 0 means never");
    struct counter twice[] = {{CAPABILITY_FS_WRITE, 1, 0}, {CAPABILITY_FS_WRITE, 1, 0}};
    ok(counters_use(db, "agent:b", twice, 2, RIG_T, &which, &err) < 0 && which == 1,
       "the same capability twice is two uses");
    ok(counters_use(db, "agent:b", twice, 1, RIG_T, NULL, &err) == 0, "and none was counted");
}

static void test_any(const struct rig *rig)
{
    _cleanup_db_ struct db *db = rig_open(rig);
    int failed = 0;

    for (int i = 0; i < 300; i++)
        failed += use(db, CAPABILITY_FS_WRITE, PER_HOUR_ANY, RIG_T + (uint64_t) i) != 0;
    ok(failed == 0, "without a number there may be any");
    ok(use(db, CAPABILITY_FS_WRITE, 300, RIG_T + 300) == 77, "they are counted all the same");
    ok(use(db, CAPABILITY_FS_WRITE, 301, RIG_T + 300) == 0, "exactly");
}

static void test_clock(const struct rig *rig)
{
    _cleanup_db_ struct db *db = rig_open(rig);
    uint64_t year = RIG_T + 365ULL * 24 * WINDOW;

    ok(use(db, CAPABILITY_EXEC_RUN, 1, year) == 0, "a clock that is a year ahead");
    ok(use(db, CAPABILITY_EXEC_RUN, 1, RIG_T) == 77, "and set back frees nobody of a use");
    ok(use(db, CAPABILITY_EXEC_RUN, 1, RIG_T + WINDOW - 1) == 77, "for an hour from then");
    ok(use(db, CAPABILITY_EXEC_RUN, 1, RIG_T + WINDOW) == 0, "and not for the whole year");
    ok(use(db, CAPABILITY_NET_HTTP, 1, 5) == 0, "a clock that begins in 1970 counts, too");
    ok(use(db, CAPABILITY_NET_HTTP, 1, 6) == 77, "as any other");
}

int main(void)
{
    static void (*const tests[])(const struct rig *rig) = {test_edge, test_refusal, test_any,
                                                           test_clock};
    struct rig rig;

    for (size_t i = 0; i < ARRAY_SIZE(tests); i++) {
        rig_init(&rig);
        tests[i](&rig);
        rig_release(&rig);
    }
    rig_init(&rig);
    ok(rig_race(&rig, 50, use_once, 0) == 20, "of 50 processes at once exactly 20 get their use");
    ok(rig_race(&rig, 50, use_once, 77) == 50, "and after them none");
    rig_release(&rig);
    return done();
}
