#include "report/explain.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/json.h"
#include "plan/environment.h"
#include "plan/plan.h"

/* What stands for the value of a variable that looks like a credential. */
#define HIDDEN "***"

static void write_text(struct json_writer *json, const char *key, const char *text)
{
    json_key(json, key);
    if (text)
        json_put_text(json, text, strlen(text)); /* names of files need not be UTF-8 */
    else
        json_put_null(json);
}

static void write_list(struct json_writer *json, const char *key, const char *const *texts,
                       size_t n)
{
    json_key(json, key);
    json_open_array(json);
    for (size_t i = 0; i < n; i++)
        json_put_text(json, texts[i], strlen(texts[i]));
    json_close_array(json);
}

static void write_dirs(struct json_writer *json, const struct request *request)
{
    json_key(json, "allow_dirs");
    json_open_array(json);
    for (size_t i = 0; i < request->n_dirs; i++) {
        const struct request_dir *dir = &request->dirs[i];
        json_open_object(json);
        write_text(json, "path", dir->host);
        json_key(json, "access");
        json_put_string(json, request_access_names[dir->access]);
        json_key(json, "guest");
        json_open_array(json);
        json_put_text(json, dir->guest, strlen(dir->guest));
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
        write_text(json, "file", request->stdin_path);
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
        write_text(json, request->labels[i].name, request->labels[i].value);
    json_close_object(json);
}

/* ---- wasm ------------------------------------------------------------------------------------ */

static void write_wasm(struct json_writer *json, const struct request *request)
{
    write_text(json, "module", request->module);
    write_bool(json, "embedded", request->module_bytes != NULL);
    write_text(json, "module_sha256", request->module_sha256);
    write_text(json, "argv0", request->argv0 ? request->argv0 : request->module);
    write_list(json, "args", request->args, request->n_args);
    /*
     * A list, not an object as in a manifest: a name that is not UTF-8 could turn into one that is
     * there already.
     */
    write_list(json, "env", request->env, request->n_env);
    write_dirs(json, request);
    write_limits(json, &request->limits);
    write_stdin(json, request);
    write_text(json, "isolation", request_isolation_names[request->isolation]);
    write_bool(json, "hardened", request->pulley);
    write_bool(json, "cache", !request->no_cache);
    write_bool(json, "output_kill", request->output_kills);
    if (request->n_unprotected > 0)
        write_list(json, "unprotected", request->unprotected, request->n_unprotected);
}

/* ---- native ---------------------------------------------------------------------------------- */

static void put_variable(struct json_writer *json, const char *assignment)
{
    char shown[1024];
    size_t len = strlen(assignment);

    if (!environment_is_credential(assignment)) {
        json_put_text(json, assignment, len);
        return;
    }
    int name = (int) strcspn(assignment, "=");
    len = (size_t) snprintf(shown, sizeof(shown), "%.*s=" HIDDEN, name, assignment);
    json_put_text(json, shown, len < sizeof(shown) ? len : sizeof(shown) - 1);
}

/* With what it gets besides the request's own; a credential is named and not shown. */
static void write_native_env(struct json_writer *json, const char *const *env, size_t n)
{
    json_key(json, "env");
    json_open_array(json);
    for (size_t i = 0; i < n; i++)
        put_variable(json, env[i]);
    json_close_array(json);
    json_key(json, "credentials");
    json_open_array(json);
    for (size_t i = 0; i < n; i++)
        if (environment_is_credential(env[i]))
            json_put_text(json, env[i], strcspn(env[i], "="));
    json_close_array(json);
}

static void write_source(struct json_writer *json, const struct request *request)
{
    struct sha256 sha;
    struct digest digest;
    char hex[DIGEST_HEX];

    write_text(json, "language", request->language);
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
    write_text(json, "file", request->source_name);
    json_key(json, "bytes");
    json_put_uint(json, request->source_len);
    write_text(json, "sha256", hex);
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
    write_text(json, "program", request->program);
    write_list(json, "args", request->args, request->n_args);
    write_source(json, request);
    write_native_env(json, env, n_env);
    write_dirs(json, request);
    write_text(json, "cwd", find_cwd(request));
    write_text(json, "rootfs", request->rootfs);
    write_text(json, "network", request_network_names[request->network]);
    write_text(json, "proc", request_proc_names[request->proc]);
    write_bool(json, "tty", request->tty);
    write_text(json, "apply", request_apply_names[request->apply]);
    write_bool(json, "diff", request->diff);
    write_list(json, "unprotected", request->unprotected, request->n_unprotected);
    write_limits(json, &request->limits);
    write_stdin(json, request);
    write_text(json, "isolation", request_isolation_names[request->isolation]);
    write_bool(json, "output_kill", request->output_kills);
}

int explain_write(int fd, const struct request *request)
{
    struct arena *arena = arena_new();
    struct json_writer json;
    struct err err;
    const char **env;
    size_t n_env;

    if (!arena || request_native_env(request, arena, &env, &n_env, &err) < 0) {
        arena_free(arena);
        return -1;
    }
    json_writer_init_fd(&json, fd);
    json_open_object(&json);
    write_text(&json, "schema", "wasp.plan/1");
    write_text(&json, "backend", request_backend_names[request->backend]);
    if (request->backend == BACKEND_WASM)
        write_wasm(&json, request);
    else
        write_native(&json, request, env, n_env);
    write_labels(&json, request);
    json_close_object(&json);
    arena_free(arena);
    return json_finish(&json);
}
