#include "store/runtime.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "plan/keys.h"

#define SCHEMA "wasp.runtime/1"
#define FIRST_CHARACTERS "abcdefghijklmnopqrstuvwxyz0123456789"

void runtime_init(struct runtime *runtime)
{
    *runtime = (struct runtime){0};
    request_init(&runtime->given, BACKEND_WASM);
}

int runtime_check_name(const char *name, struct err *err)
{
    size_t len = strspn(name, FIRST_CHARACTERS "._-");

    if (len > 0 && len <= RUNTIME_NAME_MAX && name[len] == '\0' &&
        strchr(FIRST_CHARACTERS, name[0]) != NULL)
        return 0;
    return err_set(err, ERR_REQUEST,
                   "'%s' cannot name a runtime: write a letter or digit, then letters, digits, "
                   "'.', '_' and '-', %d at most and no capitals",
                   name, RUNTIME_NAME_MAX);
}

/* ---- what it is given ------------------------------------------------------------------------ */

static int check_text(const char *text, struct err *err)
{
    if (utf8_valid(text, strlen(text)))
        return 0;
    return err_set(err, ERR_REQUEST, "'%s' is not UTF-8, and a record can hold nothing else", text);
}

int runtime_give_arg(struct runtime *runtime, struct arena *arena, const char *arg, struct err *err)
{
    if (check_text(arg, err) < 0)
        return -1;
    return request_add_arg(&runtime->given, arena, arg, err);
}

static int give_dir(struct runtime *runtime, struct arena *arena, const char *base,
                    const char *host, const char *guest, struct err *err)
{
    struct request *given = &runtime->given;

    if (request_add_dir(given, arena, base, host, guest, ACCESS_RO, err) < 0)
        return -1;
    const char *kept = given->dirs[given->n_dirs - 1].host;
    if (kept[0] != '/')
        return err_set(err, ERR_REQUEST, "the host path '%s' is not absolute", kept);
    return check_text(kept, err);
}

int runtime_give_dir(struct runtime *runtime, struct arena *arena, const char *base,
                     const char *text, struct err *err)
{
    const char *separator = strstr(text, "::");

    if (check_text(text, err) < 0)
        return -1;
    /* One more ':' is a second "::", or an access where there is but one. */
    if (!separator || strchr(separator + 2, ':'))
        return err_set(err, ERR_REQUEST,
                       "directory '%s': write HOST::GUEST, and nothing else: a runtime's "
                       "directories are read-only",
                       text);
    const char *host = arena_strndup(arena, text, (size_t) (separator - text));
    if (!host)
        return err_no_memory(err);
    return give_dir(runtime, arena, base, host, separator + 2, err);
}

/* ---- writing --------------------------------------------------------------------------------- */

static void write_dirs(struct json_writer *json, const struct request *given)
{
    json_open_array(json);
    for (size_t i = 0; i < given->n_dirs; i++) {
        json_open_object(json);
        json_key(json, "host");
        json_put_string(json, given->dirs[i].host);
        json_key(json, "guest");
        json_put_string(json, given->dirs[i].guest);
        json_close_object(json);
    }
    json_close_array(json);
}

