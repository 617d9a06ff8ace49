/* fs_read: a piece of a file. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "broker/guise.h"
#include "broker/place.h"
#include "plan/keys.h"

enum encoding { ENCODING_ANY, ENCODING_TEXT, ENCODING_BASE64 };

struct asked {
    const char *path;
    uint64_t offset;
    size_t max_bytes;
    enum encoding encoding;
};

/* ---- the request ----------------------------------------------------------------------------- */

static int take_path(struct reading *reading, const char *path, const struct json_value *value,
                     void *into)
{
    (void) reading;
    (void) path;
    ((struct asked *) into)->path = json_value_string(value);
    return 0;
}

static int take_offset(struct reading *reading, const char *path, const struct json_value *value,
                       void *into)
{
    int64_t number = json_value_int(value);

    if (number < 0)
        return key_refuse(reading, path, "must be 0 or more");
    ((struct asked *) into)->offset = (uint64_t) number;
    return 0;
}

static int take_max_bytes(struct reading *reading, const char *path, const struct json_value *value,
                          void *into)
{
    int64_t number = json_value_int(value);

    if (number < 1 || number > (int64_t) BROKER_MAX_READ)
        return key_refuse(reading, path, "must be from 1 to %zu: read the file piece by piece",
                          BROKER_MAX_READ);
    ((struct asked *) into)->max_bytes = (size_t) number;
    return 0;
}

static int take_encoding(struct reading *reading, const char *path, const struct json_value *value,
                         void *into)
{
    const char *name = json_value_string(value);
    bool is_text = strcmp(name, "text") == 0;

    if (!is_text && strcmp(name, "base64") != 0)
        return key_refuse(reading, path, "must be 'text' or 'base64'");
    ((struct asked *) into)->encoding = is_text ? ENCODING_TEXT : ENCODING_BASE64;
    return 0;
}

static const struct key keys[] = {
    {"path", JSON_KIND_STRING, 1, true, take_path},
    {"offset", JSON_KIND_INT, 1, false, take_offset},
    {"max_bytes", JSON_KIND_INT, 1, false, take_max_bytes},
    {"encoding", JSON_KIND_STRING, 1, false, take_encoding},
};

/* ---- the file -------------------------------------------------------------------------------- */

/* The very file that was judged, whatever has its name by now. */
static int open_judged(struct call *call, const struct place *place, int *ret_fd)
{
    struct guise guise = GUISE_NONE;
    char link[32];

    (void) snprintf(link, sizeof(link), "/proc/self/fd/%d", place->file); /* fits */
    if (guise_on(&guise, place->scope->fd, &call->err) < 0)
        return -1;
    int fd = open(link, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    guise_off(&guise);
    if (fd < 0)
        return place_fail(call, place->path, "read");
    *ret_fd = fd;
    return 0;
}

static int read_piece(struct call *call, const struct place *place, int fd,
                      const struct asked *asked, char *bytes, size_t *ret_len)
{
    size_t len = 0;

    while (len < asked->max_bytes) {
        ssize_t n = pread(fd, bytes + len, asked->max_bytes - len, (off_t) (asked->offset + len));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return place_fail(call, place->path, "read");
        if (n == 0)
            break;
        len += (size_t) n;
    }
    *ret_len = len;
    return 0;
}

/* ---- the answer ------------------------------------------------------------------------------ */

static bool is_text(const char *bytes, size_t len)
{
    return memchr(bytes, '\0', len) == NULL && utf8_valid(bytes, len);
}

/* Whether it goes as text, and how much: a character that is cut is left for the next piece. */
static int choose_text(struct call *call, const struct asked *asked, const char *bytes, bool at_end,
                       size_t *len, bool *ret_text)
{
    size_t whole = at_end ? *len : utf8_cut(bytes, *len);

    *ret_text =
        asked->encoding != ENCODING_BASE64 && (whole > 0 || *len == 0) && is_text(bytes, whole);
    if (*ret_text)
        *len = whole;
    if (*ret_text || asked->encoding != ENCODING_TEXT)
        return 0;
    (void) err_set(&call->err, ERR_REQUEST, "'%s' is not text in UTF-8, or not here",
                   asked->path); /* always -1 */
    return err_hint(&call->err, "ask for encoding 'base64'");
}

static int write_piece(const struct asked *asked, const char *bytes, size_t len, bool as_text,
                       uint64_t size, struct buf *answer)
{
    struct json_writer json;

    answer->len = 0;
    json_writer_init_buf(&json, answer);
    json_open_object(&json);
    json_key(&json, as_text ? "data" : "base64");
    if (as_text)
        json_put_text(&json, bytes, len);
    else
        json_put_base64(&json, bytes, len);
    json_key(&json, "size");
    json_put_uint(&json, size);
    json_key(&json, "offset");
    json_put_uint(&json, asked->offset);
    json_key(&json, "eof");
    json_put_bool(&json, asked->offset + len >= size);
    json_close_object(&json);
    return json_finish(&json);
}

/* Control characters take six times their size: as much is told as fits. */
static int answer_piece(struct call *call, const struct asked *asked, const char *bytes, size_t len,
                        uint64_t size, struct buf *answer)
{
    bool as_text;

    if (choose_text(call, asked, bytes, asked->offset + len >= size, &len, &as_text) < 0)
        return -1;
    while (write_piece(asked, bytes, len, as_text, size, answer) < 0) {
        if (len < 8)
            return err_no_memory(&call->err);
        len = as_text ? utf8_cut(bytes, len / 2) : len / 2;
    }
    return 0;
}

int broker_fs_read(struct call *call, const struct json_value *object, struct buf *answer)
{
    struct reading reading = {
        .arena = call->arena, .err = &call->err, .kind = 1, .shapes = "guest/README.md"};
    struct asked asked = {.max_bytes = BROKER_READ_BYTES};
    _cleanup_(place_release) struct place place = PLACE_NONE;
    _cleanup_fd_ int fd = -1;
    struct stat st;
    size_t len = 0;

    if (keys_read(&reading, "", object, keys, ARRAY_SIZE(keys), &asked) < 0 ||
        place_to_read(call, asked.path, &place) < 0)
        return -1;
    const struct broker_use use = {.capability = CAPABILITY_FS_READ, .path = place.real};
    if (call_check(call, &use, NULL) < 0 || open_judged(call, &place, &fd) < 0)
        return -1;
    char *bytes = arena_alloc(call->arena, asked.max_bytes);
    if (bytes == NULL)
        return err_no_memory(&call->err);
    if (read_piece(call, &place, fd, &asked, bytes, &len) < 0)
        return -1;
    if (fstat(fd, &st) < 0)
        return place_fail(call, place.path, "looked at");
    return answer_piece(call, &asked, bytes, len, (uint64_t) st.st_size, answer);
}
