/*
 * json: writing JSON onto a descriptor or into a buffer without a copy of it in memory
 * (json_write.c, which needs no library), and reading it strictly (json.c, the only file that
 * knows jansson).
 *
 * No name here may be one of jansson's (json_string, json_null, json_object_get, …): both are
 * linked into one program, statically.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/* ---- writing --------------------------------------------------------------------------------- */

#define JSON_MAX_DEPTH 32

/*
 * Keys and values in the order they are given. Commas and quotes are the writer's business. The
 * first failure sticks: json_finish reports it. Depth is at most JSON_MAX_DEPTH; unbalanced calls
 * are our own mistake and assert.
 */
struct json_writer {
    int fd; /* -1: into `into` */
    struct buf *into;
    int failed; /* errno of the first failure */
    int depth;
    bool has_item[JSON_MAX_DEPTH + 1];
    bool after_key;
    size_t used;
    char chunk[8192];
};

void json_writer_init_fd(struct json_writer *json, int fd);
void json_writer_init_buf(struct json_writer *json, struct buf *into);
void json_open_object(struct json_writer *json);
void json_close_object(struct json_writer *json);
void json_open_array(struct json_writer *json);
void json_close_array(struct json_writer *json);
void json_key(struct json_writer *json, const char *key);
void json_put_string(struct json_writer *json, const char *text); /* NULL gives null */
/* Bytes as text: what is not UTF-8 shows as U+FFFD. */
void json_put_text(struct json_writer *json, const char *bytes, size_t len);
void json_put_base64(struct json_writer *json, const char *bytes, size_t len);
/* A value that is JSON already, by our own writer's word. */
void json_put_json(struct json_writer *json, const char *text, size_t len);
void json_put_uint(struct json_writer *json, uint64_t value);
void json_put_int(struct json_writer *json, int64_t value);
void json_put_bool(struct json_writer *json, bool value);
void json_put_null(struct json_writer *json);
/* Flushes, with a newline at the end. 0, or -1 and errno. */
int json_finish(struct json_writer *json);

/* ---- reading --------------------------------------------------------------------------------- */

#define JSON_MAX_BYTES (1024 * 1024)

struct json_value; /* borrowed from the document that owns it; the document is one itself */

enum json_kind {
    JSON_KIND_NULL,
    JSON_KIND_BOOL,
    JSON_KIND_INT,
    JSON_KIND_STRING,
    JSON_KIND_ARRAY,
    JSON_KIND_OBJECT
};

/*
 * Strict: one value, valid UTF-8, no BOM, no duplicate keys, no floats, no integer beyond 2^53-1,
 * no NUL in a string, at most JSON_MAX_DEPTH deep and JSON_MAX_BYTES long, nothing behind it but
 * white space. `what` names the text in messages. Returns 0 and a document that json_free frees,
 * or -1 and *err (ERR_REQUEST); *ret_document is then untouched.
 */
int json_parse(const char *text, size_t len, const char *what, struct json_value **ret_document,
               struct err *err);
void json_free(struct json_value *document);
enum json_kind json_kind(const struct json_value *value);
const char *json_kind_name(enum json_kind kind); /* "an object", "a string", … for messages */
const char *json_value_string(const struct json_value *value); /* of a JSON_KIND_STRING */
int64_t json_value_int(const struct json_value *value);        /* of a JSON_KIND_INT */
bool json_value_bool(const struct json_value *value);          /* of a JSON_KIND_BOOL */
size_t json_value_count(const struct json_value *value);       /* of an array or object */
const struct json_value *json_value_at(const struct json_value *array, size_t index);
/* NULL if absent. */
const struct json_value *json_value_get(const struct json_value *object, const char *key);
/*
 * Calls each(key, value, data) in the document's order until one returns non-zero; returns that,
 * or 0.
 */
int json_value_each(const struct json_value *object,
                    int (*each)(const char *key, const struct json_value *value, void *data),
                    void *data);
