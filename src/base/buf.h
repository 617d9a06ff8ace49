/*
 * buf: bytes that grow up to a maximum which whoever fills it must name.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct buf {
    char *data; /* always NUL-terminated once anything was added; NULL before */
    size_t len;
    size_t capacity;
    size_t max; /* len never exceeds it */
};

#define BUF_INIT(maximum)                                       \
    {                                                           \
        .data = NULL, .len = 0, .capacity = 0, .max = (maximum) \
    }

void buf_release(struct buf *buf);
/*
 * Each returns 0, or -1 when the maximum or memory is exhausted; the contents are then unchanged.
 */
int buf_add(struct buf *buf, const void *bytes, size_t len);
int buf_add_string(struct buf *buf, const char *text);
int buf_add_char(struct buf *buf, char c);
int buf_printf(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Makes room for len more bytes; *ret_room is where to write them, buf_commit then counts them. */
int buf_reserve(struct buf *buf, size_t len, char **ret_room);
void buf_commit(struct buf *buf, size_t len);
