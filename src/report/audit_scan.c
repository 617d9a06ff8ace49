#include "report/audit_scan.h"

#include <string.h>

#include "base/utf8.h"

bool span_is(struct span span, const char *text)
{
    return span.text && strlen(text) == span.len && memcmp(span.text, text, span.len) == 0;
}

bool scan_literal(struct scan *scan, const char *text, size_t len)
{
    if ((size_t) (scan->end - scan->at) < len || memcmp(scan->at, text, len) != 0)
        return false;
    scan->at += len;
    return true;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool scan_number(struct scan *scan, uint64_t *ret_value)
{
    const char *at = scan->at;
    uint64_t value = 0;

    while (at < scan->end && is_digit(*at) && value <= AUDIT_MAX_NUMBER)
        value = 10 * value + (uint64_t) (*at++ - '0');
    if (at == scan->at || value > AUDIT_MAX_NUMBER || (*scan->at == '0' && at - scan->at > 1))
        return false;
    scan->at = at;
    *ret_value = value;
    return true;
}

/* ---- text ------------------------------------------------------------------------------------ */

/* 1: can stand in a string as it is and needs no second look. */
static const unsigned char plain[256] = {
    [' '] = 1,
    ['!'] = 1,
    ['#' ... '['] = 1,
    [']' ... '~'] = 1,
};

static const unsigned char is_hex[256] = {['0' ... '9'] = 1, ['a' ... 'f'] = 1};

static int hex_value(char c)
{
    if (is_digit(c))
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* How long the escape at the backslash is; 0 if it is none that we write. */
static size_t escape_len(const char *at, size_t len)
{
    if (len >= 2 && at[1] != '\0' && strchr("\"\\nrtbf", at[1]))
        return 2;
    if (len < 6 || memcmp(at, "\\u00", 4) != 0 || hex_value(at[4]) < 0 || hex_value(at[5]) < 0)
        return 0;
    int code = 16 * hex_value(at[4]) + hex_value(at[5]);
    if (code < 0x20)
        return code == '\0' || !strchr("\n\r\t\b\f", code) ? 6 : 0;
    return code >= 0x7f && code <= 0x9f ? 6 : 0;
}

/* A character beyond ASCII: well-formed, and no C1 control, which would have been escaped. */
static size_t wide_len(const char *at, size_t len)
{
    size_t skip, n = utf8_next(at, len, &skip);

    return n < 2 || (n == 2 && (unsigned char) at[0] == 0xc2 && (unsigned char) at[1] < 0xa0) ? 0
                                                                                              : n;
}

bool scan_text(struct scan *scan, struct span *ret_span)
{
    const char *at = scan->at;

    if (at == scan->end || *at++ != '"')
        return false;
    for (size_t n = 0;; at += n) {
        while (at < scan->end && plain[(unsigned char) *at])
            at++;
        if (at == scan->end)
            return false;
        if (*at == '"')
            break;
        size_t left = (size_t) (scan->end - at);
        n = *at == '\\' ? escape_len(at, left) : wide_len(at, left);
        if (n == 0)
            return false;
    }
    *ret_span = (struct span){scan->at + 1, (size_t) (at - scan->at) - 1};
    scan->at = at + 1;
    return true;
}

bool scan_texts(struct scan *scan, struct span *ret_span)
{
    struct scan inner = *scan;
    struct span item;

    if (!scan_literal(&inner, "[", 1))
        return false;
    do
        if (!scan_text(&inner, &item))
            return false;
    while (scan_literal(&inner, ",", 1));
    if (!scan_literal(&inner, "]", 1))
        return false;
    *ret_span = (struct span){scan->at, (size_t) (inner.at - scan->at)};
    *scan = inner;
    return true;
}

/* ---- of a fixed length ----------------------------------------------------------------------- */

/* The len characters in quotes at scan; NULL if there are not so many, or no quotes. */
static const char *quoted(const struct scan *scan, size_t len)
{
    if ((size_t) (scan->end - scan->at) < len + 2 || scan->at[0] != '"' || scan->at[len + 1] != '"')
        return NULL;
    return scan->at + 1;
}

static bool take_quoted(struct scan *scan, size_t len, struct span *ret_span)
{
    *ret_span = (struct span){scan->at + 1, len};
    scan->at += len + 2;
    return true;
}

bool scan_hash(struct scan *scan, struct span *ret_span)
{
    const char *hex = quoted(scan, AUDIT_HASH_HEX);

    unsigned char good = hex != NULL;

    for (size_t i = 0; hex && i < AUDIT_HASH_HEX; i++)
        good &= is_hex[(unsigned char) hex[i]]; /* without a branch: every record has several */
    if (!good)
        return false;
    return take_quoted(scan, AUDIT_HASH_HEX, ret_span);
}

bool scan_time(struct scan *scan, struct span *ret_span)
{
    static const char shape[] = "0000-00-00T00:00:00.000Z";
    const char *time = quoted(scan, sizeof(shape) - 1);

    if (!time)
        return false;
    for (size_t i = 0; i < sizeof(shape) - 1; i++)
        if (shape[i] == '0' ? !is_digit(time[i]) : time[i] != shape[i])
            return false;
    return take_quoted(scan, sizeof(shape) - 1, ret_span);
}
