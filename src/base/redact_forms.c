/*
 * The forms in which a value of redact.h is found. Each is one that common tools make without being
 * asked; which those are stands at its function.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/redact_parts.h"

#define MIN_LINE 16 /* shorter ones are no part of a key: "}", "Proc-Type: 4" */

/* A form while it is made; its bytes are wiped. */
static void wipe(struct buf *form)
{
    if (form->data)
        explicit_bzero(form->data, form->capacity);
    buf_release(form);
}

static struct buf new_form(size_t max, int *rc)
{
    struct buf form = BUF_INIT(max);
    char *room;

    if (buf_reserve(&form, max, &room) < 0) /* at once: growing would leave copies behind */
        *rc = -1;
    return form;
}

/*
 * base64 in the middle of more: what comes before it shifts it by 0, 1 or 2 bytes. Of each only the
 * characters that the value alone decides. "user:password" in a header, a dumped file, a data URL.
 */
static int add_base64(struct secrets *secrets, const char *bytes, size_t len, bool for_urls)
{
    int rc = 0;

    for (size_t shift = 0; shift < 3; shift++) {
        _cleanup_(wipe) struct buf form = new_form((len + shift) / 3 * 4 + 4, &rc);
        for (size_t at = 0; rc == 0 && at < len + shift; at += 3) {
            unsigned char group[3] = {0};
            char four[4];
            size_t n = len + shift - at < 3 ? len + shift - at : 3;
            for (size_t i = 0; i < n; i++)
                group[i] = at + i < shift ? 0 : (unsigned char) bytes[at + i - shift];
            base64_encode_group(group, n, four);
            for (size_t i = 0; for_urls && i < 4; i++)
                four[i] = four[i] == '+' ? '-' : four[i] == '/' ? '_' : four[i];
            rc = buf_add(&form, four, 4);
        }
        size_t first = (shift * 8 + 5) / 6, last = (len + shift) * 8 / 6;
        if (rc == 0)
            rc = secrets_add_form(secrets, form.data + first, last - first);
    }
    return rc;
}

/* xxd, od, bytes.hex(); in a dump with spaces between it is not found. */
static int add_hex(struct secrets *secrets, const char *bytes, size_t len, const char *digits)
{
    int rc = 0;
    _cleanup_(wipe) struct buf form = new_form(2 * len, &rc);

    for (size_t i = 0; rc == 0 && i < len; i++) {
        unsigned char byte = (unsigned char) bytes[i];
        const char two[2] = {digits[byte >> 4], digits[byte & 15]};
        rc = buf_add(&form, two, sizeof(two));
    }
    return rc < 0 ? -1 : secrets_add_form(secrets, form.data, form.len);
}

#define UNRESERVED "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"

/* In a URL: what is escaped is a matter of taste, so several. */
static int add_url(struct secrets *secrets, const char *bytes, size_t len, const char *safe,
                   const char *digits)
{
    int rc = 0;
    _cleanup_(wipe) struct buf form = new_form(3 * len, &rc);

    for (size_t i = 0; rc == 0 && i < len; i++) {
        unsigned char byte = (unsigned char) bytes[i];
        const char three[3] = {'%', digits[byte >> 4], digits[byte & 15]};
        bool is_safe = byte && strchr(safe, byte);
        rc = buf_add(&form, is_safe ? &bytes[i] : three, is_safe ? 1 : sizeof(three));
    }
    return rc < 0 ? -1 : secrets_add_form(secrets, form.data, form.len);
}

/* What a byte is in a JSON string if not itself; 0: it is itself or \u00XX. */
static char escape_of(unsigned char byte)
{
    static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
    const char *found = byte ? strchr(from, byte) : NULL;

    return found ? to[found - from] : '\0';
}