void runtime_write(struct json_writer *json, const struct runtime *runtime)
{
    char hex[DIGEST_HEX];

    digest_hex(&runtime->digest, hex);
    json_open_object(json);
    json_key(json, "schema");
    json_put_string(json, SCHEMA);
    json_key(json, "name");
    json_put_string(json, runtime->name);
    json_key(json, "sha256");
    json_put_string(json, hex);
    json_key(json, "bytes");
    json_put_uint(json, runtime->bytes);
    json_key(json, "dirs");
    write_dirs(json, &runtime->given);
    json_key(json, "entry_args");
    json_open_array(json);
    for (size_t i = 0; i < runtime->given.n_args; i++)
        json_put_string(json, runtime->given.args[i]);
    json_close_array(json);
    json_key(json, "added_at");
    json_put_string(json, runtime->added_at);
    json_close_object(json);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* There is one kind of record. */
#define RECORD 1U
static const char *const kind_names[] = {"runtime"};

static int read_schema(struct reading *reading, const char *path, const struct json_value *value,
                       void *into)
{
    (void) into; /* it says which keys there are, and so is none of them */
    if (strcmp(json_value_string(value), SCHEMA) == 0)
        return 0;
    return key_refuse(reading, path, "is '%s', not '%s'", json_value_string(value), SCHEMA);
}

/* The name it should have was set before. */
static int read_name(struct reading *reading, const char *path, const struct json_value *value,
                     void *into)
{
    const struct runtime *runtime = into;

    if (strcmp(json_value_string(value), runtime->name) == 0)
        return 0;
    return key_refuse(reading, path, "is '%s', not '%s'", json_value_string(value), runtime->name);
}

static int read_sha256(struct reading *reading, const char *path, const struct json_value *value,
                       void *into)
{
    struct runtime *runtime = into;

    if (digest_from_hex(json_value_string(value), &runtime->digest))
        return 0;
    return key_refuse(reading, path, "must be 64 hex digits");
}

static int read_bytes(struct reading *reading, const char *path, const struct json_value *value,
                      void *into)
{
    struct runtime *runtime = into;
    int64_t bytes = json_value_int(value);

    if (bytes <= 0 || (uint64_t) bytes > MODULE_MAX_BYTES)
        return key_refuse(reading, path, "%lld is not the size of a module", (long long) bytes);
    runtime->bytes = (uint64_t) bytes;
    return 0;
}

struct dir_keys {
    const char *host, *guest;
};

static int read_host(struct reading *reading, const char *path, const struct json_value *value,
                     void *into)
{
    struct dir_keys *dir = into;

    (void) reading, (void) path; /* judged with its guest path */
    dir->host = json_value_string(value);
    return 0;
}

static int read_guest(struct reading *reading, const char *path, const struct json_value *value,
                      void *into)
{
    struct dir_keys *dir = into;

    (void) reading, (void) path; /* judged with its host path */
    dir->guest = json_value_string(value);
    return 0;
}

static int read_dir(struct reading *reading, const char *path, const struct json_value *value,
                    void *into)
{
    static const struct key keys[] = {
        {"host", JSON_KIND_STRING, RECORD, true, read_host},
        {"guest", JSON_KIND_STRING, RECORD, true, read_guest},
    };
    struct dir_keys dir = {0};

    if (keys_read(reading, path, value, keys, ARRAY_SIZE(keys), &dir) < 0)
        return -1;
    int rc = give_dir(into, reading->arena, NULL, dir.host, dir.guest, reading->err);
    return key_judged(reading, path, rc);
}

static int read_dirs(struct reading *reading, const char *path, const struct json_value *value,
                     void *into)
{
    return keys_each_element(reading, path, value, JSON_KIND_OBJECT, read_dir, into);
}

static int read_arg(struct reading *reading, const char *path, const struct json_value *value,
                    void *into)
{
    int rc = runtime_give_arg(into, reading->arena, json_value_string(value), reading->err);

    return key_judged(reading, path, rc);
}

static int read_args(struct reading *reading, const char *path, const struct json_value *value,
                     void *into)
{
    return keys_each_element(reading, path, value, JSON_KIND_STRING, read_arg, into);
}

static int read_added_at(struct reading *reading, const char *path, const struct json_value *value,
                         void *into)
{
    struct runtime *runtime = into;
    const char *text = json_value_string(value);

    if (strlen(text) != CLOCK_TEXT_SIZE - 1)
        return key_refuse(reading, path, "'%s' is no time", text);
    memcpy(runtime->added_at, text, CLOCK_TEXT_SIZE);
    return 0;
}

static const struct key record_keys[] = {
    {"schema", JSON_KIND_STRING, RECORD, true, read_schema},
    {"name", JSON_KIND_STRING, RECORD, true, read_name},
    {"sha256", JSON_KIND_STRING, RECORD, true, read_sha256},
    {"bytes", JSON_KIND_INT, RECORD, true, read_bytes},
    {"dirs", JSON_KIND_ARRAY, RECORD, true, read_dirs},
    {"entry_args", JSON_KIND_ARRAY, RECORD, true, read_args},
    {"added_at", JSON_KIND_STRING, RECORD, true, read_added_at},
};

int runtime_parse(const char *text, size_t len, const char *name, struct arena *arena,
                  struct runtime *ret_runtime, struct err *err)
{
    struct reading reading = {.arena = arena, .err = err, .kind = RECORD, .kind_names = kind_names};
    struct json_value *document;
    struct runtime runtime;

    runtime_init(&runtime);
    runtime.name = arena_strdup(arena, name);
    if (!runtime.name)
        return err_no_memory(err);
    if (json_parse(text, len, "record", &document, err) < 0)
        return -1;
    int rc = key_check_type(&reading, "record", document, JSON_KIND_OBJECT);
    if (rc == 0)
        rc = keys_read(&reading, "", document, record_keys, ARRAY_SIZE(record_keys), &runtime);
    json_free(document);
    if (rc == 0)
        *ret_runtime = runtime;
    return rc;
}

/* ---- use ------------------------------------------------------------------------------------- */

/* Of two pins both must hold. */
static int put_pin(const struct runtime *runtime, struct arena *arena, struct request *request,
                   struct err *err)
{
    char hex[DIGEST_HEX];
    struct digest wanted;

    digest_hex(&runtime->digest, hex);
    if (request->module_sha256 && !(digest_from_hex(request->module_sha256, &wanted) &&
                                    digest_equal(&wanted, &runtime->digest)))
        return err_set(err, ERR_PIN, "the module's SHA-256 is %s, pinned is %s", hex,
                       request->module_sha256);
    return request_set_pin(request, arena, hex, err);
}

static int put(const struct runtime *runtime, struct arena *arena, struct request *request,
               struct err *err)
{
    const struct request *given = &runtime->given;

    for (size_t i = 0; i < given->n_dirs; i++) {
        if (request_add_dir(request, arena, NULL, given->dirs[i].host, given->dirs[i].guest,
                            ACCESS_RO, err) < 0)
            return -1;
        request->dirs[request->n_dirs - 1].is_own = true;
    }
    if (request_prepend_args(request, arena, given->args, given->n_args, err) < 0)
        return -1;
    return put_pin(runtime, arena, request, err);
}

int runtime_put(const struct runtime *runtime, struct arena *arena, struct request *request,
                struct err *err)
{
    if (put(runtime, arena, request, err) < 0)
        return err_prefix(err, "runtime '%s'", runtime->name);
    request->module = runtime->module;
    request->module_is_own = true;
    request->argv0 = runtime->name;
    return 0;
}
