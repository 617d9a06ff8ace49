#include "report/audit_show.h"

#include <stdio.h>
#include <string.h>

#define SHORT_HASH 12 /* hex digits, enough to tell one from another by eye */

/*
 * U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069 turn text around on a screen: their code, or
 * 0. Other control characters are escaped in the record already.
 */
static unsigned int turning(const unsigned char *c, size_t len)
{
    if (len < 3 || c[0] != 0xe2 || (c[1] != 0x80 && c[1] != 0x81))
        return 0;
    unsigned int code = 0x2000U | (c[1] & 0x3fU) << 6 | (c[2] & 0x3fU);
    return code == 0x200e || code == 0x200f || (code >= 0x202a && code <= 0x202e) ||
                   (code >= 0x2066 && code <= 0x2069)
               ? code
               : 0;
}

static int add_visible(struct buf *out, struct span span)
{
    for (size_t at = 0; at < span.len;) {
        unsigned int code = turning((const unsigned char *) span.text + at, span.len - at);
        int rc = code ? buf_printf(out, "\\u%04x", code) : buf_add_char(out, span.text[at]);
        if (rc < 0)
            return -1;
        at += code ? 3 : 1;
    }
    return 0;
}

/* A word needs no quotes around it. */
static bool is_word(struct span span)
{
    for (size_t i = 0; i < span.len; i++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:/@+-",
                    span.text[i]))
            return false;
    return span.len > 0;
}

static bool is_bracketed(enum audit_field field)
{
    return field == FIELD_GRANTS || field == FIELD_USAGE;
}

static bool is_hash(enum audit_field field)
{
    return (field >= FIELD_POLICY && field <= FIELD_SOURCE) || field == FIELD_FIRST_PREV;
}

static int add_field(struct buf *out, enum audit_field field, struct span span)
{
    if (is_hash(field))
        span.len = SHORT_HASH;
    const char *quote = is_bracketed(field) || is_word(span) ? "" : "\"";
    return buf_printf(out, " %s=%s", audit_field_name(field), quote) < 0 ||
                   add_visible(out, span) < 0 || buf_add_string(out, quote) < 0
               ? -1
               : 0;
}

int audit_show_line(const struct audit_line *line, struct buf *out)
{
    struct span time = line->field[FIELD_TIME], event = line->field[FIELD_EVENT];

    if (buf_printf(out, "%.*s #%-6llu ", (int) time.len, time.text,
                   (unsigned long long) line->seq) < 0 ||
        add_visible(out, event) < 0)
        return -1;
    for (enum audit_field i = FIELD_EVENT + 1; i < FIELD_PREV; i++)
        if (line->field[i].text && add_field(out, i, line->field[i]) < 0)
            return -1;
    return buf_add_char(out, '\n');
}
