#include "report/explain.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"

static const char *const access_names[] = {[ACCESS_RO] = "read-only", [ACCESS_RW] = "read-write"};
static const char *const isolation_names[] = {
    [ISOLATION_FULL] = "full", [ISOLATION_LANDLOCK] = "landlock"};

static void write_text(struct json_writer *json, const char *key, const char *text)
{
    json_key(json, key);
    if (text)
        json_put_text(json, text, strlen(text)); /* names of files need not be UTF-8 */
    else
        json_put_null(json);
}

static void write_args(struct json_writer *json, const struct request *request)
{
    json_key(json, "args");
    json_open_array(json);
    for (size_t i = 0; i < request->n_args; i++)
        json_put_text(json, request->args[i], strlen(request->args[i]));
    json_close_array(json);
}

/*
 * A list, not an object as in a manifest: a name that is not UTF-8 could turn into one that is
 * there already.
 */
static void write_env(struct json_writer *json, const struct request *request)
{
    json_key(json, "env");
    json_open_array(json);
    for (size_t i = 0; i < request->n_env; i++)
        json_put_text(json, request->env[i], strlen(request->env[i]));
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
        json_put_string(json, access_names[dir->access]);
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

static void write_switches(struct json_writer *json, const struct request *request)
{
    json_key(json, "isolation");
    json_put_string(json, isolation_names[request->isolation]);
    json_key(json, "hardened");
    json_put_bool(json, request->pulley);
    json_key(json, "cache");
    json_put_bool(json, !request->no_cache);
    json_key(json, "output_kill");
    json_put_bool(json, request->output_kills);
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

int explain_write(int fd, const struct request *request)
{
    struct json_writer json;

    json_writer_init_fd(&json, fd);
    json_open_object(&json);
    json_key(&json, "schema");
    json_put_string(&json, "wasp.plan/1");
    json_key(&json, "backend");
    json_put_string(&json, "wasm");
    write_text(&json, "module", request->module);
    json_key(&json, "embedded");
    json_put_bool(&json, request->module_bytes != NULL);
    write_text(&json, "module_sha256", request->module_sha256);
    write_text(&json, "argv0", request->argv0 ? request->argv0 : request->module);
    write_args(&json, request);
    write_env(&json, request);
    write_dirs(&json, request);
    write_limits(&json, &request->limits);
    write_stdin(&json, request);
    write_switches(&json, request);
    write_labels(&json, request);
    json_close_object(&json);
    return json_finish(&json);
}
