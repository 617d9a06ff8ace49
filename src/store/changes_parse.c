/*
 * Reading what changes_record.c writes. The folder is ours alone, but a disk forgets and people
 * edit: what is not exactly as it was written is refused, with the key that is wrong.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/utf8.h"
#include "plan/keys.h"
#include "plan/request.h"
#include "store/changes_record.h"

/* ---- values ---------------------------------------------------------------------------------- */

/* Puts the value where `to` points; its type was checked. */
typedef int value_reader(struct reading *reading, const char *path, const struct json_value *value,
                         void *to);

static int read_count(struct reading *reading, const char *path, const struct json_value *value,
                      void *to)
{
    if (json_value_int(value) < 0)
        return key_refuse(reading, path, "is negative");
    *(uint64_t *) to = (uint64_t) json_value_int(value);
    return 0;
}

static int read_bool(struct reading *reading, const char *path, const struct json_value *value,
                     void *to)
{
    (void) reading, (void) path; /* either is right */
    *(bool *) to = json_value_bool(value);
    return 0;
}

/* Exactly as it is written, so nothing but digits that mean the number. */
static int read_u64(struct reading *reading, const char *path, const struct json_value *value,
                    void *to)
{
    const char *text = json_value_string(value);
    uint64_t number = strtoull(text, NULL, 10);
    char again[24];

    (void) snprintf(again, sizeof(again), "%" PRIu64, number); /* fits */
    if (strcmp(again, text) != 0)
        return key_refuse(reading, path, "is no number");
    *(uint64_t *) to = number;
    return 0;
}

static int read_i64(struct reading *reading, const char *path, const struct json_value *value,
                    void *to)
{
    const char *text = json_value_string(value);
    int64_t number = strtoll(text, NULL, 10);
    char again[24];

    (void) snprintf(again, sizeof(again), "%" PRId64, number); /* fits */
    if (strcmp(again, text) != 0)
        return key_refuse(reading, path, "is no number");
    *(int64_t *) to = number;
    return 0;
}

static int read_mode(struct reading *reading, const char *path, const struct json_value *value,
                     void *to)
{
    const char *text = json_value_string(value);

    if (strlen(text) != 4 || strspn(text, "01234567") != 4)
        return key_refuse(reading, path, "must be four octal digits");
    *(uint32_t *) to = (uint32_t) strtoul(text, NULL, 8);
    return 0;
}

static int read_time(struct reading *reading, const char *path, const struct json_value *value,
                     void *to)
{
    const char *text = json_value_string(value);

    if (strlen(text) != CLOCK_TEXT_SIZE - 1)
        return key_refuse(reading, path, "'%s' is no time", text);
    memcpy(to, text, CLOCK_TEXT_SIZE);
    return 0;
}

/* to has room for CHANGES_PATH_SIZE; here and below. */
static int read_text(struct reading *reading, const char *path, const struct json_value *value,
                     void *to)
{
    size_t len = strlen(json_value_string(value));

    if (len == 0 || len >= CHANGES_PATH_SIZE)
        return key_refuse(reading, path, "must have 1 to %d bytes", CHANGES_PATH_SIZE - 1);
    memcpy(to, json_value_string(value), len + 1);
    return 0;
}

static int read_base64(struct reading *reading, const char *path, const struct json_value *value,
                       void *to)
{
    const char *text = json_value_string(value);
    char bytes[CHANGES_PATH_SIZE + 4];
    size_t len = strlen(text), n = 0;

    if (len > (CHANGES_PATH_SIZE + 2) / 3 * 4 || !base64_decode(text, len, bytes, &n))
        return key_refuse(reading, path, "is not base64, or too long");
    if (n == 0 || n >= CHANGES_PATH_SIZE || memchr(bytes, '\0', n) || utf8_valid(bytes, n))
        return key_refuse(reading, path, "must hold a path that is no UTF-8");
    bytes[n] = '\0';
    memcpy(to, bytes, n + 1);
    return 0;
}

static int refuse_word(struct reading *reading, const char *path, const struct json_value *value)
{
    return key_refuse(reading, path, "is '%s', which is none of the words there are",
                      json_value_string(value));
}

