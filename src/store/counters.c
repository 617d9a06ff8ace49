#include "store/counters.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "store/sql.h"

/* Of one holder and capability, and more where a limit is higher: nobody asks how often beyond. */
#define KEPT 10000

struct use {
    uint64_t number; /* 0: there is none */
    uint64_t at_ms;
};

/* The newest use, or the one with that number. */
static int find_use(struct db *db, const char *holder, const char *capability, uint64_t number,
                    struct use *ret_use, struct err *err)
{
    _cleanup_(sql_release) struct sql sql = {0};

    if (sql_prepare(db,
                    number ? "SELECT number, at_ms FROM uses WHERE holder = ? AND capability = ? "
                             "AND number = ?"
                           : "SELECT number, at_ms FROM uses WHERE holder = ? AND capability = ? "
                             "ORDER BY number DESC LIMIT 1",
                    &sql, err) < 0)
        return -1;
    sql_bind_text(&sql, holder);
    sql_bind_text(&sql, capability);
    if (number)
        sql_bind_number(&sql, number);
    int rc = sql_step(&sql, err);
    if (rc < 0)
        return -1;
    *ret_use = (struct use){0};
    if (rc > 0)
        *ret_use = (struct use){sql_number(&sql, 0, INT64_MAX), sql_number(&sql, 1, INT64_MAX)};
    return sql_row_end(&sql, err);
}

/* Always -1. free_ms UINT64_MAX: never. */
static int refuse(const char *holder, const struct counter *counter, struct err *err)
{
    const char *name = capability_rows[counter->capability].name;
    char when[CLOCK_TEXT_SIZE];

    if (counter->free_ms == UINT64_MAX) {
        (void) err_set(err, ERR_DENIED, "'%s' may not use %s at all: its hourly number is 0",
                       holder, name); /* -1, as below */
        return err_hint(err, "the owner raises approval.per_hour in the policy");
    }
    clock_format(counter->free_ms * NS_PER_MS, when);
    (void) err_set(err, ERR_DENIED,
                   "'%s' has used %s %d times within an hour, which is all it may: there is room "
                   "again at %s",
                   holder, name, counter->per_hour, when); /* -1, as below */
    return err_hint(err, "wait until then, or the owner raises approval.per_hour in the policy");
}

/* A use counts while now_ms < at_ms + COUNTERS_WINDOW_MS. */
static int check(struct db *db, const char *holder, struct counter *counter,
                 const struct use *newest, uint64_t now_ms, struct err *err)
{
    uint64_t n = counter->per_hour < 0 ? 0 : (uint64_t) counter->per_hour;
    struct use oldest; /* of those that fill the number */

    counter->free_ms = UINT64_MAX;
    if (counter->per_hour == 0)
        return refuse(holder, counter, err);
    if (counter->per_hour == PER_HOUR_ANY || newest->number < n)
        return 0;
    if (find_use(db, holder, capability_rows[counter->capability].name, newest->number - n + 1,
                 &oldest, err) < 0)
        return -1;
    if (oldest.number == 0 || oldest.at_ms + COUNTERS_WINDOW_MS <= now_ms)
        return 0;
    counter->free_ms = oldest.at_ms + COUNTERS_WINDOW_MS;
    return refuse(holder, counter, err);
}

static int count(struct db *db, const char *holder, const struct counter *counter,
                 const struct use *newest, uint64_t now_ms, struct err *err)
{
    _cleanup_(sql_release) struct sql add = {0}, trim = {0};
    const char *name = capability_rows[counter->capability].name;
    uint64_t number = newest->number + 1;
    uint64_t kept = counter->per_hour > KEPT ? (uint64_t) counter->per_hour : KEPT;

    if (sql_prepare(db, "INSERT INTO uses VALUES (?, ?, ?, ?)", &add, err) < 0 ||
        sql_prepare(db, "DELETE FROM uses WHERE holder = ? AND capability = ? AND number <= ?",
                    &trim, err) < 0)
        return -1;
    sql_bind_text(&add, holder);
    sql_bind_text(&add, name);
    sql_bind_number(&add, number);
    /* another process may have had a later look at the clock, and its turn before us */
    sql_bind_number(&add, now_ms > newest->at_ms ? now_ms : newest->at_ms);
    sql_bind_text(&trim, holder);
    sql_bind_text(&trim, name);
    sql_bind_number(&trim, number > kept ? number - kept : 0);
    return sql_run(&add, err) < 0 ? -1 : sql_run(&trim, err);
}

static int forget_old(struct db *db, uint64_t now_ms, struct err *err)
{
    _cleanup_(sql_release) struct sql sql = {0};

    if (sql_prepare(db, "DELETE FROM uses WHERE at_ms <= ?", &sql, err) < 0)
        return -1;
    sql_bind_signed(&sql, (int64_t) now_ms - (int64_t) COUNTERS_WINDOW_MS);
    return sql_run(&sql, err);
}

/*
 * Uses that lie more than an hour ahead were made before the clock was set back: they count for an
 * hour from now. A change of its own, for it stands whether or not the next use is refused.
 */
static int follow_clock(struct db *db, uint64_t now_ms, struct err *err)
{
    _cleanup_(sql_release) struct sql look = {0}, change = {0};

    if (sql_prepare(db, "SELECT 1 FROM uses WHERE at_ms > ? LIMIT 1", &look, err) < 0)
        return -1;
    sql_bind_number(&look, now_ms + COUNTERS_WINDOW_MS);
    int rc = sql_step(&look, err);
    if (rc <= 0)
        return rc;
    sql_release(&look); /* or the change would wait for its own reader */
    if (sql_prepare(db, "UPDATE uses SET at_ms = ? WHERE at_ms > ?", &change, err) < 0)
        return -1;
    sql_bind_number(&change, now_ms);
    sql_bind_number(&change, now_ms + COUNTERS_WINDOW_MS);
    return sql_run(&change, err);
}

int counters_use(struct db *db, const char *holder, struct counter *counters, size_t n_counters,
                 uint64_t now_ms, size_t *ret_which, struct err *err)
{
    _cleanup_(sql_end) struct transaction transaction = {0};

    if (n_counters == 0)
        return 0;
    if (follow_clock(db, now_ms, err) < 0 || sql_begin(db, SQL_CHANGE, &transaction, err) < 0 ||
        forget_old(db, now_ms, err) < 0)
        return -1;
    for (size_t i = 0; i < n_counters; i++) {
        const char *name = capability_rows[counters[i].capability].name;
        struct use newest;
        if (find_use(db, holder, name, 0, &newest, err) < 0)
            return -1;
        if (check(db, holder, &counters[i], &newest, now_ms, err) < 0) {
            if (ret_which)
                *ret_which = i;
            return -1;
        }
        if (count(db, holder, &counters[i], &newest, now_ms, err) < 0)
            return -1;
    }
    return sql_commit(&transaction, err);
}
