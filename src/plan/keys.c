#include "plan/keys.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int key_refuse(struct reading *reading, const char *path, const char *format, ...)
{
    char why[sizeof(reading->err->message)];
    va_list args;

    va_start(args, format);
    (void) vsnprintf(why, sizeof(why), format, args); /* the message would cut it too */
    va_end(args);
    (void) err_set(reading->err, ERR_REQUEST, "%s: %s", path, why); /* always -1 */
    return reading->shapes ? err_hint(reading->err, "see %s", reading->shapes) : -1;
}

int key_judged(struct reading *reading, const char *path, int rc)
{
    return rc < 0 ? err_prefix(reading->err, "%s", path) : rc;
}

int key_check_type(struct reading *reading, const char *path, const struct json_value *value,
                   enum json_kind type)
{
    if (json_kind(value) == type)
        return 0;
    return key_refuse(reading, path, "must be %s, not %s", json_kind_name(type),
                      json_kind_name(json_kind(value)));
}

/* In the document itself the path of a member is its name alone. */
static void join(char to[KEY_PATH_SIZE], const char *path, const char *name)
{
    (void) snprintf(to, KEY_PATH_SIZE, "%s%s%s", path, path[0] ? "." : "", name); /* may be cut */
}

/* What json_value_each hands on. */
struct members {
    struct reading *reading;
    const char *path;
    const struct key *keys; /* keys_read */
    size_t n_keys;
    member_handler *handle; /* keys_each_member */
    void *into;
};

static const struct key *find_key(const struct members *members, const char *name)
{
    for (size_t i = 0; i < members->n_keys; i++)
        if (strcmp(members->keys[i].name, name) == 0)
            return &members->keys[i];
    return NULL;
}

static int check_member(const char *name, const struct json_value *value, void *data)
{
    const struct members *members = data;
    struct reading *reading = members->reading;
    const struct key *key = find_key(members, name);
    char path[KEY_PATH_SIZE];

    join(path, members->path, name);
    if (!key)
        return key_refuse(reading, path, "unknown key");
    if (!(key->kinds & reading->kind))
        return key_refuse(reading, path, "is a key of kind '%s', not of '%s'",
                          reading->kind_names[__builtin_ctz(key->kinds)],
                          reading->kind_names[__builtin_ctz(reading->kind)]);
    return key_check_type(reading, path, value, key->type);
}

int keys_read(struct reading *reading, const char *path, const struct json_value *object,
              const struct key *keys, size_t n_keys, void *into)
{
    struct members members = {.reading = reading, .path = path, .keys = keys, .n_keys = n_keys};
    char key_path[KEY_PATH_SIZE];

    if (json_value_each(object, check_member, &members) != 0)
        return -1;
    for (const struct key *key = keys; key < keys + n_keys; key++) {
        const struct json_value *value = json_value_get(object, key->name);
        join(key_path, path, key->name);
        if (!value && key->required && (key->kinds & reading->kind))
            return key_refuse(reading, key_path, "is missing");
        if (value && key->handle && key->handle(reading, key_path, value, into) < 0)
            return -1;
    }
    return 0;
}

int keys_each_element(struct reading *reading, const char *path, const struct json_value *array,
                      enum json_kind type, key_handler *handle, void *into)
{
    char element_path[KEY_PATH_SIZE];

    for (size_t i = 0; i < json_value_count(array); i++) {
        const struct json_value *element = json_value_at(array, i);
        (void) snprintf(element_path, sizeof(element_path), "%s[%zu]", path, i); /* may be cut */
        if (key_check_type(reading, element_path, element, type) < 0 ||
            handle(reading, element_path, element, into) < 0)
            return -1;
    }
    return 0;
}

static int handle_member(const char *name, const struct json_value *value, void *data)
{
    const struct members *members = data;
    char path[KEY_PATH_SIZE];

    join(path, members->path, name);
    return members->handle(members->reading, path, name, value, members->into);
}

int keys_each_member(struct reading *reading, const char *path, const struct json_value *object,
                     member_handler *handle, void *into)
{
    struct members members = {.reading = reading, .path = path, .handle = handle, .into = into};

    return json_value_each(object, handle_member, &members);
}
