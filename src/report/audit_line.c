#include "report/audit_line.h"

#include <string.h>

#include "base/cleanup.h"

enum kind { KIND_SCHEMA, KIND_NUMBER, KIND_TEXT, KIND_TEXTS, KIND_HASH, KIND_TIME, KIND_USAGE };

/* The key as it stands in a line, with what is before it. */
#define KEY(name) name, ",\"" name "\":", sizeof(",\"" name "\":") - 1

static const struct row {
    const char *name;
    const char *key;
    size_t key_len;
    enum kind kind;
    bool required;
} rows[AUDIT_FIELDS] = {
    [FIELD_SCHEMA] = {"schema", "{\"schema\":", 10, KIND_SCHEMA, true},
    [FIELD_SEQ] = {KEY("seq"), KIND_NUMBER, true},
    [FIELD_TIME] = {KEY("time"), KIND_TIME, true},
    [FIELD_EVENT] = {KEY("event"), KIND_TEXT, true},
    [FIELD_AT] = {KEY("at"), KIND_TIME},
    [FIELD_RUN_ID] = {KEY("run_id"), KIND_TEXT},
    [FIELD_PRINCIPAL] = {KEY("principal"), KIND_TEXT},
    [FIELD_BACKEND] = {KEY("backend"), KIND_TEXT},
    [FIELD_TIER] = {KEY("tier"), KIND_TEXT},
    [FIELD_POLICY] = {KEY("policy_sha256"), KIND_HASH},
    [FIELD_REQUEST] = {KEY("request_sha256"), KIND_HASH},
    [FIELD_MODULE] = {KEY("module_sha256"), KIND_HASH},
    [FIELD_ARGV] = {KEY("argv_sha256"), KIND_HASH},
    [FIELD_SOURCE] = {KEY("source_sha256"), KIND_HASH},
    [FIELD_DECISION] = {KEY("decision"), KIND_TEXT},
    [FIELD_RULE] = {KEY("rule"), KIND_TEXT},
    [FIELD_CAPABILITY] = {KEY("capability"), KIND_TEXT},
    [FIELD_SCOPE] = {KEY("scope"), KIND_TEXT},
    [FIELD_GRANTS] = {KEY("grants"), KIND_TEXTS},
    [FIELD_APPROVAL] = {KEY("approval"), KIND_TEXT},
    [FIELD_BY] = {KEY("by"), KIND_TEXT},
    [FIELD_REASON] = {KEY("reason"), KIND_TEXT},
    [FIELD_EXIT_CODE] = {KEY("exit_code"), KIND_NUMBER},
    [FIELD_USAGE] = {KEY("usage"), KIND_USAGE},
    [FIELD_FIRST_SEQ] = {KEY("first_seq"), KIND_NUMBER},
    [FIELD_FIRST_PREV] = {KEY("first_prev"), KIND_HASH},
    [FIELD_PREV] = {KEY("prev"), KIND_HASH, true},
    [FIELD_HASH] = {KEY("hash"), KIND_HASH, true},
};

const char *audit_field_name(enum audit_field field)
{
    return rows[field].name;
}

#define LITERAL(scan, text) scan_literal(scan, text, sizeof(text) - 1)

static bool scan_usage(struct scan *scan)
{
    uint64_t number;

    return LITERAL(scan, "{\"wall_ms\":") && scan_number(scan, &number) &&
           LITERAL(scan, ",\"cpu_ms\":") && scan_number(scan, &number) &&
           LITERAL(scan, ",\"max_rss_bytes\":") && scan_number(scan, &number) && LITERAL(scan, "}");
}

/* Values whose span is all that was stepped over. */
static bool scan_whole(struct scan *scan, enum kind kind, struct span *ret_span)
{
    const char *start = scan->at;
    uint64_t number;
    bool good = kind == KIND_NUMBER   ? scan_number(scan, &number)
                : kind == KIND_SCHEMA ? LITERAL(scan, "\"wasp.audit/1\"")
                                      : scan_usage(scan);

    *ret_span = (struct span){start, (size_t) (scan->at - start)};
    return good;
}

static bool scan_value(struct scan *scan, enum kind kind, struct span *ret_span)
{
    switch (kind) {
    case KIND_TEXT:
        return scan_text(scan, ret_span);
    case KIND_TEXTS:
        return scan_texts(scan, ret_span);
    case KIND_HASH:
        return scan_hash(scan, ret_span);
    case KIND_TIME:
        return scan_time(scan, ret_span);
    default:
        return scan_whole(scan, kind, ret_span);
    }
}

/* What no single row can tell. */
static bool is_consistent(const struct audit_line *line)
{
    int subjects = 0;

    for (enum audit_field i = FIELD_MODULE; i <= FIELD_SOURCE; i++)
        subjects += line->field[i].text != NULL;
    return subjects <= 1 && line->seq > 0 &&
           !line->field[FIELD_FIRST_SEQ].text == !line->field[FIELD_FIRST_PREV].text;
}

bool audit_line_scan(const char *text, size_t len, struct audit_line *ret_line)
{
    struct scan scan = {text, text + len};
    struct scan number;

    memset(ret_line, 0, sizeof(*ret_line));
    for (enum audit_field i = 0; i < AUDIT_FIELDS; i++) {
        const struct row *row = &rows[i];
        if (i == FIELD_HASH)
            ret_line->hashed = (size_t) (scan.at - text);
        if (!scan_literal(&scan, row->key, row->key_len)) {
            if (row->required)
                return false;
        } else if (!scan_value(&scan, row->kind, &ret_line->field[i])) {
            return false;
        }
    }
    number = (struct scan){ret_line->field[FIELD_SEQ].text, text + len};
    return LITERAL(&scan, "}") && scan.at == scan.end && scan_number(&number, &ret_line->seq) &&
           is_consistent(ret_line);
}

void audit_line_hash(const char *text, const struct audit_line *line, struct digest *ret_hash)
{
    struct sha256 sha;

    sha256_init(&sha);
    sha256_add(&sha, text, line->hashed);
    sha256_finish(&sha, ret_hash);
}
