/*
 * Writes bytes to its streams, and nothing else: groups of STREAM HEX COUNT ("out ff00 3" writes
 * the two bytes three times to stdout).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static size_t from_hex(const char *hex, char *ret_bytes, size_t room)
{
    size_t len = 0;
    for (unsigned byte; len < room && sscanf(hex, "%2x", &byte) == 1; hex += 2)
        ret_bytes[len++] = (char) byte;
    return len;
}

static int write_all(int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, bytes, len);
        if (n <= 0)
            return -1;
        bytes += n;
        len -= (size_t) n;
    }
    return 0;
}

int main(int argc, char **argv)
{
    static char block[65536];
    for (int i = 1; i + 2 < argc; i += 3) {
        int fd = strcmp(argv[i], "err") == 0 ? 2 : 1;
        char unit[64];
        size_t unit_len = from_hex(argv[i + 1], unit, sizeof unit);
        unsigned long long count = strtoull(argv[i + 2], NULL, 10);
        if (unit_len == 0)
            return 2;
        size_t per_block = sizeof block / unit_len;
        for (size_t u = 0; u < per_block; u++)
            memcpy(block + u * unit_len, unit, unit_len);
        for (; count > 0; count -= count < per_block ? count : per_block)
            if (write_all(fd, block, (count < per_block ? (size_t) count : per_block) * unit_len) <
                0)
                return 1;
    }
    return 0;
}
