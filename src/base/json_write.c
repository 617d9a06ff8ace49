#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/base64.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/utf8.h"

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

static void init(struct json_writer *json, int fd, struct buf *into)
{
    /* All but the chunk, whose 8 KiB nobody reads before they are written. */
    memset(json, 0, offsetof(struct json_writer, chunk));
    json->fd = fd;
    json->into = into;
}

void json_writer_init_fd(struct json_writer *json, int fd)
{
    init(json, fd, NULL);
}

void json_writer_init_buf(struct json_writer *json, struct buf *into)
{
    init(json, -1, into);
}

static void deliver(struct json_writer *json, const char *bytes, size_t len)
{
    int rc;

    if (json->failed || len == 0)
        return;
    rc = json->into ? buf_add(json->into, bytes, len) : fd_write_all(json->fd, bytes, len);
    if (rc < 0)
        json->failed = errno ? errno : EIO;
}

static void flush(struct json_writer *json)
{
    deliver(json, json->chunk, json->used);
    json->used = 0;
}

static void put(struct json_writer *json, const char *bytes, size_t len)
{
    if (len > sizeof(json->chunk) - json->used)
        flush(json);
    if (len > sizeof(json->chunk)) {
        deliver(json, bytes, len);
        return;
    }
    memcpy(json->chunk + json->used, bytes, len);
    json->used += len;
}

static void put_literal(struct json_writer *json, const char *text)
{
    put(json, text, strlen(text));
}

/* The comma before an item, unless it is the first or follows its key. */
static void begin_item(struct json_writer *json)
{
    if (json->after_key)
        json->after_key = false;
    else if (json->has_item[json->depth])
        put(json, ",", 1);
    json->has_item[json->depth] = true;
}

static void open_level(struct json_writer *json, const char *bracket)
{
    begin_item(json);
    assert(json->depth < JSON_MAX_DEPTH);
    json->has_item[++json->depth] = false;
    put(json, bracket, 1);
}

static void close_level(struct json_writer *json, const char *bracket)
{
    assert(json->depth > 0 && !json->after_key);
    json->depth--;
    put(json, bracket, 1);
}

void json_open_object(struct json_writer *json)
{
    open_level(json, "{");
}

void json_close_object(struct json_writer *json)
{
    close_level(json, "}");
}

void json_open_array(struct json_writer *json)
{
    open_level(json, "[");
}

void json_close_array(struct json_writer *json)
{
    close_level(json, "]");
}

/* How many bytes at the start can stand in a string as they are, leaving out all beyond ASCII. */
static size_t plain_run(const char *bytes, size_t len)
{
    size_t n = 0;

    while (n < len && (unsigned char) bytes[n] >= 0x20 && (unsigned char) bytes[n] < 0x7f &&
           bytes[n] != '"' && bytes[n] != '\\')
        n++;
    return n;
}

static void put_escape(struct json_writer *json, unsigned char c)
{
    static const char from[] = "\"\\\n\r\t\b\f";
    static const char to[] = "\"\\nrtbf";
    const char *found = memchr(from, c, sizeof(from) - 1);
    char escape[8];

    if (found)
        (void) snprintf(escape, sizeof(escape), "\\%c", to[found - from]); /* fits */
    else
        (void) snprintf(escape, sizeof(escape), "\\u%04x", c); /* fits */
    put_literal(json, escape);
}

/* One character that plain_run left; returns how many bytes it took. */
static size_t put_special(struct json_writer *json, const char *bytes, size_t len)
{
    unsigned char first = (unsigned char) bytes[0];
    size_t skip = 0;
    size_t n = utf8_next(bytes, len, &skip);

    if (n == 0)
        put_literal(json, REPLACEMENT);
    else if (n == 1)
        put_escape(json, first);
    else if (n == 2 && first == 0xc2 && (unsigned char) bytes[1] < 0xa0)
        put_escape(json, (unsigned char) bytes[1]); /* C1: a terminal would obey it */
    else
        put(json, bytes, n);
    return n ? n : skip;
}

static void put_quoted(struct json_writer *json, const char *bytes, size_t len)
{
    put(json, "\"", 1);
    for (size_t at = 0; at < len;) {
        size_t n = plain_run(bytes + at, len - at);
        put(json, bytes + at, n);
        at += n;
        if (at < len)
            at += put_special(json, bytes + at, len - at);
    }
    put(json, "\"", 1);
}

void json_key(struct json_writer *json, const char *key)
{
    assert(json->depth > 0 && !json->after_key);
    begin_item(json);
    put_quoted(json, key, strlen(key));
    put(json, ":", 1);
    json->after_key = true;
}

void json_put_text(struct json_writer *json, const char *bytes, size_t len)
{
    begin_item(json);
    put_quoted(json, bytes, len);
}

void json_put_string(struct json_writer *json, const char *text)
{
    if (text)
        json_put_text(json, text, strlen(text));
    else
        json_put_null(json);
}

void json_put_base64(struct json_writer *json, const char *bytes, size_t len)
{
    char group[4];

    begin_item(json);
    put(json, "\"", 1);
    for (size_t at = 0; at < len; at += 3) {
        base64_encode_group(bytes + at, len - at, group);
        put(json, group, sizeof(group));
    }
    put(json, "\"", 1);
}

void json_put_json(struct json_writer *json, const char *text, size_t len)
{
    if (len > 0 && text[len - 1] == '\n')
        len--; /* ours ends with one, and an envelope is one line */
    begin_item(json);
    put(json, text, len);
}

void json_put_uint(struct json_writer *json, uint64_t value)
{
    char digits[24];

    begin_item(json);
    (void) snprintf(digits, sizeof(digits), "%" PRIu64, value); /* fits */
    put_literal(json, digits);
}

void json_put_int(struct json_writer *json, int64_t value)
{
    char digits[24];

    begin_item(json);
    (void) snprintf(digits, sizeof(digits), "%" PRId64, value); /* fits */
    put_literal(json, digits);
}

void json_put_bool(struct json_writer *json, bool value)
{
    begin_item(json);
    put_literal(json, value ? "true" : "false");
}

void json_put_null(struct json_writer *json)
{
    begin_item(json);
    put_literal(json, "null");
}

int json_finish(struct json_writer *json)
{
    assert(json->depth == 0 && !json->after_key);
    put(json, "\n", 1);
    flush(json);
    if (!json->failed)
        return 0;
    errno = json->failed;
    return -1;
}
