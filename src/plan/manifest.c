#include "plan/manifest.h"

#include <string.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "plan/keys.h"

/* Kinds as bits, for the rows of keys; the last two are known by name only. */
enum {
    SAMPLE = 1 << MANIFEST_SAMPLE,
    WASM = 1 << MANIFEST_WASM_RUN,
    NATIVE = 1 << 2,
    CODE = 1 << 3,
    ANY = SAMPLE | WASM | NATIVE | CODE
};

static const char *const kind_names[] = {"sample", "wasm-run", "native-run", "code"};

/* ---- what the module is ---------------------------------------------------------------------- */

static int keep_path(struct reading *reading, const char *path, const struct json_value *value,
                     const char **ret_path)
{
    const char *text = json_value_string(value);

    if (text[0] == '\0')
        return key_refuse(reading, path, "must not be empty");
    *ret_path = request_path(reading->arena, reading->base_dir, text);
    return *ret_path ? 0 : err_no_memory(reading->err);
}

static int read_sample(struct reading *reading, const char *path, const struct json_value *value,
                       void *into)
{
    struct manifest *manifest = into;

    if (json_value_string(value)[0] == '\0')
        return key_refuse(reading, path, "must not be empty");
    manifest->sample = arena_strdup(reading->arena, json_value_string(value));
    return manifest->sample ? 0 : err_no_memory(reading->err);
}

static int read_workspace(struct reading *reading, const char *path, const struct json_value *value,
                          void *into)
{
    struct manifest *manifest = into;
    struct request *request = &manifest->request;
    int rc = request_add_workspace(request, reading->arena, reading->base_dir,
                                   json_value_string(value), reading->err);

    if (key_judged(reading, path, rc) < 0)
        return -1;
    manifest->workspace = request->dirs[request->n_dirs - 1].host;
    return 0;
}

static int read_module(struct reading *reading, const char *path, const struct json_value *value,
                       void *into)
{
    struct manifest *manifest = into;

    return keep_path(reading, path, value, &manifest->request.module);
}

static int read_pin(struct reading *reading, const char *path, const struct json_value *value,
                    void *into)
{
    struct manifest *manifest = into;
    int rc =
        request_set_pin(&manifest->request, reading->arena, json_value_string(value), reading->err);

    return key_judged(reading, path, rc);
}

/* ---- what the guest gets --------------------------------------------------------------------- */

static int read_arg(struct reading *reading, const char *path, const struct json_value *value,
                    void *into)
{
    struct manifest *manifest = into;
    int rc =
        request_add_arg(&manifest->request, reading->arena, json_value_string(value), reading->err);

    return key_judged(reading, path, rc);
}

static int read_args(struct reading *reading, const char *path, const struct json_value *value,
                     void *into)
{
    return keys_each_element(reading, path, value, JSON_KIND_STRING, read_arg, into);
}

static int read_variable(struct reading *reading, const char *path, const char *name,
                         const struct json_value *value, void *into)
{
    struct manifest *manifest = into;

    if (key_check_type(reading, path, value, JSON_KIND_STRING) < 0)
        return -1;
    if (strchr(name, '='))
        return key_refuse(reading, path, "the name of a variable must not contain '='");
    char *assignment = arena_printf(reading->arena, "%s=%s", name, json_value_string(value));
    if (!assignment)
        return err_no_memory(reading->err);
    int rc = request_add_env(&manifest->request, reading->arena, assignment, false, reading->err);
    return key_judged(reading, path, rc);
}

static int read_env(struct reading *reading, const char *path, const struct json_value *value,
                    void *into)
{
    return keys_each_member(reading, path, value, read_variable, into);
}

static int read_label(struct reading *reading, const char *path, const char *name,
                      const struct json_value *value, void *into)
{
    struct manifest *manifest = into;

    if (key_check_type(reading, path, value, JSON_KIND_STRING) < 0)
        return -1;
    int rc = request_add_label(&manifest->request, reading->arena, name, json_value_string(value),
                               reading->err);
    return key_judged(reading, path, rc);
}

static int read_labels(struct reading *reading, const char *path, const struct json_value *value,
                       void *into)
{
    return keys_each_member(reading, path, value, read_label, into);
}

