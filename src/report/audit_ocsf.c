#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "report/audit_show.h"

#define CLASS_UID 6003 /* API Activity, of category 6, Application Activity */

enum activity { CREATE = 1, READ = 2, UPDATE = 3, DELETE = 4, OTHER = 99 };

static const struct {
    const char *event;
    enum activity activity;
    bool is_failure;
} events[] = {
    {"start", CREATE, false},
    {"end", DELETE, false},
    {"refused", OTHER, true},
    {"approval_requested", CREATE, false},
    {"approved", UPDATE, false},
    {"denied", UPDATE, true},
    {"approval_expired", DELETE, false},
    {"grant_created", CREATE, false},
    {"grant_used", UPDATE, false},
    {"grant_spent", DELETE, false},
    {"grant_revoked", DELETE, false},
    {"grant_expired", DELETE, false},
    {"retention", DELETE, false},
    {"recovered", OTHER, true},
};

static const struct span *field(const struct audit_line *line, enum audit_field which)
{
    return &line->field[which];
}

static bool is_event(const struct audit_line *line, const char *event)
{
    return span_is(*field(line, FIELD_EVENT), event);
}

static enum activity activity_of(const struct audit_line *line)
{
    for (size_t i = 0; i < ARRAY_SIZE(events); i++)
        if (is_event(line, events[i].event))
            return events[i].activity;
    if (span_is(*field(line, FIELD_CAPABILITY), "fs_read"))
        return READ;
    return span_is(*field(line, FIELD_CAPABILITY), "fs_write") ? UPDATE : OTHER;
}

static bool is_failure(const struct audit_line *line)
{
    const struct span *code = field(line, FIELD_EXIT_CODE);

    for (size_t i = 0; i < ARRAY_SIZE(events); i++)
        if (events[i].is_failure && is_event(line, events[i].event))
            return true;
    return span_is(*field(line, FIELD_DECISION), "deny") ||
           span_is(*field(line, FIELD_DECISION), "ask") || (code->text && !span_is(*code, "0"));
}

/* Milliseconds since 1970. */
static uint64_t milliseconds(const struct span *time)
{
    struct tm tm = {0};
    char text[CLOCK_TEXT_SIZE] = "";
    uint64_t ms = 0;

    memcpy(text, time->text, CLOCK_TEXT_SIZE - 1); /* it was scanned: it is as long as that */
    const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S.", &tm);
    time_t seconds = rest ? timegm(&tm) : -1;
    for (; rest && *rest != 'Z'; rest++)
        ms = 10 * ms + (uint64_t) (*rest - '0');
    return seconds < 0 ? 0 : (uint64_t) seconds * 1000 + ms;
}

/* What is in a record is escaped already: it goes over as it is. Nothing if it is not there. */
static int add_text(struct buf *out, const char *before, const struct span *span, const char *after)
{
    if (!span->text)
        return 0;
    return buf_printf(out, "%s\"%.*s\"%s", before, (int) span->len, span->text, after);
}

static int add_actor(const struct audit_line *line, struct buf *out)
{
    const struct span *by = field(line, FIELD_BY), *principal = field(line, FIELD_PRINCIPAL);

    if (!by->text && !principal->text)
        return buf_add_string(out, ",\"actor\":{\"app_name\":\"wasp\"}");
    return add_text(out, ",\"actor\":{\"user\":{\"name\":", by->text ? by : principal, "}}");
}

static int add_api(const struct audit_line *line, struct buf *out)
{
    const struct span *capability = field(line, FIELD_CAPABILITY),
                      *scope = field(line, FIELD_SCOPE);
    bool is_call = is_event(line, "call") && capability->text;

    if (add_text(out, ",\"api\":{\"service\":{\"name\":\"wasp\"},\"operation\":",
                 is_call ? capability : field(line, FIELD_EVENT), "") < 0 ||
        add_text(out, ",\"request\":{\"uid\":", field(line, FIELD_RUN_ID), "}") < 0 ||
        buf_add_string(out, "},\"src_endpoint\":{\"svc_name\":\"wasp\"}") < 0)
        return -1;
    if (!capability->text)
        return 0;
    return add_text(out, ",\"resources\":[{\"type\":", capability, "") < 0 ||
                   add_text(out, ",\"name\":", scope, "") < 0 || buf_add_string(out, "}]") < 0
               ? -1
               : 0;
}

