/*
 * keys: reading a JSON object by a table of its keys. What is not in the table is refused, and
 * every message starts with the path of the key it is about: "allow_dirs[0].access: …".
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"

#define KEY_PATH_SIZE 192 /* a longer path is cut */

/* What reading one document has in common. */
struct reading {
    struct arena *arena;
    struct err *err;
    const char *base_dir;          /* relative paths count from it; may be NULL */
    unsigned kind;                 /* one bit: what kind of document it is */
    const char *const *kind_names; /* by bit number, as many as key.kinds has bits */
    const char *shapes;            /* where the keys are described, for a hint; may be NULL */
};

/*
 * Gets a value of its key's type, with the key's path; `into` is what the object's caller is
 * filling.
 */
typedef int key_handler(struct reading *reading, const char *path, const struct json_value *value,
                        void *into);

struct key {
    const char *name;
    enum json_kind type;
    unsigned kinds; /* the kinds of document it belongs to */
    bool required;
    key_handler *handle; /* NULL: its value was read beforehand */
};

/*
 * Checks all members of the object against the keys, then handles those there are in the order of
 * the keys, not of the document. `path` is the object's own, "" for the document. 0, or -1 and
 * reading->err.
 */
int keys_read(struct reading *reading, const char *path, const struct json_value *object,
              const struct key *keys, size_t n_keys, void *into);
/* Handles each element of an array, all of one type. */
int keys_each_element(struct reading *reading, const char *path, const struct json_value *array,
                      enum json_kind type, key_handler *handle, void *into);
/* Handles each member of an object whose names are free; the handler checks the type. */
typedef int member_handler(struct reading *reading, const char *path, const char *name,
                           const struct json_value *value, void *into);
int keys_each_member(struct reading *reading, const char *path, const struct json_value *object,
                     member_handler *handle, void *into);

int key_check_type(struct reading *reading, const char *path, const struct json_value *value,
                   enum json_kind type);
/* ERR_REQUEST, the path before the message. Returns -1. */
int key_refuse(struct reading *reading, const char *path, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Passes rc on; if it is -1, the path is put before the message that reading->err has. */
int key_judged(struct reading *reading, const char *path, int rc);
