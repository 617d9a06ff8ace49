#include "front/ledger.h"

#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/units.h"
#include "front/environment.h"
#include "front/page.h"
#include "store/grants.h"

uint64_t ledger_now_ms(void)
{
    return clock_realtime_ns() / NS_PER_MS;
}

int ledger_open(enum ledger_use use, struct arena *arena, struct ledger *ret_ledger,
                struct err *err)
{
    struct environment environment;

    *ret_ledger = (struct ledger){.now_ms = ledger_now_ms()};
    (void) snprintf(ret_ledger->by, sizeof(ret_ledger->by), "uid:%u", getuid()); /* fits */
    if (environment_read(arena, &environment, err) < 0)
        return -1;
    ret_ledger->state_dir = environment.places.state_dir;
    if (use == LEDGER_CHANGE)
        return db_open(ret_ledger->state_dir, &ret_ledger->db, err);
    if (db_open_existing(ret_ledger->state_dir, &ret_ledger->db, err) == 0)
        return 0;
    return err->code == ERR_NOT_FOUND ? 0 : -1;
}

void ledger_release(struct ledger *ledger)
{
    db_close(ledger->db);
    ledger->db = NULL;
}

int ledger_parse_ttl(const char *text, uint64_t *ret_ms, struct err *err)
{
    uint64_t ns;

    if (units_parse_duration(text, "--ttl", &ns, err) < 0)
        return -1;
    if (ns < NS_PER_MS || ns / NS_PER_MS > GRANT_MAX_TTL_MS)
        return err_set(err, ERR_REQUEST, "--ttl: '%s' is not within 1ms and %dh", text,
                       (int) (GRANT_MAX_TTL_MS / 1000 / 3600));
    *ret_ms = ns / NS_PER_MS;
    return 0;
}

int ledger_parse_uses(const char *text, uint32_t *ret_uses, struct err *err)
{
    uint64_t count;

    if (units_parse_count(text, "--uses", &count, err) < 0)
        return -1;
    if (count > GRANT_MAX_USES)
        return err_set(err, ERR_REQUEST, "--uses: '%s' is more than %d", text, GRANT_MAX_USES);
    *ret_uses = (uint32_t) count;
    return 0;
}

int ledger_finish(struct json_writer *json)
{
    struct err err;

    if (json_finish(json) == 0)
        return 0;
    (void) err_sys(&err, ERR_HOST, "cannot write to standard output"); /* always -1 */
    return page_fail(&err);
}