/* In a JSON string, or a literal of most languages. Letters beyond ASCII stay as they are. */
static int add_json(struct secrets *secrets, const char *bytes, size_t len, bool escapes_slash)
{
    static const char digits[] = "0123456789abcdef";
    int rc = 0;
    _cleanup_(wipe) struct buf form = new_form(6 * len, &rc);

    for (size_t i = 0; rc == 0 && i < len; i++) {
        unsigned char byte = (unsigned char) bytes[i];
        char escape = byte == '/' && escapes_slash ? '/' : escape_of(byte);
        if (escape)
            rc = buf_add(&form, (const char[]){'\\', escape}, 2);
        else if (byte < 0x20)
            rc = buf_add(&form,
                         (const char[]){'\\', 'u', '0', '0', digits[byte >> 4], digits[byte & 15]},
                         6);
        else
            rc = buf_add(&form, &bytes[i], 1);
    }
    return rc < 0 ? -1 : secrets_add_form(secrets, form.data, form.len);
}

/*
 * Within '…' of a shell, as wasp's own messages write words: once for a scope, twice where a scope
 * stands in a command.
 */
static int add_shell(struct secrets *secrets, const char *bytes, size_t len, int levels)
{
    int rc = 0;
    _cleanup_(wipe) struct buf form = new_form(4 * len, &rc);

    if (levels == 0 || !memchr(bytes, '\'', len))
        return 0;
    for (size_t i = 0; rc == 0 && i < len; i++)
        rc = bytes[i] == '\'' ? buf_add(&form, "'\\''", 4) : buf_add(&form, &bytes[i], 1);
    if (rc < 0 || secrets_add_form(secrets, form.data, form.len) < 0)
        return -1;
    return add_shell(secrets, form.data, form.len, levels - 1);
}

/* Each line by itself: a terminal ends them with \r\n, wasp's own messages with \x0a. */
static int add_lines(struct secrets *secrets, const char *bytes, size_t len)
{
    const char *end = bytes + len;

    if (!memchr(bytes, '\n', len))
        return 0;
    for (const char *line = bytes; line < end;) {
        const char *next = memchr(line, '\n', (size_t) (end - line));
        const char *stop = next ? next : end;
        while (line < stop && strchr(" \t\r", *line) && *line)
            line++;
        size_t n = (size_t) (stop - line);
        while (n > 0 && strchr(" \t\r", line[n - 1]) && line[n - 1])
            n--;
        /* the first and last line of a private key are the same in all of them */
        bool is_rule = n >= 5 && memcmp(line, "-----", 5) == 0;
        if (n >= MIN_LINE && !is_rule && secrets_add_form(secrets, line, n) < 0)
            return -1;
        line = stop + (next != NULL);
    }
    return 0;
}

int secrets_add_forms(struct secrets *secrets, const char *bytes, size_t len)
{
    static const char lower[] = "0123456789abcdef", upper[] = "0123456789ABCDEF";

    if (secrets_add_form(secrets, bytes, len) < 0 || add_shell(secrets, bytes, len, 2) < 0)
        return -1;
    if (len < REDACT_MIN_ENCODED)
        return 0;
    if (add_lines(secrets, bytes, len) < 0 || add_base64(secrets, bytes, len, false) < 0 ||
        add_base64(secrets, bytes, len, true) < 0 || add_hex(secrets, bytes, len, lower) < 0 ||
        add_hex(secrets, bytes, len, upper) < 0)
        return -1;
    /* curl, Python's quote, JavaScript's encodeURIComponent, Java's and .NET's small digits */
    if (add_url(secrets, bytes, len, UNRESERVED, upper) < 0 ||
        add_url(secrets, bytes, len, UNRESERVED "/", upper) < 0 ||
        add_url(secrets, bytes, len, UNRESERVED "!'()*", upper) < 0 ||
        add_url(secrets, bytes, len, UNRESERVED, lower) < 0)
        return -1;
    return add_json(secrets, bytes, len, false) < 0 ? -1 : add_json(secrets, bytes, len, true);
}
