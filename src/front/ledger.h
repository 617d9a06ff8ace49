/*
 * ledger: the store as the verbs see it by which the owner grants and answers.
 */
#pragma once

#include "base/arena.h"
#include "base/json.h"
#include "store/db.h"

#define LEDGER_BY_SIZE 24

struct ledger {
    const char *state_dir;
    struct db *db;           /* NULL: there is no store yet, and whoever looks makes none */
    uint64_t now_ms;         /* when it was opened */
    char by[LEDGER_BY_SIZE]; /* "uid:1000": who we are */
};

/* Who only looks finds an empty ledger where there is none yet. ledger_release in all cases. */
enum ledger_use { LEDGER_LOOK, LEDGER_CHANGE };

int ledger_open(enum ledger_use use, struct arena *arena, struct ledger *ret_ledger,
                struct err *err);
void ledger_release(struct ledger *ledger);

uint64_t ledger_now_ms(void);
/*
 * Values of --ttl and --uses, in their bounds. 0, or -1 and *err (ERR_REQUEST).
 */
int ledger_parse_ttl(const char *text, uint64_t *ret_ms, struct err *err);
int ledger_parse_uses(const char *text, uint32_t *ret_uses, struct err *err);
/* Ends what was written to stdout. Returns the exit status. */
int ledger_finish(struct json_writer *json);
