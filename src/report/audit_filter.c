#include "report/audit_filter.h"

#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/units.h"

bool audit_filter_matches(const struct audit_filter *filter, const struct audit_line *line)
{
    const struct {
        const char *wanted;
        enum audit_field field;
    } rows[] = {
        {filter->event, FIELD_EVENT},
        {filter->run_id, FIELD_RUN_ID},
        {filter->principal, FIELD_PRINCIPAL},
        {filter->decision, FIELD_DECISION},
    };
    const char *time = line->field[FIELD_TIME].text; /* in UTC, so that text orders as time does */

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        if (rows[i].wanted && !span_is(line->field[rows[i].field], rows[i].wanted))
            return false;
    return (!filter->since[0] || memcmp(time, filter->since, CLOCK_TEXT_SIZE - 1) >= 0) &&
           (!filter->until[0] || memcmp(time, filter->until, CLOCK_TEXT_SIZE - 1) < 0);
}

int audit_filter_text(const char *text, struct arena *arena, const char **ret_text, struct err *err)
{
    _cleanup_(buf_release) struct buf quoted = BUF_INIT(AUDIT_MAX_RECORD);
    struct json_writer json;

    json_writer_init_buf(&json, &quoted);
    json_put_string(&json, text);
    if (json_finish(&json) < 0)
        return err_set(err, ERR_USAGE, "no record has a text of that length");
    *ret_text = arena_strndup(arena, quoted.data + 1, quoted.len - strlen("\"\"\n"));
    return *ret_text ? 0 : err_no_memory(err);
}

/* ".250Z", or no more than "Z". */
static bool parse_rest(const char *text, uint64_t *ret_ms)
{
    *ret_ms = 0;
    if (text[0] == '.' && strspn(text + 1, "0123456789") == 3) {
        for (int i = 1; i <= 3; i++)
            *ret_ms = 10 * *ret_ms + (uint64_t) (text[i] - '0');
        text += strlen(".000");
    }
    return strcmp(text, "Z") == 0;
}

/* A time in full, or -1. */
static int parse_time(const char *text, uint64_t *ret_ns)
{
    struct tm date = {0}, tm = {0};
    const char *end = strptime(text, "%Y-%m-%d", &date);
    const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
    bool is_date = end && *end == '\0';
    uint64_t ms = 0;

    if (!is_date && !(rest && parse_rest(rest, &ms)))
        return -1;
    time_t seconds = timegm(is_date ? &date : &tm);
    if (seconds < 0 || (uint64_t) seconds >= UINT64_MAX / NS_PER_S)
        return -1;
    *ret_ns = (uint64_t) seconds * NS_PER_S + ms * NS_PER_MS;
    return 0;
}

int audit_filter_time(const char *text, const char *what, uint64_t now_ns,
                      char ret_time[CLOCK_TEXT_SIZE], struct err *err)
{
    uint64_t ago_ns, time_ns;
    struct err other; /* what it has to say does not matter: it may be a date */

    if (units_parse_duration(text, what, &ago_ns, &other) == 0 && ago_ns != UNITS_UNLIMITED)
        time_ns = ago_ns < now_ns ? now_ns - ago_ns : 0;
    else if (parse_time(text, &time_ns) < 0)
        return err_set(err, ERR_USAGE,
                       "%s takes a time as 2026-01-31 or 2026-01-31T12:00:00Z, or how long ago as "
                       "10m, not '%s'",
                       what, text);
    clock_format(time_ns, ret_time);
    return 0;
}
