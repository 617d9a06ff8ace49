#include "plan/manifest_keys.h"

#include <stdio.h>
#include <string.h>

#include "base/base64.h"
#include "base/cleanup.h"

/* Of the keys of an object within: they depend on no kind. */
#define ANY (~0U)

int manifest_keep_path(struct reading *reading, const char *path, const struct json_value *value,
                       const char **ret_path)
{
    const char *text = json_value_string(value);

    if (text[0] == '\0')
        return key_refuse(reading, path, "must not be empty");
    *ret_path = request_path(reading->arena, reading->base_dir, text);
    return *ret_path ? 0 : err_no_memory(reading->err);
}

static int read_arg(struct reading *reading, const char *path, const struct json_value *value,
                    void *into)
{
    struct manifest *manifest = into;
    int rc =
        request_add_arg(&manifest->request, reading->arena, json_value_string(value), reading->err);

    return key_judged(reading, path, rc);
}

int manifest_read_args(struct reading *reading, const char *path, const struct json_value *value,
                       void *into)
{
    return keys_each_element(reading, path, value, JSON_KIND_STRING, read_arg, into);
}

static int add_variable(struct reading *reading, const char *path, const char *name,
                        const struct json_value *value, bool forced, struct manifest *manifest)
{
    if (key_check_type(reading, path, value, JSON_KIND_STRING) < 0)
        return -1;
    if (strchr(name, '='))
        return key_refuse(reading, path, "the name of a variable must not contain '='");
    char *assignment = arena_printf(reading->arena, "%s=%s", name, json_value_string(value));
    if (!assignment)
        return err_no_memory(reading->err);
    int rc = request_add_env(&manifest->request, reading->arena, assignment, forced, reading->err);
    return key_judged(reading, path, rc);
}

static int read_variable(struct reading *reading, const char *path, const char *name,
                         const struct json_value *value, void *into)
{
    return add_variable(reading, path, name, value, false, into);
}

static int read_forced_variable(struct reading *reading, const char *path, const char *name,
                                const struct json_value *value, void *into)
{
    return add_variable(reading, path, name, value, true, into);
}

int manifest_read_env_force(struct reading *reading, const char *path,
                            const struct json_value *value, void *into)
{
    return keys_each_member(reading, path, value, read_forced_variable, into);
}

int manifest_read_env(struct reading *reading, const char *path, const struct json_value *value,
                      void *into)
{
    return keys_each_member(reading, path, value, read_variable, into);
}

static int read_secret_name(struct reading *reading, const char *path,
                            const struct json_value *value, void *into)
{
    struct manifest *manifest = into;
    int rc = request_add_secret_env(&manifest->request, reading->arena, json_value_string(value),
                                    reading->err);

    return key_judged(reading, path, rc);
}

