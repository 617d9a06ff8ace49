#include "report/explain.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/json.h"
#include "plan/environment.h"
#include "plan/plan.h"
#include "report/shown.h"

/* What stands for the value of a variable that is a secret or looks like a credential. */
#define HIDDEN "***"

/* A name of ours. */
static void write_word(struct json_writer *json, const char *key, const char *word)
{
    json_key(json, key);
    json_put_string(json, word);
}

/* A text of the request's. */
static void write_text(struct json_writer *json, const char *key, const char *text,
                       const struct request *request)
{
    json_key(json, key);
    if (text)
        shown_put(json, text, strlen(text), request->secrets);
    else
        json_put_null(json);
}

static void write_list(struct json_writer *json, const char *key, const char *const *texts,
                       size_t n, const struct request *request)
{
    json_key(json, key);
    json_open_array(json);
    for (size_t i = 0; i < n; i++)
        shown_put(json, texts[i], strlen(texts[i]), request->secrets);
    json_close_array(json);
}

/* A variable; where it is hidden, its name alone. */
static void put_variable(struct json_writer *json, const char *assignment, bool is_hidden,
                         const struct request *request)
{
    char shown[1024];
    size_t len = strlen(assignment);

    if (!is_hidden) {
        shown_put(json, assignment, len, request->secrets);
        return;
    }
    int name = (int) strcspn(assignment, "=");
    len = (size_t) snprintf(shown, sizeof(shown), "%.*s=" HIDDEN, name, assignment);
    json_put_text(json, shown, len < sizeof(shown) ? len : sizeof(shown) - 1);
}

static void write_dirs(struct json_writer *json, const struct request *request)
{
    json_key(json, "allow_dirs");
    json_open_array(json);
    for (size_t i = 0; i < request->n_dirs; i++) {
        const struct request_dir *dir = &request->dirs[i];
        json_open_object(json);
        write_text(json, "path", dir->host, request);
        json_key(json, "access");
        json_put_string(json, request_access_names[dir->access]);
        json_key(json, "guest");
        json_open_array(json);
        shown_put(json, dir->guest, strlen(dir->guest), request->secrets);
        if (dir->also_dot && strcmp(dir->guest, ".") != 0)
            json_put_string(json, ".");
        json_close_array(json);
        json_close_object(json);
    }
    json_close_array(json);
}

static void write_limits(struct json_writer *json, const struct limits *limits)
{
    json_key(json, "limits");
    json_open_object(json);
    for (size_t i = 0; i < LIMIT_COUNT; i++) {
        uint64_t value = limits->value[i];
        if (!limit_exists((enum limit) i, limits->backend))
            continue;
        json_key(json, limit_rows[i].key);
        if (value == UNITS_UNLIMITED)
            json_put_string(json, "unlimited");
        else if (limit_rows[i].unit == UNIT_DURATION)
            json_put_uint(json,
                          value / NS_PER_MS + (value % NS_PER_MS != 0)); /* 0 would read as none */
        else
            json_put_uint(json, value);
    }
    json_close_object(json);
}

static void write_stdin(struct json_writer *json, const struct request *request)
{
    json_key(json, "stdin");
    if (request->stdin_kind == STDIN_NONE) {
        json_put_null(json);
        return;
    }
    json_open_object(json);
    switch (request->stdin_kind) {
    case STDIN_NONE:
        break;
    case STDIN_INHERIT:
        json_key(json, "inherit");
        json_put_bool(json, true);
        break;
    case STDIN_FILE:
        write_text(json, "file", request->stdin_path, request);
        break;
    case STDIN_BYTES:
        json_key(json, "bytes");
        json_put_uint(json, request->stdin_len);
        break;
    }
    json_close_object(json);
}

static void write_bool(struct json_writer *json, const char *key, bool value)
{
    json_key(json, key);
    json_put_bool(json, value);
}

static void write_labels(struct json_writer *json, const struct request *request)
{
    if (request->n_labels == 0)
        return;
    json_key(json, "labels");
    json_open_object(json);
    for (size_t i = 0; i < request->n_labels; i++)
        write_text(json, request->labels[i].name, request->labels[i].value, request);
    json_close_object(json);
}

/* Those that come from wasp's own environment. */
static void write_secret_env(struct json_writer *json, const struct request *request)
{
    if (request->n_secret_env > 0)
        write_list(json, "secret_env", request->secret_env, request->n_secret_env, request);
}

/* What it may ask for through its door. */
static void write_door(struct json_writer *json, const struct request *request)
{
    json_key(json, "capabilities");
    json_open_array(json);
    for (size_t i = 0; i < request->n_capabilities; i++) {
        json_open_object(json);
        write_word(json, "name", capability_rows[request->capabilities[i].capability].name);
        write_text(json, "path", request->capabilities[i].path, request);
        json_close_object(json);
    }
    json_close_array(json);
    json_key(json, "commands");
    json_open_array(json);
    for (size_t i = 0; i < request->n_commands; i++) {
        const struct request_command *command = &request->commands[i];
        json_open_object(json);
        write_text(json, "program", command->program, request);
        write_list(json, "args", command->args, command->n_args, request);
        write_bool(json, "any_args", command->any_args);
        json_close_object(json);
    }
    json_close_array(json);
}

/* ---- wasm ------------------------------------------------------------------------------------ */

