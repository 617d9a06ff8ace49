#include "base/err.h"

/* here the functions themselves are meant */
#undef err_set
#undef err_sys
#undef err_hint
#undef err_step
#undef err_prefix
#undef err_no_memory

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

static const struct err_kind kinds[ERR_CODES] = {
    [ERR_NONE] = {"none", "exited", 0},
    [ERR_USAGE] = {"usage", "invalid", 2},
    [ERR_REQUEST] = {"request", "invalid", 2},
    [ERR_DENIED] = {"denied", "denied", 77},
    [ERR_APPROVAL] = {"approval_required", "approval_required", 77},
    [ERR_SIMULATE] = {"simulate_first", "denied", 77},
    [ERR_NOT_FOUND] = {"not_found", "not_started", 127},
    [ERR_UNREADABLE] = {"unreadable", "not_started", 126},
    [ERR_TOO_LARGE] = {"too_large", "not_started", 126},
    [ERR_MALFORMED] = {"malformed", "not_started", 126},
    [ERR_COMPONENT] = {"component", "not_started", 126},
    [ERR_IMPORTS] = {"imports", "not_started", 126},
    [ERR_NO_START] = {"no_start", "not_started", 126},
    [ERR_NEEDS_MEMORY] = {"needs_memory", "not_started", 126},
    [ERR_NEEDS_TABLE] = {"needs_table", "not_started", 126},
    [ERR_COMPILE_LIMIT] = {"compile_limit", "not_started", 126},
    [ERR_PIN] = {"pin", "not_started", 126},
    [ERR_STALE_CODE] = {"stale_code", "backend_error", 125},
    [ERR_WALL] = {"wall", "backend_error", 125},
    [ERR_HOST] = {"host", "backend_error", 125},
    [ERR_BACKEND] = {"backend", "backend_error", 125},
};

const struct err_kind *err_kind(enum err_code code)
{
    /* The code may come from a cell that was taken over. */
    if ((unsigned) code >= ERR_CODES)
        code = ERR_BACKEND;
    return &kinds[code];
}

/* U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069: they turn the text around on a screen. */
static bool is_turning(const unsigned char *c)
{
    return c[0] == 0xe2 &&
           ((c[1] == 0x80 && (c[2] == 0x8e || c[2] == 0x8f || (c[2] >= 0xaa && c[2] <= 0xae))) ||
            (c[1] == 0x81 && c[2] >= 0xa6 && c[2] <= 0xa9));
}

/* C0, DEL and C1: what could end the line or steer a terminal. C1 are two bytes in UTF-8. */
static bool is_control(const char *c, size_t len)
{
    const unsigned char *bytes = (const unsigned char *) c;

    return bytes[0] < 0x20 || bytes[0] == 0x7f ||
           (len == 2 && bytes[0] == 0xc2 && bytes[1] < 0xa0) || (len == 3 && is_turning(bytes));
}

/*
 * One character of `text` as it may stand in a message, into piece; returns how many bytes it
 * took.
 */
static size_t take_piece(const char *text, size_t len, char piece[8])
{
    size_t skip = 0;
    size_t n = utf8_next(text, len, &skip);

    if (n == 0)
        (void) snprintf(piece, 8, "\xef\xbf\xbd"); /* fits */
    else if (is_control(text, n) && n == 3)
        (void) snprintf(piece, 8, "\\u20%02x", /* fits: all of them are in this block */
                        (unsigned int) (((unsigned char) text[1] & 0x3) << 6 |
                                        ((unsigned char) text[2] & 0x3f)));
    else if (is_control(text, n))
        (void) snprintf(piece, 8, "\\x%02x", (unsigned char) text[n - 1]); /* fits */
    else
        (void) snprintf(piece, 8, "%.*s", (int) n, text); /* fits: at most 4 bytes */
    return n ? n : skip;
}

/* Copies text as one line of valid UTF-8, at most size - 1 bytes; what had to go shows as "...". */
static void copy_line(char *to, size_t size, const char *text)
{
    size_t used = 0, cut = 0;
    size_t len = strlen(text);
    char piece[8];

    for (size_t at = 0; at < len;) {
        at += take_piece(text + at, len - at, piece);
        size_t n = strlen(piece);
        if (used + n >= size) {
            (void) snprintf(to + cut, size - cut, "..."); /* cut leaves room for it */
            return;
        }
        memcpy(to + used, piece, n);
        used += n;
        if (used + 3 < size)
            cut = used;
    }
    to[used] = '\0';
}

/* Never by strerror of glibc, which allocates: we may be between vfork and exec. */
static const char *describe(int errnum)
{
#ifdef __GLIBC__
    return strerrordesc_np(errnum);
#else
    return strerror(errnum);
#endif
}

/* The arguments may point into *err itself, so it is written only once the text is made. */
static int set(struct err *err, enum err_code code, int errnum, const char *format, va_list args)
{
    char raw[sizeof(err->message)];
    char suffix[80] = "";
    const char *description = errnum ? describe(errnum) : NULL;
    int len = vsnprintf(raw, sizeof(raw), format, args);

    if (len < 0)
        (void) snprintf(raw, sizeof(raw), "%s", format); /* the bare format still says most */
    if (description)
        (void) snprintf(suffix, sizeof(suffix), ": %s", description); /* none is longer */
    else if (errnum)
        (void) snprintf(suffix, sizeof(suffix), ": error %d", errnum); /* fits */

    memset(err, 0, sizeof(*err)); /* it crosses a socket whole: no old stack bytes in it */
    err->code = code;
    err->errnum = errnum;
    copy_line(err->message, sizeof(err->message) - strlen(suffix), raw);
    memcpy(err->message + strlen(err->message), suffix, strlen(suffix) + 1); /* room was left */
    return -1;
}

int err_set(struct err *err, enum err_code code, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void) set(err, code, 0, format, args); /* always -1 */
    va_end(args);
    return -1;
}

int err_sys(struct err *err, enum err_code code, const char *format, ...)
{
    int errnum = errno;
    va_list args;

    va_start(args, format);
    (void) set(err, code, errnum, format, args); /* always -1 */
    va_end(args);
    errno = errnum;
    return -1;
}

int err_no_memory(struct err *err)
{
    return err_set(err, ERR_HOST, "out of memory");
}

int err_prefix(struct err *err, const char *format, ...)
{
    char raw[2 * sizeof(err->message)];
    va_list args;

    va_start(args, format);
    int len = vsnprintf(raw, sizeof(err->message), format, args);
    va_end(args);
    if (len < 0)
        return -1;
    size_t used = strlen(raw);
    /* It has room for both; copy_line cuts. */
    (void) snprintf(raw + used, sizeof(raw) - used, ": %s", err->message);
    copy_line(err->message, sizeof(err->message), raw);
    return -1;
}

int err_hint(struct err *err, const char *format, ...)
{
    char raw[sizeof(err->hint)];
    va_list args;

    va_start(args, format);
    if (vsnprintf(raw, sizeof(raw), format, args) >= 0)
        copy_line(err->hint, sizeof(err->hint), raw);
    va_end(args);
    return -1;
}

int err_step(struct err *err, const char *step)
{
    if (err->step[0] == '\0')
        copy_line(err->step, sizeof(err->step), step);
    return -1;
}