/* One element of allow_dirs while it is read. */
struct dir_keys {
    const char *path, *guest;
    enum access access;
};

static int read_dir_path(struct reading *reading, const char *path, const struct json_value *value,
                         void *into)
{
    (void) reading, (void) path; /* judged with the rest of the directory */
    ((struct dir_keys *) into)->path = json_value_string(value);
    return 0;
}

static int read_dir_guest(struct reading *reading, const char *path, const struct json_value *value,
                          void *into)
{
    (void) reading, (void) path; /* as above */
    ((struct dir_keys *) into)->guest = json_value_string(value);
    return 0;
}

static int read_dir_access(struct reading *reading, const char *path,
                           const struct json_value *value, void *into)
{
    static const char *const names[] = {[ACCESS_RO] = "read-only", [ACCESS_RW] = "read-write"};
    const char *name = json_value_string(value);

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (strcmp(names[i], name) == 0) {
            ((struct dir_keys *) into)->access = (enum access) i;
            return 0;
        }
    if (strcmp(name, "overlay") == 0)
        return key_refuse(reading, path,
                          "'overlay' is not there for wasm: write 'read-only' or "
                          "'read-write'");
    return key_refuse(reading, path, "unknown access '%s': write 'read-only' or 'read-write'",
                      name);
}

static int read_dir(struct reading *reading, const char *path, const struct json_value *value,
                    void *into)
{
    static const struct key keys[] = {
        {"path", JSON_KIND_STRING, ANY, true, read_dir_path},
        {"access", JSON_KIND_STRING, ANY, false, read_dir_access},
        {"guest", JSON_KIND_STRING, ANY, false, read_dir_guest},
    };
    struct manifest *manifest = into;
    struct dir_keys dir = {.access = ACCESS_RO};

    if (keys_read(reading, path, value, keys, ARRAY_SIZE(keys), &dir) < 0)
        return -1;
    int rc = request_add_dir(&manifest->request, reading->arena, reading->base_dir, dir.path,
                             dir.guest, dir.access, reading->err);
    return key_judged(reading, path, rc);
}

static int read_dirs(struct reading *reading, const char *path, const struct json_value *value,
                     void *into)
{
    return keys_each_element(reading, path, value, JSON_KIND_OBJECT, read_dir, into);
}

static int read_stdin_text(struct reading *reading, const char *path,
                           const struct json_value *value, void *into)
{
    struct request *request = into;
    const char *text = json_value_string(value);

    (void) path; /* every text is good */
    request->stdin_kind = STDIN_BYTES;
    request->stdin_len = strlen(text);
    request->stdin_bytes = arena_strdup(reading->arena, text);
    return request->stdin_bytes ? 0 : err_no_memory(reading->err);
}

static int read_stdin_base64(struct reading *reading, const char *path,
                             const struct json_value *value, void *into)
{
    struct request *request = into;
    const char *text = json_value_string(value);
    size_t len = strlen(text);
    char *bytes = arena_alloc(reading->arena, len / 4 * 3);

    if (!bytes)
        return err_no_memory(reading->err);
    if (!base64_decode(text, len, bytes, &request->stdin_len))
        return key_refuse(reading, path,
                          "not base64 (standard alphabet, padded, without white space)");
    request->stdin_kind = STDIN_BYTES;
    request->stdin_bytes = bytes;
    return 0;
}

static int read_stdin_file(struct reading *reading, const char *path,
                           const struct json_value *value, void *into)
{
    struct request *request = into;

    request->stdin_kind = STDIN_FILE;
    return keep_path(reading, path, value, &request->stdin_path);
}

static int read_stdin(struct reading *reading, const char *path, const struct json_value *value,
                      void *into)
{
    static const struct key keys[] = {
        {"text", JSON_KIND_STRING, ANY, false, read_stdin_text},
        {"base64", JSON_KIND_STRING, ANY, false, read_stdin_base64},
        {"file", JSON_KIND_STRING, ANY, false, read_stdin_file},
    };
    struct manifest *manifest = into;

    if (keys_read(reading, path, value, keys, ARRAY_SIZE(keys), &manifest->request) < 0)
        return -1;
    if (json_value_count(value) != 1)
        return key_refuse(reading, path, "needs exactly one of 'text', 'base64' and 'file'");
    return 0;
}