static int read_kind(struct reading *reading, const char *path, const struct json_value *value,
                     void *to)
{
    for (enum change_kind kind = 0; kind < CHANGE_KINDS; kind++)
        if (strcmp(change_kind_name(kind), json_value_string(value)) == 0) {
            *(enum change_kind *) to = kind;
            return 0;
        }
    return refuse_word(reading, path, value);
}

static int read_type(struct reading *reading, const char *path, const struct json_value *value,
                     void *to)
{
    for (enum change_type type = 0; type < CHANGE_TYPES; type++)
        if (strcmp(change_type_name(type), json_value_string(value)) == 0) {
            *(enum change_type *) to = type;
            return 0;
        }
    return refuse_word(reading, path, value);
}

static int read_refusal(struct reading *reading, const char *path, const struct json_value *value,
                        void *to)
{
    for (enum change_refusal refusal = REFUSAL_NONE + 1; refusal < REFUSALS; refusal++)
        if (strcmp(change_refusals[refusal].name, json_value_string(value)) == 0) {
            *(enum change_refusal *) to = refusal;
            return 0;
        }
    return refuse_word(reading, path, value);
}

static int read_rule(struct reading *reading, const char *path, const struct json_value *value,
                     void *to)
{
    size_t len = strlen(json_value_string(value));

    if (len == 0 || len >= sizeof(((struct change_line *) NULL)->rule))
        return key_refuse(reading, path, "is no rule");
    memcpy(to, json_value_string(value), len + 1);
    return 0;
}

static int read_schema(struct reading *reading, const char *path, const struct json_value *value,
                       void *to)
{
    (void) to; /* it says which keys there are, and so is none of them */
    if (strcmp(json_value_string(value), CHANGES_SCHEMA) == 0)
        return 0;
    return key_refuse(reading, path, "is '%s', not '" CHANGES_SCHEMA "'", json_value_string(value));
}

/* ---- objects --------------------------------------------------------------------------------- */

/* There is one kind of each document. */
#define RECORD 1U
static const char *const kind_names[] = {"changes"};

#define MAX_FIELDS 16

struct field {
    const char *name;
    enum json_kind type;
    bool required;
    value_reader *read;
    size_t at; /* offset in what the object fills */
};

struct filling {
    const struct field *fields;
    void *target;
};

/* Its key is the last word of the path; keys_read found it in a table of the same order. */
static int read_field(struct reading *reading, const char *path, const struct json_value *value,
                      void *into)
{
    const struct filling *filling = into;
    const char *dot = strrchr(path, '.');
    const struct field *field = filling->fields;

    while (strcmp(field->name, dot ? dot + 1 : path) != 0)
        field++;
    return field->read(reading, path, value, (char *) filling->target + field->at);
}

static int read_fields(struct reading *reading, const char *path, const struct json_value *object,
                       const struct field *fields, size_t n, void *target)
{
    struct filling filling = {fields, target};
    struct key keys[MAX_FIELDS];

    for (size_t i = 0; i < n; i++)
        keys[i] =
            (struct key){fields[i].name, fields[i].type, RECORD, fields[i].required, read_field};
    return keys_read(reading, path, object, keys, n, &filling);
}

/* A document that is one object. */
static int read_document(const char *text, size_t len, const char *what, const struct field *fields,
                         size_t n, struct arena *arena, void *target, struct err *err)
{
    struct reading reading = {.arena = arena, .err = err, .kind = RECORD, .kind_names = kind_names};
    struct json_value *document;

    if (json_parse(text, len, what, &document, err) < 0)
        return -1;
    int rc = key_check_type(&reading, what, document, JSON_KIND_OBJECT);
    if (rc == 0)
        rc = read_fields(&reading, "", document, fields, n, target);
    json_free(document);
    return rc;
}

/* ---- an entry -------------------------------------------------------------------------------- */

#define IN_HOST(member) offsetof(struct change_host, member)

static int read_host(struct reading *reading, const char *path, const struct json_value *value,
                     void *to)
{
    static const struct field fields[] = {
        {"type", JSON_KIND_STRING, true, read_type, IN_HOST(type)},
        {"mode", JSON_KIND_STRING, true, read_mode, IN_HOST(mode)},
        {"dev", JSON_KIND_STRING, true, read_u64, IN_HOST(dev)},
        {"ino", JSON_KIND_STRING, true, read_u64, IN_HOST(ino)},
        {"size", JSON_KIND_STRING, true, read_u64, IN_HOST(size)},
        {"mtime_ns", JSON_KIND_STRING, true, read_i64, IN_HOST(mtime_ns)},
        {"ctime_ns", JSON_KIND_STRING, true, read_i64, IN_HOST(ctime_ns)},
    };
    struct change_host *host = to;

    host->there = true;
    return read_fields(reading, path, value, fields, ARRAY_SIZE(fields), host);
}

