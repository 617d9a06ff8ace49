#include "base/utf8.h"

#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"

/*
 * What the first byte says: how long the character is and what its second byte may be. Narrower
 * bounds for the second byte are what keeps out overlong forms (E0, F0), surrogates (ED) and
 * values above U+10FFFF (F4).
 */
struct lead {
    uint8_t first, last;
    uint8_t len;
    uint8_t low, high;
};

static const struct lead leads[] = {
    {0x00, 0x7f, 1, 0, 0},       {0xc2, 0xdf, 2, 0x80, 0xbf}, {0xe0, 0xe0, 3, 0xa0, 0xbf},
    {0xe1, 0xec, 3, 0x80, 0xbf}, {0xed, 0xed, 3, 0x80, 0x9f}, {0xee, 0xef, 3, 0x80, 0xbf},
    {0xf0, 0xf0, 4, 0x90, 0xbf}, {0xf1, 0xf3, 4, 0x80, 0xbf}, {0xf4, 0xf4, 4, 0x80, 0x8f},
};

static const struct lead *find_lead(uint8_t byte)
{
    for (size_t i = 0; i < ARRAY_SIZE(leads); i++)
        if (byte >= leads[i].first && byte <= leads[i].last)
            return &leads[i];
    return NULL;
}

/*
 * How many of the bytes begin a character of this lead; all of its length means that it is whole.
 */
static size_t prefix_len(const struct lead *lead, const uint8_t *bytes, size_t len)
{
    size_t n = 1;

    if (n < lead->len && n < len && bytes[n] >= lead->low && bytes[n] <= lead->high)
        for (n = 2; n < lead->len && n < len && (bytes[n] & 0xc0) == 0x80;)
            n++;
    return n;
}

size_t utf8_next(const char *text, size_t len, size_t *ret_skip)
{
    const uint8_t *bytes = (const uint8_t *) text;
    const struct lead *lead = find_lead(bytes[0]);
    size_t n = lead ? prefix_len(lead, bytes, len) : 1;

    if (lead && n == lead->len)
        return n;
    *ret_skip = n;
    return 0;
}

/* The length of the plain ASCII run at the start, eight bytes at a time: output is mostly that. */
static size_t ascii_run(const char *text, size_t len)
{
    size_t n = 0;

    for (uint64_t word; len - n >= sizeof(word); n += sizeof(word)) {
        memcpy(&word, text + n, sizeof(word));
        if (word & 0x8080808080808080ULL)
            break;
    }
    while (n < len && (uint8_t) text[n] < 0x80)
        n++;
    return n;
}

bool utf8_valid(const char *text, size_t len)
{
    size_t skip;

    for (size_t at = ascii_run(text, len); at < len; at += ascii_run(text + at, len - at)) {
        size_t n = utf8_next(text + at, len - at, &skip);
        if (n == 0)
            return false;
        at += n;
    }
    return true;
}

size_t utf8_cut(const char *text, size_t len)
{
    const uint8_t *bytes = (const uint8_t *) text;

    /* A character that the cut would part began at most three bytes ago. */
    for (size_t back = 1; back <= 3 && back <= len; back++) {
        const struct lead *lead = find_lead(bytes[len - back]);
        if ((bytes[len - back] & 0xc0) == 0x80)
            continue;
        if (lead && lead->len > back && prefix_len(lead, bytes + len - back, back) == back)
            return len - back;
        break;
    }
    return len;
}
