#include "plan/request.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/digest.h"
#include "base/redact.h"
#include "plan/environment.h"
#include "plan/protected.h"

const char *const request_backend_names[] = {
    [BACKEND_WASM] = "wasm", [BACKEND_NATIVE] = "native", NULL};
const char *const request_access_names[] = {
    [ACCESS_RO] = "read-only", [ACCESS_RW] = "read-write", [ACCESS_OVERLAY] = "overlay", NULL};
const char *const request_isolation_names[] = {
    [ISOLATION_FULL] = "full", [ISOLATION_LANDLOCK] = "landlock", NULL};
const char *const request_network_names[] = {
    [NETWORK_NONE] = "none", [NETWORK_LOOPBACK] = "loopback", NULL};
const char *const request_proc_names[] = {[PROC_OWN] = "own", [PROC_NONE] = "none", NULL};
const char *const request_apply_names[] = {
    [APPLY_NEVER] = "never", [APPLY_ASK] = "ask", [APPLY_AUTO] = "auto", NULL};

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
        .secret_env = (const char **) no_strings,
        .unprotected = (const char **) no_strings,
        .stdin_kind = STDIN_NONE,
        .isolation = ISOLATION_FULL,
    };
    limits_init(&request->limits, backend);
}

int request_count_bytes(struct request *request, size_t len, struct err *err)
{
    if (len >= REQUEST_MAX_STRINGS_BYTES - request->strings_bytes)
        return err_set(err, ERR_REQUEST,
                       "arguments, environment, labels and source together are larger than 4 MiB, "
                       "the most that is taken: pass large data on stdin or in a file");
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
    if (request_count_bytes(request, strlen(arg), err) < 0)
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

/* Of the first len bytes of a name, as many as a message has room for. */
static int shown_len(size_t len)
{
    return (int) (len < 256 ? len : 256);
}

/* What holds for the name of a variable, wherever its value comes from. */
static int judge_name(const struct request *request, const char *name, size_t len, bool forced,
                      struct err *err)
{
    if (len == 0)
        return err_set(err, ERR_REQUEST,
                       "environment variable without a name: write NAME=VALUE, with a NAME");
    if (request->backend == BACKEND_NATIVE && !forced && environment_is_hook(name, len)) {
        (void) err_set(err, ERR_DENIED,
                       "environment variable '%.*s' makes programs run code that nobody named",
                       shown_len(len), name); /* -1, as below */
        return err_hint(err, "if that is what you want, force it: --env-force, or 'env_force' in "
                             "a manifest");
    }
    return 0;
}

static int refuse_twice(const char *name, size_t len, struct err *err)
{
    return err_set(err, ERR_REQUEST, "environment variable '%.*s' is given twice: keep one",
                   shown_len(len), name);
}

static int push_env(struct request *request, struct arena *arena, const char *assignment,
                    struct err *err)
{
    if (request->n_env >= REQUEST_MAX_ENV)
        return err_set(err, ERR_REQUEST, "more than %d environment variables", REQUEST_MAX_ENV);
    if (request_count_bytes(request, strlen(assignment), err) < 0)
        return -1;
    return push_string(&request->env, &request->n_env, arena, assignment, err);
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
    if (judge_name(request, assignment, len, forced, err) < 0)
        return -1;
    if (has_env(request, assignment, len) || request_is_secret(request, assignment))
        return refuse_twice(assignment, len, err);
    return push_env(request, arena, assignment, err);
}

bool request_is_secret(const struct request *request, const char *assignment)
{
    size_t len = strcspn(assignment, "=");

    for (size_t i = 0; i < request->n_secret_env; i++)
        if (strncmp(request->secret_env[i], assignment, len) == 0 &&
            request->secret_env[i][len] == '\0')
            return true;
    return false;
}

int request_add_secret_env(struct request *request, struct arena *arena, const char *name,
                           struct err *err)
{
    size_t len = strlen(name);

    if (len == 0)
        return err_set(err, ERR_REQUEST, "secret variable without a name: write its NAME");
    if (strchr(name, '=')) /* what is behind it may be the secret */
        return err_set(err, ERR_REQUEST,
                       "a secret variable is given by its name alone: its value is taken from "
                       "wasp's own environment, where no list of processes shows it");
    if (judge_name(request, name, len, false, err) < 0)
        return -1;
    if (has_env(request, name, len) || request_is_secret(request, name))
        return refuse_twice(name, len, err);
    if (request->n_secret_env >= REDACT_MAX_VALUES)
        return err_set(err, ERR_REQUEST, "more than %d secret variables", REDACT_MAX_VALUES);
    if (request_count_bytes(request, len, err) < 0)
        return -1;
    return push_string(&request->secret_env, &request->n_secret_env, arena, name, err);
}

static int refuse_secret(const char *name, struct err *err)
{
    switch (errno) {
    case EINVAL:
        return err_set(err, ERR_REQUEST,
                       "secret variable '%s' must have between %d and %d bytes: a shorter value "
                       "cannot be told from ordinary text, a larger one belongs into a file",
                       name, REDACT_MIN_VALUE, REDACT_MAX_VALUE);
    case ENOSPC:
        return err_set(err, ERR_REQUEST,
                       "the secret variables are too large together at '%s': pass large ones in "
                       "a file",
                       name);
    default:
        return err_no_memory(err);
    }
}

int request_put_secret(struct request *request, struct arena *arena, const char *name,
                       const char *value, struct secrets *secrets, struct err *err)
{
    if (!value)
        return err_set(err, ERR_REQUEST,
                       "secret variable '%s' is not set in wasp's own environment: set and export "
                       "it before wasp is started, or leave it out",
                       name);
    if (secrets_add(secrets, value, strlen(value)) < 0)
        return refuse_secret(name, err);
    request->secrets = secrets;
    char *assignment = arena_printf(arena, "%s=%s", name, value);
    if (!assignment)
        return err_no_memory(err);
    int rc = push_env(request, arena, assignment, err); /* which keeps a copy */
    explicit_bzero(assignment, strlen(assignment));
    return rc;
}

void request_wipe_secrets(struct request *request)
{
    for (size_t i = 0; i < request->n_env; i++)
        if (request_is_secret(request, request->env[i])) {
            char *value = strchr((char *) (uintptr_t) request->env[i], '=') + 1; /* our own copy */
            explicit_bzero(value, strlen(value));
        }
    request->secrets = NULL;
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
    if (request_count_bytes(request, strlen(name), err) < 0 ||
        request_count_bytes(request, strlen(value), err) < 0)
        return -1;
    if (!request->labels)
        request->labels = arena_array(arena, REQUEST_MAX_LABELS, sizeof(*request->labels));
    struct request_label label = {arena_strdup(arena, name), arena_strdup(arena, value)};
    if (!request->labels || !label.name || !label.value)
        return err_no_memory(err);
    request->labels[request->n_labels++] = label;
    return 0;
}

/* "'full' or 'landlock'" */
static const char *list_names(struct buf *all, const char *const *names)
{
    for (size_t i = 0; names[i]; i++) {
        const char *between = i == 0 ? "" : names[i + 1] ? ", " : " or ";
        (void) buf_printf(all, "%s'%s'", between, names[i]); /* what fits helps */
    }
    return all->data ? all->data : "one there is";
}

/* Where the name is among those there are, or -1 and *err. */
static int find_name(const char *what, const char *name, const char *const *names, struct err *err)
{
    _cleanup_(buf_release) struct buf all = BUF_INIT(sizeof(err->message) / 2);

    for (int i = 0; names[i]; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return err_set(err, ERR_REQUEST, "unknown %s '%s': write %s", what, name,
                   list_names(&all, names));
}

int request_set_isolation(struct request *request, const char *name, struct err *err)
{
    int found = find_name("isolation", name, request_isolation_names, err);

    if (found < 0)
        return -1;
    request->isolation = (enum isolation) found;
    request->isolation_given = true;
    return 0;
}

int request_set_network(struct request *request, const char *name, struct err *err)
{
    int found = find_name("network", name, request_network_names, err);

    if (found < 0)
        return -1;
    request->network = (enum network) found;
    return 0;
}

int request_set_proc(struct request *request, const char *name, struct err *err)
{
    int found = find_name("view of /proc", name, request_proc_names, err);

    if (found < 0)
        return -1;
    request->proc = (enum proc_view) found;
    request->proc_given = true;
    return 0;
}

int request_set_apply(struct request *request, const char *name, struct err *err)
{
    int found = find_name("way to apply changes", name, request_apply_names, err);

    if (found < 0)
        return -1;
    request->apply = (enum apply) found;
    return 0;
}

int request_add_unprotected(struct request *request, struct arena *arena, const char *name,
                            struct err *err)
{
    if (!protected_is_rule(name)) {
        (void) err_set(err, ERR_REQUEST, "'%s' is no protected name: it needs no leave",
                       name); /* -1, as below */
        return err_hint(err,
                        "those are .git, .git/hooks, .git/config, .envrc, .vscode, .bashrc and "
                        "their like; a refusal names the one that it is about");
    }
    for (size_t i = 0; i < request->n_unprotected; i++)
        if (strcmp(request->unprotected[i], name) == 0)
            return 0; /* twice is as good as once */
    return push_string(&request->unprotected, &request->n_unprotected, arena, name, err);
}

int request_set_pin(struct request *request, struct arena *arena, const char *hex, struct err *err)
{
    struct digest digest;

    if (!digest_from_hex(hex, &digest))
        return err_set(err, ERR_REQUEST, "'%s' is not a SHA-256: write its 64 hex digits", hex);
    request->module_sha256 = arena_strdup(arena, hex);
    return request->module_sha256 ? 0 : err_no_memory(err);
}

/* ---- what a native guest is ------------------------------------------------------------------ */

/* A copy of a path that may be one. */
static int keep_path(struct arena *arena, const char *path, const char *what, const char **ret_path,
                     struct err *err)
{
    if (path[0] == '\0')
        return err_set(err, ERR_REQUEST, "the %s is empty: write its name", what);
    if (strlen(path) >= PATH_MAX)
        return err_set(err, ERR_REQUEST, "the %s is longer than %d bytes", what, PATH_MAX - 1);
    *ret_path = arena_strdup(arena, path);
    return *ret_path ? 0 : err_no_memory(err);
}

int request_set_program(struct request *request, struct arena *arena, const char *program,
                        struct err *err)
{
    return keep_path(arena, program, "program", &request->program, err);
}

int request_set_cwd(struct request *request, struct arena *arena, const char *path, struct err *err)
{
    if (path[0] != '/' && path[0] != '\0')
        return err_set(
            err, ERR_REQUEST,
            "the working directory '%s' is not absolute: write where it is for the guest", path);
    return keep_path(arena, path, "working directory", &request->cwd, err);
}

int request_set_source(struct request *request, struct arena *arena, const char *source, size_t len,
                       struct err *err)
{
    if (len == 0)
        return err_set(err, ERR_REQUEST, "the source is empty: there is nothing to run");
    if (len > SOURCE_MAX_BYTES)
        return err_set(err, ERR_REQUEST,
                       "the source is larger than 1 MiB, the most that is taken: put it into a "
                       "directory, grant that, and run the file");
    if (memchr(source, '\0', len))
        return err_set(err, ERR_REQUEST, "the source has a NUL byte in it: it must be text");
    if (request_count_bytes(request, len, err) < 0)
        return -1;
    request->source = arena_strndup(arena, source, len);
    request->source_len = len;
    return request->source ? 0 : err_no_memory(err);
}