#define IN_LINE(member) offsetof(struct change_line, member)

static const struct field entry_fields[] = {
    {"dir", JSON_KIND_INT, true, read_count, IN_LINE(change.dir)},
    {"path", JSON_KIND_STRING, false, read_text, IN_LINE(path)},
    {"path_b64", JSON_KIND_STRING, false, read_base64, IN_LINE(path)},
    {"change", JSON_KIND_STRING, true, read_kind, IN_LINE(change.kind)},
    {"type", JSON_KIND_STRING, true, read_type, IN_LINE(change.type)},
    {"size", JSON_KIND_INT, false, read_count, IN_LINE(change.size)},
    {"mode", JSON_KIND_STRING, false, read_mode, IN_LINE(change.mode)},
    {"mtime_ns", JSON_KIND_STRING, false, read_i64, IN_LINE(change.mtime_ns)},
    {"content", JSON_KIND_BOOL, false, read_bool, IN_LINE(change.content)},
    {"target", JSON_KIND_STRING, false, read_text, IN_LINE(target)},
    {"target_b64", JSON_KIND_STRING, false, read_base64, IN_LINE(target)},
    {"host", JSON_KIND_OBJECT, false, read_host, IN_LINE(change.host)},
    {"protected", JSON_KIND_STRING, false, read_rule, IN_LINE(rule)},
    {"refused", JSON_KIND_STRING, false, read_refusal, IN_LINE(change.refused)},
};
_Static_assert(ARRAY_SIZE(entry_fields) <= MAX_FIELDS, "keys_read gets them all");

/* What holds of each entry, whoever wrote it: apply relies on it. */
static const char *find_contradiction(const struct change *change)
{
    bool goes = change->kind == CHANGE_DELETED;

    if (!change_path_is_plain(change->path))
        return "its path is not one";
    if (change->host.there != (change->kind != CHANGE_ADDED))
        return "only what was added was not on the host";
    if (goes && change->type != change->host.type)
        return "what is deleted is what was on the host";
    if (change->content && (goes || change->type != CHANGE_FILE))
        return "only a file that is left has content";
    if (!change->content && change->type == CHANGE_FILE && !goes &&
        (change->kind == CHANGE_ADDED || change->host.type != CHANGE_FILE))
        return "a new file has content";
    if ((change->target != NULL) != (change->type == CHANGE_SYMLINK && !goes))
        return "a symlink that is left has a target, and nothing else has";
    return NULL;
}

int change_parse(const char *text, size_t len, struct change_line *ret_line, struct err *err)
{
    struct change *change = &ret_line->change;

    *change = (struct change){0};
    ret_line->path[0] = ret_line->target[0] = ret_line->rule[0] = '\0';
    if (read_document(text, len, "entry", entry_fields, ARRAY_SIZE(entry_fields), NULL, ret_line,
                      err) < 0)
        return -1;
    change->path = ret_line->path;
    change->target = ret_line->target[0] ? ret_line->target : NULL;
    change->protected_by = ret_line->rule[0] ? ret_line->rule : NULL;
    const char *wrong = find_contradiction(change);
    return wrong ? err_set(err, ERR_REQUEST, "entry: %s", wrong) : 0;
}

/* ---- the record ------------------------------------------------------------------------------ */

/* What is read before it is put into the arena. */
struct dir_line {
    char host[CHANGES_PATH_SIZE], guest[CHANGES_PATH_SIZE];
    uint64_t dev, ino;
};

#define IN_DIR(member) offsetof(struct dir_line, member)