/* ---- how it runs ----------------------------------------------------------------------------- */

static int set_limit(struct reading *reading, const char *path, const struct json_value *value,
                     struct limits *limits, enum limit limit)
{
    if (json_kind(value) == JSON_KIND_STRING && strcmp(json_value_string(value), "unlimited") == 0)
        return limits_set_unlimited(limits, limit, path, reading->err);
    if (json_kind(value) != JSON_KIND_INT)
        return key_refuse(
            reading, path, "must be an integer%s",
            limit_rows[limit].of[limits->backend].may_be_unlimited ? " or \"unlimited\"" : "");
    return limits_set_number(limits, limit, json_value_int(value), reading->err);
}

/* The keys are those of limit_rows. */
static int read_limit(struct reading *reading, const char *path, const char *name,
                      const struct json_value *value, void *into)
{
    struct manifest *manifest = into;

    for (size_t i = 0; i < LIMIT_COUNT; i++)
        if (strcmp(limit_rows[i].key, name) == 0)
            return set_limit(reading, path, value, &manifest->request.limits, (enum limit) i);
    return key_refuse(reading, path, "unknown key");
}

static int read_limits(struct reading *reading, const char *path, const struct json_value *value,
                       void *into)
{
    return keys_each_member(reading, path, value, read_limit, into);
}

static int read_isolation(struct reading *reading, const char *path, const struct json_value *value,
                          void *into)
{
    struct manifest *manifest = into;
    int rc = request_set_isolation(&manifest->request, json_value_string(value), reading->err);

    return key_judged(reading, path, rc);
}

/* ---- what is not there yet ------------------------------------------------------------------- */

/* For keys of which one value asks for no more than there is. */
static int take_only(struct reading *reading, const char *path, const struct json_value *value,
                     const char *taken)
{
    if (strcmp(json_value_string(value), taken) == 0)
        return 0;
    return key_refuse(reading, path, "'%s' is not there in this wasp: write '%s', or leave it out",
                      json_value_string(value), taken);
}

static int read_network_mode(struct reading *reading, const char *path,
                             const struct json_value *value, void *into)
{
    (void) into; /* a guest has no network, so there is nothing to note */
    return take_only(reading, path, value, "none");
}

static int read_backend(struct reading *reading, const char *path, const struct json_value *value,
                        void *into)
{
    (void) into; /* both kinds run on wasm, so there is nothing to note */
    return take_only(reading, path, value, "wasm");
}

static int read_lifecycle(struct reading *reading, const char *path, const struct json_value *value,
                          void *into)
{
    (void) into; /* every run is one call, so there is nothing to note */
    return take_only(reading, path, value, "call");
}

/* An empty list asks for nothing, which is what there is. */
static int read_empty_list(struct reading *reading, const char *path,
                           const struct json_value *value, void *into)
{
    (void) into; /* nothing to note */
    if (json_value_count(value) == 0)
        return 0;
    return key_refuse(reading, path,
                      "is not there in this wasp: write an empty list, or leave it out");
}

static int refuse_key(struct reading *reading, const char *path, const struct json_value *value,
                      void *into)
{
    (void) value, (void) into; /* no value would do */
    return key_refuse(reading, path, "is not there in this wasp: leave it out");
}

