/*
 * canonical: one form for all spellings of a document, and its digest.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "plan/document.h"

#define CANONICAL_MAX_BYTES ((size_t) 8 * JSON_MAX_BYTES)

/* Keys by their bytes; there are few. */
static size_t sort_members(const struct node *object, const struct node *ret_sorted[])
{
    size_t n = 0;

    for (const struct node *node = object->first; node; node = node->next) {
        size_t at = n++;
        for (; at > 0 && strcmp(ret_sorted[at - 1]->key, node->key) > 0; at--)
            ret_sorted[at] = ret_sorted[at - 1];
        ret_sorted[at] = node;
    }
    return n;
}

static void write_object(const struct node *object, struct json_writer *json)
{
    const struct node *sorted[DOCUMENT_MAX_KEYS];
    size_t n = sort_members(object, sorted);

    json_open_object(json);
    for (size_t i = 0; i < n; i++) {
        json_key(json, sorted[i]->key);
        document_write(sorted[i], json);
    }
    json_close_object(json);
}

void document_write(const struct node *document, struct json_writer *json)
{
    switch (document->kind) {
    case JSON_KIND_NULL:
        json_put_null(json);
        return;
    case JSON_KIND_BOOL:
        json_put_bool(json, document->truth);
        return;
    case JSON_KIND_INT:
        json_put_int(json, document->number);
        return;
    case JSON_KIND_STRING:
        json_put_text(json, document->text, document->len);
        return;
    case JSON_KIND_ARRAY:
        json_open_array(json);
        for (const struct node *node = document->first; node; node = node->next)
            document_write(node, json);
        json_close_array(json);
        return;
    case JSON_KIND_OBJECT:
        write_object(document, json);
        return;
    }
}

/*
 * The same once more, hashed as it is made: most texts are plain, and this takes a quarter of the
 * time. What is not plain goes through the writer above, so that there is one way to escape.
 */
struct hashing {
    struct sha256 sha;
    size_t used;
    bool no_memory;
    char chunk[4096];
};

static void flush(struct hashing *hashing)
{
    sha256_add(&hashing->sha, hashing->chunk, hashing->used);
    hashing->used = 0;
}

static void put(struct hashing *hashing, const char *bytes, size_t len)
{
    if (len > sizeof(hashing->chunk) - hashing->used)
        flush(hashing);
    if (len > sizeof(hashing->chunk)) {
        sha256_add(&hashing->sha, bytes, len);
        return;
    }
    memcpy(hashing->chunk + hashing->used, bytes, len);
    hashing->used += len;
}

static void put_char(struct hashing *hashing, char c)
{
    if (hashing->used == sizeof(hashing->chunk))
        flush(hashing);
    hashing->chunk[hashing->used++] = c;
}

static void put_escaped(struct hashing *hashing, const char *text, size_t len)
{
    _cleanup_(buf_release) struct buf quoted = BUF_INIT(CANONICAL_MAX_BYTES);
    struct json_writer json;

    json_writer_init_buf(&json, &quoted);
    json_put_text(&json, text, len);
    if (json_finish(&json) < 0)
        hashing->no_memory = true;
    else
        put(hashing, quoted.data, quoted.len - 1); /* without the line's end */
}

static void put_text(struct hashing *hashing, const char *text, size_t len, bool is_plain)
{
    if (!is_plain) {
        put_escaped(hashing, text, len);
        return;
    }
    put_char(hashing, '"');
    put(hashing, text, len);
    put_char(hashing, '"');
}

static void hash_node(struct hashing *hashing, const struct node *node);

static void hash_object(struct hashing *hashing, const struct node *object)
{
    const struct node *sorted[DOCUMENT_MAX_KEYS];
    size_t n = sort_members(object, sorted);

    put_char(hashing, '{');
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(sorted[i]->key);
        if (i > 0)
            put_char(hashing, ',');
        put_text(hashing, sorted[i]->key, len, plain_run(sorted[i]->key) == len);
        put_char(hashing, ':');
        hash_node(hashing, sorted[i]);
    }
    put_char(hashing, '}');
}

static void hash_array(struct hashing *hashing, const struct node *array)
{
    put_char(hashing, '[');
    for (const struct node *node = array->first; node; node = node->next) {
        if (node != array->first)
            put_char(hashing, ',');
        hash_node(hashing, node);
    }
    put_char(hashing, ']');
}

static void hash_node(struct hashing *hashing, const struct node *node)
{
    char number[24];

    switch (node->kind) {
    case JSON_KIND_NULL:
        put(hashing, "null", 4);
        return;
    case JSON_KIND_BOOL:
        put(hashing, node->truth ? "true" : "false", node->truth ? 4 : 5);
        return;
    case JSON_KIND_INT:
        (void) snprintf(number, sizeof(number), "%" PRId64, node->number); /* fits */
        put(hashing, number, strlen(number));
        return;
    case JSON_KIND_STRING:
        put_text(hashing, node->text, node->len, node->is_plain);
        return;
    case JSON_KIND_ARRAY:
        hash_array(hashing, node);
        return;
    case JSON_KIND_OBJECT:
        hash_object(hashing, node);
        return;
    }
}

int document_digest(const struct node *document, struct digest *ret_digest)
{
    struct hashing hashing = {.used = 0};

    sha256_init(&hashing.sha);
    hash_node(&hashing, document);
    flush(&hashing);
    sha256_finish(&hashing.sha, ret_digest);
    return hashing.no_memory ? -1 : 0;
}