int manifest_read_secret_env(struct reading *reading, const char *path,
                             const struct json_value *value, void *into)
{
    return keys_each_element(reading, path, value, JSON_KIND_STRING, read_secret_name, into);
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

int manifest_read_labels(struct reading *reading, const char *path, const struct json_value *value,
                         void *into)
{
    return keys_each_member(reading, path, value, read_label, into);
}

/* One element of allow_dirs while it is read. */
struct dir_keys {
    const char *path, *guest;
    enum access access;
    enum backend backend;
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
    struct dir_keys *dir = into;
    const char *name = json_value_string(value);
    bool is_native = dir->backend == BACKEND_NATIVE;

    for (int i = 0; request_access_names[i]; i++)
        if (strcmp(request_access_names[i], name) == 0 && (is_native || i != ACCESS_OVERLAY)) {
            dir->access = (enum access) i;
            return 0;
        }
    if (strcmp(name, "overlay") == 0)
        return key_refuse(reading, path,
                          "'overlay' is not there for wasm: write 'read-only' or 'read-write'");
    return key_refuse(reading, path, "unknown access '%s': write 'read-only'%s 'read-write'%s",
                      name, is_native ? "," : " or", is_native ? " or 'overlay'" : "");
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
    struct dir_keys dir = {.access = ACCESS_RO, .backend = manifest->request.backend};

    if (keys_read(reading, path, value, keys, ARRAY_SIZE(keys), &dir) < 0)
        return -1;
    int rc = request_add_dir(&manifest->request, reading->arena, reading->base_dir, dir.path,
                             dir.guest, dir.access, reading->err);
    return key_judged(reading, path, rc);
}

int manifest_read_dirs(struct reading *reading, const char *path, const struct json_value *value,
                       void *into)
{
    return keys_each_element(reading, path, value, JSON_KIND_OBJECT, read_dir, into);
}

static int read_unprotected_name(struct reading *reading, const char *path,
                                 const struct json_value *value, void *into)
{
    struct manifest *manifest = into;
    int rc = request_add_unprotected(&manifest->request, reading->arena, json_value_string(value),
                                     reading->err);

    return key_judged(reading, path, rc);
}

int manifest_read_unprotected(struct reading *reading, const char *path,
                              const struct json_value *value, void *into)
{
    return keys_each_element(reading, path, value, JSON_KIND_STRING, read_unprotected_name, into);
}

/* ---- what it may ask for through its door ---------------------------------------------------- */

static int read_capability(struct reading *reading, const char *path,
                           const struct json_value *value, void *into)
{
    struct manifest *manifest = into;
    int rc = request_add_capability(&manifest->request, reading->arena, reading->base_dir,
                                    json_value_string(value), reading->err);

    return key_judged(reading, path, rc);
}

int manifest_read_capabilities(struct reading *reading, const char *path,
                               const struct json_value *value, void *into)
{
    return keys_each_element(reading, path, value, JSON_KIND_STRING, read_capability, into);
}

/* One element of commands that is an object, while it is read. */
struct command_keys {
    const char *program;
    const char **args;
    size_t n_args;
};

static int read_command_program(struct reading *reading, const char *path,
                                const struct json_value *value, void *into)
{
    (void) reading, (void) path; /* judged with the rest of the command */
    ((struct command_keys *) into)->program = json_value_string(value);
    return 0;
}

static int read_command_arg(struct reading *reading, const char *path,
                            const struct json_value *value, void *into)
{
    struct command_keys *command = into;

    (void) reading, (void) path; /* as above */
    command->args[command->n_args++] = json_value_string(value);
    return 0;
}

static int read_command_args(struct reading *reading, const char *path,
                             const struct json_value *value, void *into)
{
    struct command_keys *command = into;

    command->args =
        arena_array(reading->arena, json_value_count(value) + 1, sizeof(*command->args));
    if (!command->args)
        return err_no_memory(reading->err);
    return keys_each_element(reading, path, value, JSON_KIND_STRING, read_command_arg, command);
}

static int read_command(struct reading *reading, const char *path, const struct json_value *value,
                        struct request *request)
{
    static const struct key keys[] = {
        {"program", JSON_KIND_STRING, ANY, true, read_command_program},
        {"args", JSON_KIND_ARRAY, ANY, false, read_command_args},
    };
    struct command_keys command = {NULL, NULL, 0};

    if (json_kind(value) == JSON_KIND_STRING)
        return key_judged(reading, path,
                          request_add_command_text(request, reading->arena,
                                                   json_value_string(value), reading->err));
    if (key_check_type(reading, path, value, JSON_KIND_OBJECT) < 0 ||
        keys_read(reading, path, value, keys, ARRAY_SIZE(keys), &command) < 0)
        return -1;
    int rc = request_add_command(request, reading->arena, command.program, command.args,
                                 command.n_args, reading->err);
    return key_judged(reading, path, rc);
}

/* Each is a text, or an object. */
int manifest_read_commands(struct reading *reading, const char *path,
                           const struct json_value *value, void *into)
{
    struct manifest *manifest = into;
    char element_path[KEY_PATH_SIZE];

    for (size_t i = 0; i < json_value_count(value); i++) {
        (void) snprintf(element_path, sizeof(element_path), "%s[%zu]", path, i); /* may be cut */
        if (read_command(reading, element_path, json_value_at(value, i), &manifest->request) < 0)
            return -1;
    }
    return 0;
}

/* ---- what it reads --------------------------------------------------------------------------- */

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
    return manifest_keep_path(reading, path, value, &request->stdin_path);
}

int manifest_read_stdin(struct reading *reading, const char *path, const struct json_value *value,
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
