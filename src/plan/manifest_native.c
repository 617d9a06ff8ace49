#include "plan/manifest_keys.h"

#include <string.h>

#include "plan/language.h"
#include "plan/words.h"

/* ---- what runs ------------------------------------------------------------------------------- */

/* The first word is the program. */
static int take_word(struct request *request, struct arena *arena, const char *word,
                     struct err *err)
{
    if (!request->program)
        return request_set_program(request, arena, word, err);
    return request_add_arg(request, arena, word, err);
}

static int read_word(struct reading *reading, const char *path, const struct json_value *value,
                     void *into)
{
    struct manifest *manifest = into;
    int rc = take_word(&manifest->request, reading->arena, json_value_string(value), reading->err);

    return key_judged(reading, path, rc);
}

int manifest_read_argv(struct reading *reading, const char *path, const struct json_value *value,
                       void *into)
{
    if (json_value_count(value) == 0)
        return key_refuse(reading, path, "is empty: write a program, then its arguments");
    return keys_each_element(reading, path, value, JSON_KIND_STRING, read_word, into);
}

static int take_command(struct request *request, struct arena *arena, const char *command,
                        struct err *err)
{
    const char *const *words;
    size_t n;

    if (words_split(command, arena, &words, &n, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (take_word(request, arena, words[i], err) < 0)
            return -1;
    return 0;
}

int manifest_read_command(struct reading *reading, const char *path, const struct json_value *value,
                          void *into)
{
    struct manifest *manifest = into;

    if (manifest->request.program)
        return key_refuse(reading, path, "is there beside 'argv': keep one of them");
    int rc =
        take_command(&manifest->request, reading->arena, json_value_string(value), reading->err);
    return key_judged(reading, path, rc);
}

int manifest_check_program(struct reading *reading, const struct manifest *manifest)
{
    if (manifest->request.program)
        return 0;
    return key_refuse(reading, "argv", "is missing, and so is 'command': write one of them");
}

int manifest_read_language(struct reading *reading, const char *path,
                           const struct json_value *value, void *into)
{
    struct manifest *manifest = into;

    manifest->request.language = language_find(json_value_string(value), reading->err);
    return key_judged(reading, path, manifest->request.language ? 0 : -1);
}

int manifest_read_source(struct reading *reading, const char *path, const struct json_value *value,
                         void *into)
{
    struct manifest *manifest = into;
    const char *text = json_value_string(value);
    int rc =
        request_set_source(&manifest->request, reading->arena, text, strlen(text), reading->err);

    return key_judged(reading, path, rc);
}

int manifest_read_runtime(struct reading *reading, const char *path, const struct json_value *value,
                          void *into)
{
    struct manifest *manifest = into;

    if (json_value_string(value)[0] == '\0')
        return key_refuse(reading, path, "must not be empty");
    manifest->runtime = arena_strdup(reading->arena, json_value_string(value));
    return manifest->runtime ? 0 : err_no_memory(reading->err);
}

/* ---- where it runs --------------------------------------------------------------------------- */

int manifest_read_cwd(struct reading *reading, const char *path, const struct json_value *value,
                      void *into)
{
    struct manifest *manifest = into;
    int rc =
        request_set_cwd(&manifest->request, reading->arena, json_value_string(value), reading->err);

    return key_judged(reading, path, rc);
}

int manifest_read_rootfs(struct reading *reading, const char *path, const struct json_value *value,
                         void *into)
{
    struct manifest *manifest = into;
    int rc = request_set_rootfs(&manifest->request, reading->arena, reading->base_dir,
                                json_value_string(value), reading->err);

    return key_judged(reading, path, rc);
}

int manifest_read_proc(struct reading *reading, const char *path, const struct json_value *value,
                       void *into)
{
    struct manifest *manifest = into;
    int rc = request_set_proc(&manifest->request, json_value_string(value), reading->err);

    return key_judged(reading, path, rc);
}

int manifest_read_tty(struct reading *reading, const char *path, const struct json_value *value,
                      void *into)
{
    (void) reading, (void) path; /* either value is good */
    ((struct manifest *) into)->request.tty = json_value_bool(value);
    return 0;
}

/* ---- what becomes of its changes ------------------------------------------------------------- */

int manifest_read_apply(struct reading *reading, const char *path, const struct json_value *value,
                        void *into)
{
    struct manifest *manifest = into;
    int rc = request_set_apply(&manifest->request, json_value_string(value), reading->err);

    return key_judged(reading, path, rc);
}

int manifest_read_diff(struct reading *reading, const char *path, const struct json_value *value,
                       void *into)
{
    (void) reading, (void) path; /* either value is good */
    ((struct manifest *) into)->request.diff = json_value_bool(value);
    return 0;
}