static int read_dir(struct reading *reading, const char *path, const struct json_value *value,
                    void *into)
{
    static const struct field fields[] = {
        {"host", JSON_KIND_STRING, false, read_text, IN_DIR(host)},
        {"host_b64", JSON_KIND_STRING, false, read_base64, IN_DIR(host)},
        {"guest", JSON_KIND_STRING, false, read_text, IN_DIR(guest)},
        {"guest_b64", JSON_KIND_STRING, false, read_base64, IN_DIR(guest)},
        {"dev", JSON_KIND_STRING, true, read_u64, IN_DIR(dev)},
        {"ino", JSON_KIND_STRING, true, read_u64, IN_DIR(ino)},
    };
    struct changes *changes = into;
    struct dir_line line = {.dev = 0};

    if (read_fields(reading, path, value, fields, ARRAY_SIZE(fields), &line) < 0)
        return -1;
    if (line.host[0] != '/')
        return key_refuse(reading, path, "has no host path, or one that is not absolute");
    struct changes_dir *dir = &changes->dirs[changes->n_dirs++];
    *dir = (struct changes_dir){
        .host = arena_strdup(reading->arena, line.host),
        .guest = arena_strdup(reading->arena, line.guest),
        .dev = line.dev,
        .ino = line.ino,
    };
    return dir->host && dir->guest ? 0 : err_no_memory(reading->err);
}

static int read_dirs(struct reading *reading, const char *path, const struct json_value *value,
                     void *to)
{
    struct changes *changes = to;
    size_t count = json_value_count(value);

    if (count > REQUEST_MAX_DIRS)
        return key_refuse(reading, path, "has more than %d directories", REQUEST_MAX_DIRS);
    changes->dirs = arena_array(reading->arena, count + 1, sizeof(*changes->dirs));
    if (!changes->dirs)
        return err_no_memory(reading->err);
    return keys_each_element(reading, path, value, JSON_KIND_OBJECT, read_dir, changes);
}

/* The run it should be of was set before. */
static int read_run_id(struct reading *reading, const char *path, const struct json_value *value,
                       void *to)
{
    if (strcmp(to, json_value_string(value)) == 0)
        return 0;
    return key_refuse(reading, path, "is '%s', not '%s'", json_value_string(value),
                      (const char *) to);
}

#define IN_CHANGES(member) offsetof(struct changes, member)

static const struct field record_fields[] = {
    {"schema", JSON_KIND_STRING, true, read_schema, 0},
    {"run_id", JSON_KIND_STRING, true, read_run_id, IN_CHANGES(run_id)},
    {"started_ns", JSON_KIND_STRING, true, read_u64, IN_CHANGES(started_ns)},
    {"kept_at", JSON_KIND_STRING, true, read_time, IN_CHANGES(kept_at)},
    {"dirs", JSON_KIND_ARRAY, true, read_dirs, 0},
    {"added", JSON_KIND_INT, true, read_count, IN_CHANGES(counts[CHANGE_ADDED])},
    {"changed", JSON_KIND_INT, true, read_count, IN_CHANGES(counts[CHANGE_CHANGED])},
    {"deleted", JSON_KIND_INT, true, read_count, IN_CHANGES(counts[CHANGE_DELETED])},
    {"protected", JSON_KIND_INT, true, read_count, IN_CHANGES(n_protected)},
    {"refused", JSON_KIND_INT, true, read_count, IN_CHANGES(n_refused)},
    {"bytes", JSON_KIND_INT, true, read_count, IN_CHANGES(bytes)},
};
_Static_assert(ARRAY_SIZE(record_fields) <= MAX_FIELDS, "keys_read gets them all");

int changes_parse(const char *text, size_t len, const char *run_id, struct arena *arena,
                  struct changes *ret, struct err *err)
{
    struct changes changes = {.kept = true, .state = CHANGES_KEPT};

    (void) snprintf(changes.run_id, sizeof(changes.run_id), "%s", run_id); /* checked: fits */
    if (read_document(text, len, "record", record_fields, ARRAY_SIZE(record_fields), arena,
                      &changes, err) < 0)
        return -1;
    *ret = changes;
    return 0;
}

int changes_parse_applied(const char *text, size_t len, struct changes *changes, struct err *err)
{
    static const struct field fields[] = {
        {"applied_at", JSON_KIND_STRING, true, read_time, IN_CHANGES(applied_at)},
        {"applied", JSON_KIND_INT, true, read_count, IN_CHANGES(n_applied)},
        {"left_out", JSON_KIND_INT, true, read_count, IN_CHANGES(n_left_out)},
    };

    return read_document(text, len, "applied", fields, ARRAY_SIZE(fields), NULL, changes, err);
}