static int add_metadata(const struct audit_line *line, struct buf *out)
{
    return buf_printf(out,
                      ",\"metadata\":{\"version\":\"1.3.0\",\"product\":{\"name\":\"wasp\","
                      "\"vendor_name\":\"wasp\",\"version\":\"" WASP_VERSION "\"},"
                      "\"log_name\":\"wasp.audit/1\",\"sequence\":%llu",
                      (unsigned long long) line->seq) < 0 ||
                   add_text(out, ",\"uid\":", field(line, FIELD_HASH), "") < 0 ||
                   add_text(out, ",\"event_code\":", field(line, FIELD_EVENT), "") < 0 ||
                   add_text(out, ",\"original_time\":", field(line, FIELD_TIME), "") < 0 ||
                   add_text(out, ",\"correlation_uid\":", field(line, FIELD_RUN_ID), "") < 0
               ? -1
               : buf_add_char(out, '}');
}

/* By their own names; numbers and lists need no quotes. */
static int add_unmapped(const struct audit_line *line, struct buf *out)
{
    const char *before = "";

    if (buf_add_string(out, ",\"unmapped\":{") < 0)
        return -1;
    for (enum audit_field i = FIELD_EVENT + 1; i < FIELD_HASH; i++) {
        const struct span *span = field(line, i);
        bool is_bare =
            i == FIELD_GRANTS || i == FIELD_USAGE || i == FIELD_EXIT_CODE || i == FIELD_FIRST_SEQ;
        const char *quote = is_bare ? "" : "\"";
        if (!span->text || i == FIELD_RUN_ID || i == FIELD_CAPABILITY || i == FIELD_SCOPE)
            continue;
        if (buf_printf(out, "%s\"%s\":%s%.*s%s", before, audit_field_name(i), quote,
                       (int) span->len, span->text, quote) < 0)
            return -1;
        before = ",";
    }
    return buf_add_char(out, '}');
}

static int add_raw(const char *text, size_t len, struct buf *out)
{
    if (buf_add_string(out, ",\"raw_data\":\"") < 0)
        return -1;
    /* A record has no other bytes that a string cannot have. */
    for (size_t i = 0; i < len; i++)
        if (((text[i] == '"' || text[i] == '\\') && buf_add_char(out, '\\') < 0) ||
            buf_add_char(out, text[i]) < 0)
            return -1;
    return buf_add_char(out, '"');
}

int audit_ocsf_line(const char *text, size_t len, const struct audit_line *line, struct buf *out)
{
    const struct span *at = field(line, FIELD_AT);
    enum activity activity = activity_of(line);
    bool failed = is_failure(line);

    if (buf_printf(out,
                   "{\"category_uid\":6,\"class_uid\":%d,\"type_uid\":%d,\"activity_id\":%d,"
                   "\"status_id\":%d,\"severity_id\":%d,\"time\":%llu",
                   CLASS_UID, CLASS_UID * 100 + (int) activity, (int) activity, failed ? 2 : 1,
                   is_event(line, "recovered") ? 3 : 1 + failed,
                   (unsigned long long) milliseconds(at->text ? at : field(line, FIELD_TIME))) < 0)
        return -1;
    if (activity == OTHER && add_text(out, ",\"activity_name\":", field(line, FIELD_EVENT), "") < 0)
        return -1;
    return add_text(out, ",\"status_detail\":", field(line, FIELD_REASON), "") < 0 ||
                   add_actor(line, out) < 0 || add_api(line, out) < 0 ||
                   add_metadata(line, out) < 0 || add_unmapped(line, out) < 0 ||
                   add_raw(text, len, out) < 0
               ? -1
               : buf_add_string(out, "}\n");
}
