#include "plan/manifest.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "plan/keys.h"
#include "plan/manifest_keys.h"

/* Kinds as bits, for the rows of keys. Source for a wasm runtime has other keys than for a cell. */
enum {
    SAMPLE = 1 << MANIFEST_SAMPLE,
    WASM = 1 << MANIFEST_WASM_RUN,
    RUN = 1 << MANIFEST_NATIVE_RUN,
    CODE = 1 << MANIFEST_CODE,
    WASM_CODE = CODE << 1,
    NATIVE = RUN | CODE,
    ANY = SAMPLE | WASM | NATIVE | WASM_CODE
};

#define KINDS (MANIFEST_CODE + 1)
static const char *const kind_names[] = {[MANIFEST_SAMPLE] = "sample",
                                         [MANIFEST_WASM_RUN] = "wasm-run",
                                         [MANIFEST_NATIVE_RUN] = "native-run",
                                         [MANIFEST_CODE] = "code",
                                         [KINDS] = "code' with backend 'wasm"};
#define KNOWN_KINDS "'wasm-run', 'native-run', 'code' or 'sample'"

/* ---- what the module is ---------------------------------------------------------------------- */

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

    return manifest_keep_path(reading, path, value, &manifest->request.module);
}

static int read_pin(struct reading *reading, const char *path, const struct json_value *value,
                    void *into)
{
    struct manifest *manifest = into;
    int rc =
        request_set_pin(&manifest->request, reading->arena, json_value_string(value), reading->err);

    return key_judged(reading, path, rc);
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
    struct manifest *manifest = into;
    const char *name = json_value_string(value);

    if (!(reading->kind & NATIVE)) /* a wasm guest has no network, so there is nothing to note */
        return take_only(reading, path, value, "none");
    if (strcmp(name, "allowlist") == 0)
        return key_refuse(reading, path,
                          "'allowlist' is not there in this wasp: write 'none' or 'loopback'");
    return key_judged(reading, path, request_set_network(&manifest->request, name, reading->err));
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

static int read_grant(struct reading *reading, const char *path, const struct json_value *value,
                      void *into)
{
    struct manifest *manifest = into;
    const char *id = arena_strdup(reading->arena, json_value_string(value));

    if (!id)
        return err_no_memory(reading->err);
    if (id[0] == '\0')
        return key_refuse(reading, path, "must not be empty");
    manifest->grants[manifest->n_grants++] = id;
    return 0;
}

static int read_grants(struct reading *reading, const char *path, const struct json_value *value,
                       void *into)
{
    struct manifest *manifest = into;

    if (json_value_count(value) > MANIFEST_MAX_GRANTS)
        return key_refuse(reading, path, "has more than %d grants", MANIFEST_MAX_GRANTS);
    manifest->grants =
        arena_array(reading->arena, json_value_count(value) + 1, sizeof(*manifest->grants));
    if (!manifest->grants)
        return err_no_memory(reading->err);
    return keys_each_element(reading, path, value, JSON_KIND_STRING, read_grant, into);
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

/*
 * In the order they are read: the workspace is "." and so comes before the other directories, and
 * words of a command come before other arguments.
 */
static const struct key manifest_keys[] = {
    {"kind", JSON_KIND_STRING, ANY, true, NULL},
    {"backend", JSON_KIND_STRING, ANY, false, NULL},
    {"sample", JSON_KIND_STRING, SAMPLE, true, read_sample},
    {"workspace", JSON_KIND_STRING, SAMPLE, true, read_workspace},
    {"module", JSON_KIND_STRING, WASM, true, read_module},
    {"argv", JSON_KIND_ARRAY, RUN, false, manifest_read_argv},
    {"command", JSON_KIND_STRING, RUN, false, manifest_read_command},
    {"language", JSON_KIND_STRING, CODE | WASM_CODE, true, manifest_read_language},
    {"source", JSON_KIND_STRING, CODE | WASM_CODE, true, manifest_read_source},
    {"runtime", JSON_KIND_STRING, WASM_CODE, false, manifest_read_runtime},
    {"module_sha256", JSON_KIND_STRING, SAMPLE | WASM | WASM_CODE, false, read_pin},
    {"args", JSON_KIND_ARRAY, ANY, false, manifest_read_args},
    {"stdin", JSON_KIND_OBJECT, ANY, false, manifest_read_stdin},
    {"env", JSON_KIND_OBJECT, ANY, false, manifest_read_env},
    {"env_force", JSON_KIND_OBJECT, NATIVE, false, manifest_read_env_force},
    {"secret_env", JSON_KIND_ARRAY, ANY, false, manifest_read_secret_env},
    {"allow_dirs", JSON_KIND_ARRAY, ANY, false, manifest_read_dirs},
    {"unprotected", JSON_KIND_ARRAY, ANY, false, manifest_read_unprotected},
    {"cwd", JSON_KIND_STRING, NATIVE, false, manifest_read_cwd},
    {"rootfs", JSON_KIND_STRING, NATIVE, false, manifest_read_rootfs},
    {"proc", JSON_KIND_STRING, NATIVE, false, manifest_read_proc},
    {"tty", JSON_KIND_BOOL, NATIVE, false, manifest_read_tty},
    {"apply", JSON_KIND_STRING, NATIVE, false, manifest_read_apply},
    {"diff", JSON_KIND_BOOL, NATIVE, false, manifest_read_diff},
    {"limits", JSON_KIND_OBJECT, ANY, false, read_limits},
    {"isolation", JSON_KIND_STRING, ANY, false, read_isolation},
    {"labels", JSON_KIND_OBJECT, ANY, false, manifest_read_labels},
    {"network", JSON_KIND_OBJECT, ANY, false, read_network},
    {"lifecycle", JSON_KIND_STRING, ANY, false, read_lifecycle},
    {"capabilities", JSON_KIND_ARRAY, ANY, false, manifest_read_capabilities},
    {"commands", JSON_KIND_ARRAY, ANY, false, manifest_read_commands},
    {"secrets", JSON_KIND_ARRAY, ANY, false, read_empty_list},
    {"grants", JSON_KIND_ARRAY, ANY, false, read_grants},
    {"tier", JSON_KIND_STRING, ANY, false, NULL},
    {"policy", JSON_KIND_STRING, ANY, false, NULL},
};

/* Comes first: it says which keys there may be. */
static int read_kind(struct reading *reading, const struct json_value *document,
                     struct manifest *manifest)
{
    const struct json_value *value = json_value_get(document, "kind");

    if (!value)
        return key_refuse(reading, "kind", "is missing: write " KNOWN_KINDS);
    if (key_check_type(reading, "kind", value, JSON_KIND_STRING) < 0)
        return -1;
    for (int i = 0; i < KINDS; i++)
        if (strcmp(kind_names[i], json_value_string(value)) == 0) {
            manifest->kind = (enum manifest_kind) i;
            reading->kind = 1U << i;
            return 0;
        }
    return key_refuse(reading, "kind", "unknown kind '%s': write " KNOWN_KINDS,
                      json_value_string(value));
}

/* Come next: the backend may be chosen by policy. */
static int read_tier(struct reading *reading, const struct json_value *document,
                     struct manifest *manifest)
{
    const struct json_value *tier = json_value_get(document, "tier");
    const struct json_value *policy = json_value_get(document, "policy");

    if ((tier && key_check_type(reading, "tier", tier, JSON_KIND_STRING) < 0) ||
        (policy && key_check_type(reading, "policy", policy, JSON_KIND_STRING) < 0))
        return -1;
    for (int i = TIER_LOW; tier && i < TIERS; i++)
        if (strcmp(tier_names[i], json_value_string(tier)) == 0)
            manifest->tier = (enum tier) i;
    if (tier && manifest->tier == TIER_NONE)
        return key_refuse(reading, "tier", "'%s' is no tier: write 'low', 'medium' or 'high'",
                          json_value_string(tier));
    if (!policy)
        return 0;
    if (json_value_string(policy)[0] == '\0')
        return key_refuse(reading, "policy", "must not be empty");
    const char *base = strncmp(json_value_string(policy), POLICY_PRESET, strlen(POLICY_PRESET)) == 0
                           ? NULL
                           : reading->base_dir;
    manifest->policy = request_path(reading->arena, base, json_value_string(policy));
    return manifest->policy ? 0 : err_no_memory(reading->err);
}

/* Somebody to choose what source text is run on. */
struct chooser {
    manifest_choose *choose; /* NULL: nobody */
    void *data;
};

/* Only source text leaves a choice; asked is -1 if the manifest makes none. */
static int choose_backend(struct reading *reading, const struct json_value *document,
                          const struct chooser *chooser, const struct manifest *manifest, int asked,
                          enum backend *ret_backend)
{
    const struct json_value *language = json_value_get(document, "language");

    *ret_backend = asked < 0 ? BACKEND_NATIVE : (enum backend) asked;
    if (chooser->choose && language && json_kind(language) == JSON_KIND_STRING &&
        chooser->choose(chooser->data, manifest, json_value_string(language), asked, ret_backend,
                        reading->err) < 0)
        return -1;
    if (*ret_backend == BACKEND_WASM)
        reading->kind = WASM_CODE;
    return 0;
}

/* Then this: it says how the others are judged. */
static int read_backend(struct reading *reading, const struct json_value *document,
                        const struct chooser *chooser, const struct manifest *manifest,
                        enum backend *ret_backend)
{
    const struct json_value *value = json_value_get(document, "backend");
    bool is_native = reading->kind & NATIVE;
    int asked = -1;

    *ret_backend = is_native ? BACKEND_NATIVE : BACKEND_WASM;
    if (value && key_check_type(reading, "backend", value, JSON_KIND_STRING) < 0)
        return -1;
    for (int i = 0; value && i < BACKENDS; i++)
        if (strcmp(json_value_string(value), request_backend_names[i]) == 0)
            asked = i;
    if (value && (asked < 0 || (reading->kind != CODE && asked != (int) *ret_backend)))
        return key_refuse(reading, "backend", "'%s' is not there for this kind: write %s",
                          json_value_string(value),
                          reading->kind == CODE ? "'native' or 'wasm'"
                          : is_native           ? "'native', or leave it out"
                                                : "'wasm', or leave it out");
    return reading->kind == CODE
               ? choose_backend(reading, document, chooser, manifest, asked, ret_backend)
               : 0;
}

static int read_document(struct reading *reading, const struct json_value *document,
                         const struct chooser *chooser, struct manifest *manifest)
{
    enum backend backend;

    if (key_check_type(reading, "manifest", document, JSON_KIND_OBJECT) < 0 ||
        read_kind(reading, document, manifest) < 0 || read_tier(reading, document, manifest) < 0 ||
        read_backend(reading, document, chooser, manifest, &backend) < 0)
        return -1;
    request_init(&manifest->request, backend);
    if (keys_read(reading, "", document, manifest_keys, ARRAY_SIZE(manifest_keys), manifest) < 0)
        return -1;
    if (reading->kind == RUN)
        return manifest_check_program(reading, manifest);
    if (reading->kind == WASM_CODE && !manifest->runtime)
        manifest->runtime = manifest->request.language;
    return 0;
}

int manifest_parse(const char *text, size_t len, const char *base_dir, manifest_choose *choose,
                   void *data, struct arena *arena, struct manifest *ret_manifest, struct err *err)
{
    const struct chooser chooser = {.choose = choose, .data = data};
    struct reading reading = {.arena = arena,
                              .err = err,
                              .base_dir = base_dir,
                              .kind_names = kind_names,
                              .shapes = "'wasp schema request'"};
    struct manifest manifest = {0};
    struct json_value *document;

    if (json_parse(text, len, "manifest", &document, err) < 0)
        return -1;
    int rc = read_document(&reading, document, &chooser, &manifest);
    json_free(document);
    if (rc == 0)
        *ret_manifest = manifest;
    return rc;
}
