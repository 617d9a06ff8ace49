#include "base/visible.h"

#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/utf8.h"

/* Ordered. Control characters are told apart before. */
static const struct range {
    uint32_t first, last;
} unseen[] = {
    {0x80, 0xa0},        /* C1, no-break space */
    {0xad, 0xad},        /* soft hyphen */
    {0x300, 0x36f},      /* combining marks: they are painted over the character before */
    {0x483, 0x489},      /* likewise */
    {0x61c, 0x61c},      /* Arabic letter mark */
    {0x115f, 0x1160},    /* Hangul fillers */
    {0x1680, 0x1680},    /* Ogham space */
    {0x17b4, 0x17b5},    /* Khmer inherent vowels */
    {0x180b, 0x180f},    /* Mongolian selectors */
    {0x1ab0, 0x1aff},    /* combining */
    {0x1dc0, 0x1dff},    /* combining */
    {0x2000, 0x200f},    /* spaces, zero width, marks of direction */
    {0x2028, 0x202f},    /* line ends, embeddings and overrides */
    {0x205f, 0x206f},    /* space, invisible operators, isolates */
    {0x20d0, 0x20ff},    /* combining */
    {0x2800, 0x2800},    /* empty Braille */
    {0x3000, 0x3000},    /* wide space */
    {0x3164, 0x3164},    /* Hangul filler */
    {0xe000, 0xf8ff},    /* private use: a font may show anything */
    {0xfe00, 0xfe0f},    /* variation selectors */
    {0xfe20, 0xfe2f},    /* combining */
    {0xfeff, 0xfeff},    /* byte order mark */
    {0xffa0, 0xffa0},    /* Hangul filler */
    {0xfff0, 0xfffb},    /* interlinear */
    {0x1bca0, 0x1bca3},  /* shorthand format */
    {0x1d173, 0x1d17a},  /* musical format */
    {0xe0000, 0x10ffff}, /* tags, selectors, private use */
};

static bool is_unseen(uint32_t c)
{
    for (size_t i = 0; i < ARRAY_SIZE(unseen) && unseen[i].first <= c; i++)
        if (c <= unseen[i].last)
            return true;
    return false;
}

/* Of a well-formed character of n bytes. */
static uint32_t decode(const char *text, size_t n)
{
    static const uint8_t lead[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t c = (unsigned char) text[0] & lead[n];

    for (size_t i = 1; i < n; i++)
        c = c << 6 | ((unsigned char) text[i] & 0x3f);
    return c;
}

static int add_bytes(struct buf *into, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (buf_printf(into, "\\x%02x", (unsigned char) bytes[i]) < 0)
            return -1;
    return 0;
}

static int add_one(struct buf *into, const char *text, size_t n)
{
    uint32_t c = decode(text, n);

    if (c == '\n' || c == '\t')
        return buf_add_string(into, c == '\n' ? "\\n" : "\\t");
    if (c < 0x20 || c == 0x7f)
        return add_bytes(into, text, n);
    return is_unseen(c) ? buf_printf(into, "\\u{%x}", c) : buf_add(into, text, n);
}

int visible_add(struct buf *into, const char *text)
{
    size_t len = strlen(text), spaces = 0;

    for (size_t at = 0, skip = 0; at < len;) {
        size_t n = utf8_next(text + at, len - at, &skip);
        spaces = text[at] == ' ' ? spaces + 1 : 0;
        int rc = n == 0                    ? add_bytes(into, text + at, skip)
                 : spaces > VISIBLE_SPACES ? add_bytes(into, text + at, 1)
                                           : add_one(into, text + at, n);
        if (rc < 0)
            return -1;
        at += n > 0 ? n : skip;
    }
    return 0;
}
