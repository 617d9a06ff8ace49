#include "report/grants.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/visible.h"

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_text(struct json_writer *json, const char *key, const char *text)
{
    json_key(json, key);
    json_put_string(json, text);
}

static void put_number(struct json_writer *json, const char *key, uint64_t number)
{
    json_key(json, key);
    json_put_uint(json, number);
}

/* 0: it has not happened. */
static void put_time(struct json_writer *json, const char *key, uint64_t ms)
{
    char text[CLOCK_TEXT_SIZE];

    clock_format(ms * NS_PER_MS, text);
    put_text(json, key, ms ? text : NULL);
}

static void put_digest(struct json_writer *json, const char *key, const struct digest *digest)
{
    char hex[DIGEST_HEX];

    if (digest)
        digest_hex(digest, hex);
    put_text(json, key, digest ? hex : NULL);
}

void grant_write(struct json_writer *json, const struct grant *grant, uint64_t now_ms)
{
    put_text(json, "id", grant->id);
    put_text(json, "state", grant_state_names[grant_state(grant, now_ms)]);
    put_text(json, "holder", grant->holder);
    put_text(json, "capability", capability_rows[grant->capability].name);
    put_text(json, "scope", grant->scope);
    put_time(json, "created_at", grant->created_ms);
    put_time(json, "expires_at", grant->expires_ms);
    put_number(json, "uses_left", grant->uses_left);
    put_number(json, "uses", grant->uses);
    put_text(json, "reason", grant->reason);
    put_text(json, "approved_by", grant->approved_by);
    put_digest(json, "request_sha256", grant->is_bound ? &grant->request : NULL);
    put_text(json, "approval", grant->approval);
    put_time(json, "revoked_at", grant->revoked_ms);
}

static void write_item(struct json_writer *json, const struct approval_item *item)
{
    json_open_object(json);
    put_text(json, "capability", capability_rows[item->capability].name);
    put_text(json, "scope", item->scope);
    put_text(json, "rule", item->rule);
    put_text(json, "reason", item->reason);
    json_close_object(json);
}

void approval_write(struct json_writer *json, const struct approval *approval)
{
    put_text(json, "id", approval->id);
    put_text(json, "state", approval_state_names[approval->state]);
    put_text(json, "holder", approval->holder);
    put_text(json, "summary", approval->summary);
    json_key(json, "items");
    json_open_array(json);
    for (size_t i = 0; i < approval->n_items; i++)
        write_item(json, &approval->items[i]);
    json_close_array(json);
    put_digest(json, "request_sha256", &approval->request);
    put_time(json, "created_at", approval->created_ms);
    put_time(json, "expires_at", approval->expires_ms);
    put_number(json, "max_ttl_ms", approval->max_ttl_ms ? approval->max_ttl_ms : GRANT_MAX_TTL_MS);
    put_number(json, "max_uses", approval->max_uses ? approval->max_uses : GRANT_MAX_USES);
    put_time(json, "answered_at", approval->answered_ms);
    put_text(json, "answered_by", approval->answered_by);
    if (approval->plan)
        put_text(json, "plan", approval->plan);
}

/* ---- words ----------------------------------------------------------------------------------- */

/* "9m 58s": the two largest units; nothing is rounded up. */
static int add_span(struct buf *text, uint64_t ms)
{
    static const struct {
        uint64_t ms;
        const char *unit;
    } units[] = {{86400000, "d"}, {3600000, "h"}, {60000, "m"}, {1000, "s"}};
    size_t at = 0;

    while (at < ARRAY_SIZE(units) && ms < units[at].ms)
        at++;
    if (at == ARRAY_SIZE(units))
        return buf_printf(text, "%" PRIu64 "ms", ms);
    if (buf_printf(text, "%" PRIu64 "%s", ms / units[at].ms, units[at].unit) < 0)
        return -1;
    uint64_t rest = ms % units[at].ms;
    if (at + 1 == ARRAY_SIZE(units) || rest < units[at + 1].ms)
        return 0;
    return buf_printf(text, " %" PRIu64 "%s", rest / units[at + 1].ms, units[at + 1].unit);
}

static int add_time(struct buf *text, const char *before, uint64_t ms)
{
    char when[CLOCK_TEXT_SIZE];

    clock_format(ms * NS_PER_MS, when);
    return buf_printf(text, "%s%s", before, when);
}

static int add_end(struct buf *text, const char *before, uint64_t end_ms, uint64_t now_ms)
{
    if (add_time(text, before, end_ms) < 0)
        return -1;
    if (end_ms <= now_ms)
        return 0;
    return buf_add_string(text, " (") < 0 || add_span(text, end_ms - now_ms) < 0
               ? -1
               : buf_add_string(text, " left)");
}

/* Nothing, or what comes before it and then the text. */
static int add_text(struct buf *text, const char *before, const char *value)
{
    if (!value)
        return 0;
    return buf_add_string(text, before) < 0 ? -1 : visible_add(text, value);
}

int grant_show(struct buf *text, const struct grant *grant, uint64_t now_ms)
{
    enum grant_state state = grant_state(grant, now_ms);

    if (buf_printf(text, "%s  %s  ", grant->id, grant_state_names[state]) < 0 ||
        visible_add(text, grant->holder) < 0 ||
        buf_printf(text, "  %s ", capability_rows[grant->capability].name) < 0 ||
        visible_add(text, grant->scope) < 0)
        return -1;
    int rc = state == GRANT_REVOKED ? add_time(text, "\n    revoked at ", grant->revoked_ms)
                                    : add_end(text, "\n    until ", grant->expires_ms, now_ms);
    if (rc < 0 ||
        buf_printf(text, ", %u of %u uses left", grant->uses_left, grant->uses_left + grant->uses) <
            0 ||
        add_text(text, ", by ", grant->approved_by) < 0 ||
        add_text(text, ", for the one request of approval ", grant->approval) < 0 ||
        add_text(text, "\n    reason: ", grant->reason) < 0)
        return -1;
    return buf_add_char(text, '\n');
}

static int show_state(struct buf *text, const struct approval *approval, uint64_t now_ms)
{
    if (add_time(text, "\n    asked at ", approval->created_ms) < 0)
        return -1;
    if (approval->state == APPROVAL_PENDING)
        return add_end(text, ", waits until ", approval->expires_ms, now_ms);
    if (approval->state == APPROVAL_EXPIRED)
        return add_time(text, ", nobody answered until ", approval->expires_ms);
    if (buf_printf(text, ", %s by ", approval_state_names[approval->state]) < 0 ||
        visible_add(text, approval->answered_by ? approval->answered_by : "somebody") < 0)
        return -1;
    return add_time(text, " at ", approval->answered_ms);
}

int approval_show(struct buf *text, const struct approval *approval, uint64_t now_ms)
{
    if (buf_printf(text, "%s  %s  ", approval->id, approval_state_names[approval->state]) < 0 ||
        visible_add(text, approval->holder) < 0 || show_state(text, approval, now_ms) < 0 ||
        add_text(text, "\n    would run: ", approval->summary) < 0)
        return -1;
    for (size_t i = 0; i < approval->n_items; i++) {
        const struct approval_item *item = &approval->items[i];
        if (buf_printf(text, "\n    asks for: %s ", capability_rows[item->capability].name) < 0 ||
            visible_add(text, item->scope) < 0 ||
            add_text(text, "\n        rule: ", item->rule) < 0 ||
            add_text(text, "\n        reason: ", item->reason) < 0)
            return -1;
    }
    return add_text(text, "\n    plan: ", approval->plan) < 0 ? -1 : buf_add_char(text, '\n');
}
