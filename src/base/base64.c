#include "base/base64.h"

#include <stdint.h>
#include <string.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_encode_group(const void *bytes, size_t len, char ret_group[4])
{
    const uint8_t *from = bytes;
    uint32_t bits = (uint32_t) from[0] << 16;

    if (len > 1)
        bits |= (uint32_t) from[1] << 8;
    if (len > 2)
        bits |= from[2];
    ret_group[0] = alphabet[bits >> 18];
    ret_group[1] = alphabet[bits >> 12 & 63];
    ret_group[2] = len > 1 ? alphabet[bits >> 6 & 63] : '=';
    ret_group[3] = len > 2 ? alphabet[bits & 63] : '=';
}

/* How many of the group's characters are padding. */
static size_t padding(const char *group)
{
    return group[3] != '=' ? 0 : group[2] != '=' ? 1 : 2;
}

/*
 * Three bytes less the padding; false if a character is none of the alphabet or a stray bit is
 * set.
 */
static bool decode_group(const char *group, size_t padded, uint8_t *to)
{
    uint32_t bits = 0;

    for (size_t i = 0; i < 4; i++) {
        const char *found = memchr(alphabet, group[i], sizeof(alphabet) - 1);
        if (!found && i < 4 - padded)
            return false;
        bits = bits << 6 | (found ? (uint32_t) (found - alphabet) : 0);
    }
    if (bits & ((1U << (8 * padded)) - 1))
        return false;
    for (size_t i = 0; i < 3 - padded; i++)
        to[i] = (uint8_t) (bits >> (16 - 8 * i));
    return true;
}

bool base64_decode(const char *text, size_t len, void *ret_bytes, size_t *ret_len)
{
    uint8_t *to = ret_bytes;
    size_t made = 0;

    if (len % 4 != 0)
        return false;
    for (size_t at = 0; at < len; at += 4) {
        size_t padded = at + 4 == len ? padding(text + at) : 0;
        if (!decode_group(text + at, padded, to + made))
            return false;
        made += 3 - padded;
    }
    *ret_len = made;
    return true;
}
