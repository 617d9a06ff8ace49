#include "base/json.h"

#include <jansson.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/utf8.h"

/* From here on, readers that use doubles change the number. */
#define INTEGER_LIMIT ((json_int_t) 1 << 53)

/* Ours is jansson's under another name; nothing outside this file can look into it. */
static json_t *inner(const struct json_value *value)
{
    return (json_t *) (uintptr_t) value;
}

static struct json_value *outer(json_t *value)
{
    return (struct json_value *) value;
}

/* Where a value is: the steps from it up to the document. */
struct place {
    const struct place *up; /* NULL for the document itself */
    const char *key;        /* NULL for an element of an array */
    size_t index;
};

static void print_place(const struct place *place, struct buf *into)
{
    if (!place->up)
        return;
    print_place(place->up, into);
    /* A path that outgrows its buffer is cut: the message is of use without its end. */
    if (place->key)
        (void) buf_printf(into, "%s%.64s", into->len ? "." : "", place->key);
    else
        (void) buf_printf(into, "[%zu]", place->index);
}

static int refuse(const char *what, const struct place *place, const char *why, struct err *err)
{
    _cleanup_(buf_release) struct buf path = BUF_INIT(256);

    print_place(place, &path);
    return err_set(err, ERR_REQUEST, "%s: %s%s%s", what, path.len ? path.data : "",
                   path.len ? ": " : "", why);
}

static int check(json_t *value, const char *what, const struct place *place, int depth,
                 struct err *err);

static int check_object(json_t *object, const char *what, const struct place *place, int depth,
                        struct err *err)
{
    const char *key;
    json_t *member;

    json_object_foreach (object, key, member) {
        struct place below = {.up = place, .key = key};
        if (check(member, what, &below, depth + 1, err) < 0)
            return -1;
    }
    return 0;
}

static int check_array(json_t *array, const char *what, const struct place *place, int depth,
                       struct err *err)
{
    for (size_t i = 0; i < json_array_size(array); i++) {
        struct place below = {.up = place, .index = i};
        if (check(json_array_get(array, i), what, &below, depth + 1, err) < 0)
            return -1;
    }
    return 0;
}

/* What jansson takes and we do not. Recursion ends at JSON_MAX_DEPTH. */
static int check(json_t *value, const char *what, const struct place *place, int depth,
                 struct err *err)
{
    json_int_t number = json_integer_value(value);

    if (json_is_real(value))
        return refuse(what, place, "numbers with a fraction or an exponent are not taken", err);
    if (number >= INTEGER_LIMIT || number <= -INTEGER_LIMIT)
        return refuse(what, place, "integers beyond 2^53-1 are not taken", err);
    if (!json_is_object(value) && !json_is_array(value))
        return 0;
    if (depth > JSON_MAX_DEPTH)
        return refuse(what, place, "nested more than 32 levels deep", err);
    if (json_is_object(value))
        return check_object(value, what, place, depth, err);
    return check_array(value, what, place, depth, err);
}
_Static_assert(JSON_MAX_DEPTH == 32, "the message above says 32");

/* jansson's own words, but where they speak of its flags or are hard to act on. */
static const char *failure_text(const json_error_t *error)
{
    static const struct {
        enum json_error_code code;
        const char *text;
    } texts[] = {
        {json_error_null_character, "NUL in a string is not taken"},
        {json_error_null_byte_in_key, "NUL in a key is not taken"},
        {json_error_end_of_input_expected, "nothing may follow the value"},
        {json_error_premature_end_of_input, "the text ends too early"},
        {json_error_numeric_overflow, "integers beyond 2^53-1 are not taken"},
        {json_error_stack_overflow, "nested more than 32 levels deep"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        if (json_error_code(error) == texts[i].code)
            return texts[i].text;
    return error->text;
}

static int check_text(const char *text, size_t len, const char *what, struct err *err)
{
    if (len > JSON_MAX_BYTES)
        return err_set(err, ERR_REQUEST, "%s: larger than 1 MiB, the most that is taken", what);
    if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        return err_set(err, ERR_REQUEST, "%s: starts with a byte order mark: save it without",
                       what);
    if (!utf8_valid(text, len))
        return err_set(err, ERR_REQUEST, "%s: not valid UTF-8", what);
    return 0;
}

int json_parse(const char *text, size_t len, const char *what, struct json_value **ret_document,
               struct err *err)
{
    const struct place root = {.up = NULL};
    json_error_t error;

    if (check_text(text, len, what, err) < 0)
        return -1;
    json_t *document = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
    if (!document)
        return err_set(err, ERR_REQUEST, "%s: line %d, column %d: %s", what, error.line,
                       error.column, failure_text(&error));
    if (check(document, what, &root, 1, err) < 0) {
        json_decref(document);
        return -1;
    }
    *ret_document = outer(document);
    return 0;
}

void json_free(struct json_value *document)
{
    json_decref(inner(document));
}

enum json_kind json_kind(const struct json_value *value)
{
    static const enum json_kind kinds[] = {
        [JSON_OBJECT] = JSON_KIND_OBJECT, [JSON_ARRAY] = JSON_KIND_ARRAY,
        [JSON_STRING] = JSON_KIND_STRING, [JSON_INTEGER] = JSON_KIND_INT,
        [JSON_REAL] = JSON_KIND_INT, /* none is left after json_parse */
        [JSON_TRUE] = JSON_KIND_BOOL,     [JSON_FALSE] = JSON_KIND_BOOL,
        [JSON_NULL] = JSON_KIND_NULL,
    };

    return kinds[json_typeof(inner(value))];
}

const char *json_kind_name(enum json_kind kind)
{
    static const char *const names[] = {
        [JSON_KIND_NULL] = "null",      [JSON_KIND_BOOL] = "true or false",
        [JSON_KIND_INT] = "an integer", [JSON_KIND_STRING] = "a string",
        [JSON_KIND_ARRAY] = "an array", [JSON_KIND_OBJECT] = "an object",
    };

    return names[kind];
}

const char *json_value_string(const struct json_value *value)
{
    return json_string_value(inner(value));
}

int64_t json_value_int(const struct json_value *value)
{
    return json_integer_value(inner(value));
}

bool json_value_bool(const struct json_value *value)
{
    return json_is_true(inner(value));
}

size_t json_value_count(const struct json_value *value)
{
    return json_is_object(inner(value)) ? json_object_size(inner(value))
                                        : json_array_size(inner(value));
}

const struct json_value *json_value_at(const struct json_value *array, size_t index)
{
    return outer(json_array_get(inner(array), index));
}

const struct json_value *json_value_get(const struct json_value *object, const char *key)
{
    return outer(json_object_get(inner(object), key));
}

int json_value_each(const struct json_value *object,
                    int (*each)(const char *key, const struct json_value *value, void *data),
                    void *data)
{
    const char *key;
    json_t *member;

    json_object_foreach (inner(object), key, member) {
        int rc = each(key, outer(member), data);
        if (rc != 0)
            return rc;
    }
    return 0;
}
