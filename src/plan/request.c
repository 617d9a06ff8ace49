#include "plan/request.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "plan/environment.h"

/*
 * What an empty list points to, so that it ends in NULL like every other. Nothing is ever written
 * to it.
 */
static const char *const no_strings[] = {NULL};

void request_init(struct request *request, enum backend backend)
{
    *request = (struct request){
        .backend = backend,
        .args = (const char **) no_strings,
        .env = (const char **) no_strings,
        .unprotected = (const char **) no_strings,
        .stdin_kind = STDIN_NONE,
        .isolation = ISOLATION_FULL,
    };
    limits_init(&request->limits, backend);
}

/* Counts bytes of text against the common cap. */
static int count_bytes(struct request *request, size_t len, struct err *err)
{
    if (len >= REQUEST_MAX_STRINGS_BYTES - request->strings_bytes)
        return err_set(err, ERR_REQUEST,
                       "arguments, environment and labels together are larger than 4 MiB, the most "
                       "that is taken: pass large data on stdin or in a file");
    request->strings_bytes += len + 1;
    return 0;
}

/*
 * Adds a copy to a NULL-terminated list. A list of n has room for as many as the next power of
 * two, its NULL included, so it is full when n + 1 is one.
 */
static int push_string(const char ***list, size_t *n, struct arena *arena, const char *text,
                       struct err *err)
{
    size_t slots = *n + 1;

    if ((slots & (slots - 1)) == 0) {
        const char **grown = arena_array(arena, 2 * slots, sizeof(*grown));
        if (!grown)
            return err_no_memory(err);
        memcpy(grown, *list, *n * sizeof(*grown));
        *list = grown;
    }
    const char *copy = arena_strdup(arena, text);
    if (!copy)
        return err_no_memory(err);
    (*list)[(*n)++] = copy;
    (*list)[*n] = NULL;
    return 0;
}

int request_add_arg(struct request *request, struct arena *arena, const char *arg, struct err *err)
{
    if (request->n_args >= REQUEST_MAX_ARGS)
        return err_set(err, ERR_REQUEST, "more than %d arguments", REQUEST_MAX_ARGS);
    if (count_bytes(request, strlen(arg), err) < 0)
        return -1;
    return push_string(&request->args, &request->n_args, arena, arg, err);
}

int request_prepend_args(struct request *request, struct arena *arena, const char *const *args,
                         size_t n_args, struct err *err)
{
    const struct request before = *request;

    request->args = (const char **) no_strings;
    request->n_args = 0;
    for (size_t i = 0; i < n_args; i++)
        if (request_add_arg(request, arena, args[i], err) < 0)
            return -1;
    if (before.n_args > REQUEST_MAX_ARGS - request->n_args)
        return err_set(err, ERR_REQUEST, "more than %d arguments", REQUEST_MAX_ARGS);
    /* Their bytes were counted when they came. */
    for (size_t i = 0; i < before.n_args; i++)
        if (push_string(&request->args, &request->n_args, arena, before.args[i], err) < 0)
            return -1;
    return 0;
}

static bool has_env(const struct request *request, const char *name, size_t len)
{
    for (size_t i = 0; i < request->n_env; i++)
        if (strncmp(request->env[i], name, len) == 0 && request->env[i][len] == '=')
            return true;
    return false;
}

/* No message shows a value: it may be a secret. */
int request_add_env(struct request *request, struct arena *arena, const char *assignment,
                    bool forced, struct err *err)
{
    size_t len = strcspn(assignment, "=");

    if (assignment[len] == '\0')
        return err_set(err, ERR_REQUEST,
                       "environment variable '%s' has no value: the host's environment is never "
                       "inherited, write NAME=VALUE",
                       assignment);
    if (len == 0)
        return err_set(err, ERR_REQUEST,
                       "environment variable without a name: write NAME=VALUE, with a NAME");
    if (request->backend == BACKEND_NATIVE && !forced && environment_is_hook(assignment, len)) {
        (void) err_set(err, ERR_DENIED,
                       "environment variable '%.*s' makes a loader or an interpreter run code",
                       (int) (len < 256 ? len : 256), assignment);
        return err_hint(err, "if that is what you want, give it with --env-force");
    }
    if (has_env(request, assignment, len))
        return err_set(err, ERR_REQUEST, "environment variable '%.*s' is given twice: keep one",
                       (int) (len < 256 ? len : 256), assignment);
    if (request->n_env >= REQUEST_MAX_ENV)
        return err_set(err, ERR_REQUEST, "more than %d environment variables", REQUEST_MAX_ENV);
    if (count_bytes(request, strlen(assignment), err) < 0)
        return -1;
    return push_string(&request->env, &request->n_env, arena, assignment, err);
}

int request_add_label(struct request *request, struct arena *arena, const char *name,
                      const char *value, struct err *err)
{
    if (name[0] == '\0')
        return err_set(err, ERR_REQUEST, "label without a name");
    for (size_t i = 0; i < request->n_labels; i++)
        if (strcmp(request->labels[i].name, name) == 0)
            return err_set(err, ERR_REQUEST, "label '%s' is given twice: keep one", name);
    if (request->n_labels >= REQUEST_MAX_LABELS)
        return err_set(err, ERR_REQUEST, "more than %d labels", REQUEST_MAX_LABELS);
    if (count_bytes(request, strlen(name), err) < 0 || count_bytes(request, strlen(value), err) < 0)
        return -1;
    if (!request->labels)
        request->labels = arena_array(arena, REQUEST_MAX_LABELS, sizeof(*request->labels));
    struct request_label label = {arena_strdup(arena, name), arena_strdup(arena, value)};
    if (!request->labels || !label.name || !label.value)
        return err_no_memory(err);
    request->labels[request->n_labels++] = label;
    return 0;
}

int request_set_isolation(struct request *request, const char *name, struct err *err)
{
    static const char *const names[] = {
        [ISOLATION_FULL] = "full",
        [ISOLATION_LANDLOCK] = "landlock",
    };

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (strcmp(names[i], name) == 0) {
            request->isolation = (enum isolation) i;
            request->isolation_given = true;
            return 0;
        }
    return err_set(err, ERR_REQUEST, "unknown isolation '%s': write 'full' or 'landlock'", name);
}

int request_set_pin(struct request *request, struct arena *arena, const char *hex, struct err *err)
{
    struct digest digest;

    if (!digest_from_hex(hex, &digest))
        return err_set(err, ERR_REQUEST, "'%s' is not a SHA-256: write its 64 hex digits", hex);
    request->module_sha256 = arena_strdup(arena, hex);
    return request->module_sha256 ? 0 : err_no_memory(err);
}
