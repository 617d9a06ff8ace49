#include "base/buf.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SMALLEST 64

void buf_release(struct buf *buf)
{
    if (!buf)
        return;
    free(buf->data);
    *buf = (struct buf) BUF_INIT(buf->max);
}

/* Doubles, but never past the maximum and its NUL. */
static size_t grown(const struct buf *buf, size_t needed)
{
    size_t size = buf->capacity < SMALLEST ? SMALLEST : buf->capacity;

    while (size < needed)
        size = size > SIZE_MAX / 2 ? needed : 2 * size;
    return buf->max < size - 1 ? buf->max + 1 : size;
}

int buf_reserve(struct buf *buf, size_t len, char **ret_room)
{
    if (len > buf->max - buf->len || len > SIZE_MAX - 1 - buf->len) {
        errno = EFBIG;
        return -1;
    }
    size_t needed = buf->len + len + 1;
    if (needed > buf->capacity) {
        size_t size = grown(buf, needed);
        char *data = realloc(buf->data, size);
        if (!data)
            return -1;
        buf->data = data;
        buf->capacity = size;
        buf->data[buf->len] = '\0';
    }
    *ret_room = buf->data + buf->len;
    return 0;
}

void buf_commit(struct buf *buf, size_t len)
{
    assert(buf->data && len < buf->capacity - buf->len);
    buf->len += len;
    buf->data[buf->len] = '\0';
}

int buf_add(struct buf *buf, const void *bytes, size_t len)
{
    char *room;

    if (buf_reserve(buf, len, &room) < 0)
        return -1;
    if (len > 0)
        memcpy(room, bytes, len);
    buf_commit(buf, len);
    return 0;
}

int buf_add_string(struct buf *buf, const char *text)
{
    return buf_add(buf, text, strlen(text));
}

int buf_add_char(struct buf *buf, char c)
{
    return buf_add(buf, &c, 1);
}

int buf_printf(struct buf *buf, const char *format, ...)
{
    va_list args;
    char *room;

    va_start(args, format);
    int len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (len < 0 || buf_reserve(buf, (size_t) len, &room) < 0)
        return -1;

    va_start(args, format);
    (void) vsnprintf(room, (size_t) len + 1, format, args); /* measured above */
    va_end(args);
    buf_commit(buf, (size_t) len);
    return 0;
}