static void write_wasm(struct json_writer *json, const struct request *request)
{
    write_text(json, "module", request->module, request);
    write_bool(json, "embedded", request->module_bytes != NULL);
    write_text(json, "module_sha256", request->module_sha256, request);
    write_text(json, "argv0", request->argv0 ? request->argv0 : request->module, request);
    write_list(json, "args", request->args, request->n_args, request);
    /*
     * A list, not an object as in a manifest: a name that is not UTF-8 could turn into one that is
     * there already.
     */
    json_key(json, "env");
    json_open_array(json);
    for (size_t i = 0; i < request->n_env; i++)
        put_variable(json, request->env[i], request_is_secret(request, request->env[i]), request);
    json_close_array(json);
    write_secret_env(json, request);
    write_dirs(json, request);
    write_door(json, request);
    write_limits(json, &request->limits);
    write_stdin(json, request);
    write_word(json, "isolation", request_isolation_names[request->isolation]);
    write_bool(json, "hardened", request->pulley);
    write_bool(json, "cache", !request->no_cache);
    write_bool(json, "output_kill", request->output_kills);
    if (request->n_unprotected > 0)
        write_list(json, "unprotected", request->unprotected, request->n_unprotected, request);
}

/* ---- native ---------------------------------------------------------------------------------- */

static bool is_credential(const char *assignment, const struct request *request)
{
    return request_is_secret(request, assignment) || environment_is_credential(assignment);
}

/* With what it gets besides the request's own; a credential is named and not shown. */
static void write_native_env(struct json_writer *json, const char *const *env, size_t n,
                             const struct request *request)
{
    json_key(json, "env");
    json_open_array(json);
    for (size_t i = 0; i < n; i++)
        put_variable(json, env[i], is_credential(env[i], request), request);
    json_close_array(json);
    json_key(json, "credentials");
    json_open_array(json);
    for (size_t i = 0; i < n; i++)
        if (is_credential(env[i], request))
            json_put_text(json, env[i], strcspn(env[i], "="));
    json_close_array(json);
}

static void write_source(struct json_writer *json, const struct request *request)
{
    struct sha256 sha;
    struct digest digest;
    char hex[DIGEST_HEX];

    write_text(json, "language", request->language, request);
    json_key(json, "source");
    if (!request->source_name) {
        json_put_null(json);
        return;
    }
    sha256_init(&sha);
    sha256_add(&sha, request->source, request->source_len);
    sha256_finish(&sha, &digest);
    digest_hex(&digest, hex);
    json_open_object(json);
    write_word(json, "file", request->source_name);
    json_key(json, "bytes");
    json_put_uint(json, request->source_len);
    write_word(json, "sha256", hex);
    json_close_object(json);
}

static const char *find_cwd(const struct request *request)
{
    if (request->cwd)
        return request->cwd;
    for (size_t i = 0; i < request->n_dirs; i++)
        if (request->dirs[i].plain)
            return request->dirs[i].guest;
    return CELL_HOME;
}

static void write_native(struct json_writer *json, const struct request *request,
                         const char *const *env, size_t n_env)
{
    write_text(json, "program", request->program, request);
    write_list(json, "args", request->args, request->n_args, request);
    write_source(json, request);
    write_native_env(json, env, n_env, request);
    write_secret_env(json, request);
    write_dirs(json, request);
    write_text(json, "cwd", find_cwd(request), request);
    write_text(json, "rootfs", request->rootfs, request);
    write_word(json, "network", request_network_names[request->network]);
    write_word(json, "proc", request_proc_names[request->proc]);
    write_bool(json, "tty", request->tty);
    write_word(json, "apply", request_apply_names[request->apply]);
    write_bool(json, "diff", request->diff);
    write_list(json, "unprotected", request->unprotected, request->n_unprotected, request);
    write_limits(json, &request->limits);
    write_stdin(json, request);
    write_word(json, "isolation", request_isolation_names[request->isolation]);
    write_bool(json, "output_kill", request->output_kills);
}

/* Not cut: what is approved is seen. */
static void write_texts(struct json_writer *json, const struct request *request)
{
    if (request->source) {
        json_key(json, "source_text");
        shown_put(json, request->source, request->source_len, request->secrets);
    }
    if (request->stdin_kind == STDIN_BYTES) {
        json_key(json, "stdin_text");
        shown_put(json, request->stdin_bytes, request->stdin_len, request->secrets);
    }
}

int explain_put(struct json_writer *json, const struct request *request, bool in_full)
{
    struct arena *arena = arena_new();
    struct err err;
    const char **env;
    size_t n_env;

    if (!arena || request_native_env(request, arena, &env, &n_env, &err) < 0) {
        arena_free(arena);
        return -1;
    }
    json_open_object(json);
    write_word(json, "schema", "wasp.plan/1");
    write_word(json, "backend", request_backend_names[request->backend]);
    if (request->backend == BACKEND_WASM)
        write_wasm(json, request);
    else
        write_native(json, request, env, n_env);
    write_labels(json, request);
    if (in_full)
        write_texts(json, request);
    json_close_object(json);
    arena_free(arena);
    return 0;
}

int explain_write(int fd, const struct request *request)
{
    struct json_writer json;

    json_writer_init_fd(&json, fd);
    if (explain_put(&json, request, false) < 0)
        return -1;
    return json_finish(&json);
}