static int read_network(struct reading *reading, const char *path, const struct json_value *value,
                        void *into)
{
    static const struct key keys[] = {
        {"mode", JSON_KIND_STRING, ANY, true, read_network_mode},
        {"allow", JSON_KIND_ARRAY, ANY, false, read_empty_list},
    };

    return keys_read(reading, path, value, keys, ARRAY_SIZE(keys), into);
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* In the order they are read: the workspace is "." and so comes before the other directories. */
static const struct key manifest_keys[] = {
    {"kind", JSON_KIND_STRING, ANY, true, NULL},
    {"sample", JSON_KIND_STRING, SAMPLE, true, read_sample},
    {"workspace", JSON_KIND_STRING, SAMPLE, true, read_workspace},
    {"module", JSON_KIND_STRING, WASM, true, read_module},
    {"argv", JSON_KIND_ARRAY, NATIVE, false, NULL},
    {"command", JSON_KIND_STRING, NATIVE, false, NULL},
    {"cwd", JSON_KIND_STRING, NATIVE, false, NULL},
    {"language", JSON_KIND_STRING, CODE, true, NULL},
    {"source", JSON_KIND_STRING, CODE, true, NULL},
    {"module_sha256", JSON_KIND_STRING, SAMPLE | WASM, false, read_pin},
    {"args", JSON_KIND_ARRAY, ANY, false, read_args},
    {"stdin", JSON_KIND_OBJECT, ANY, false, read_stdin},
    {"env", JSON_KIND_OBJECT, ANY, false, read_env},
    {"allow_dirs", JSON_KIND_ARRAY, ANY, false, read_dirs},
    {"limits", JSON_KIND_OBJECT, ANY, false, read_limits},
    {"isolation", JSON_KIND_STRING, ANY, false, read_isolation},
    {"labels", JSON_KIND_OBJECT, ANY, false, read_labels},
    {"network", JSON_KIND_OBJECT, ANY, false, read_network},
    {"backend", JSON_KIND_STRING, ANY, false, read_backend},
    {"lifecycle", JSON_KIND_STRING, ANY, false, read_lifecycle},
    {"capabilities", JSON_KIND_ARRAY, ANY, false, read_empty_list},
    {"commands", JSON_KIND_ARRAY, ANY, false, read_empty_list},
    {"secrets", JSON_KIND_ARRAY, ANY, false, read_empty_list},
    {"grants", JSON_KIND_ARRAY, ANY, false, read_empty_list},
    {"tier", JSON_KIND_STRING, ANY, false, refuse_key},
    {"policy", JSON_KIND_STRING, ANY, false, refuse_key},
};

/* Comes first: it says which keys there may be. */
static int read_kind(struct reading *reading, const struct json_value *document)
{
    const struct json_value *value = json_value_get(document, "kind");

    if (!value)
        return key_refuse(reading, "kind", "is missing: write 'wasm-run' or 'sample'");
    if (key_check_type(reading, "kind", value, JSON_KIND_STRING) < 0)
        return -1;
    const char *name = json_value_string(value);
    for (size_t i = 0; i < ARRAY_SIZE(kind_names); i++)
        if (strcmp(kind_names[i], name) == 0)
            reading->kind = 1U << i;
    if (!reading->kind)
        return key_refuse(reading, "kind", "unknown kind '%s': write 'wasm-run' or 'sample'", name);
    if (!(reading->kind & (SAMPLE | WASM)))
        return key_refuse(reading, "kind",
                          "'%s' is not there in this wasp: write 'wasm-run' or 'sample'", name);
    return 0;
}

static int read_document(struct reading *reading, const struct json_value *document,
                         struct manifest *manifest)
{
    if (key_check_type(reading, "manifest", document, JSON_KIND_OBJECT) < 0 ||
        read_kind(reading, document) < 0)
        return -1;
    manifest->kind = reading->kind == SAMPLE ? MANIFEST_SAMPLE : MANIFEST_WASM_RUN;
    return keys_read(reading, "", document, manifest_keys, ARRAY_SIZE(manifest_keys), manifest);
}

int manifest_parse(const char *text, size_t len, const char *base_dir, struct arena *arena,
                   struct manifest *ret_manifest, struct err *err)
{
    struct reading reading = {.arena = arena,
                              .err = err,
                              .base_dir = base_dir,
                              .kind_names = kind_names,
                              .shapes = "'wasp schema request'"};
    struct manifest manifest = {0};
    struct json_value *document;

    if (json_parse(text, len, "manifest", &document, err) < 0)
        return -1;
    request_init(&manifest.request, BACKEND_WASM);
    int rc = read_document(&reading, document, &manifest);
    json_free(document);
    if (rc == 0)
        *ret_manifest = manifest;
    return rc;
}
