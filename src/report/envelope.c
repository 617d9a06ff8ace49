#include "report/envelope.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/utf8.h"
#include "report/denial.h"
#include "report/shown.h"
#include "report/verdict.h"

/*
 * Names of walls in `enforced`: each is there if all of its bits are. Landlock's carries its
 * version and is written by hand.
 */
static const struct wall_name {
    uint32_t walls;
    const char *name;
} wall_names[] = {
    {WALL_USER_NAMESPACE, "namespace:user"},
    {WALL_MOUNT_NAMESPACE, "namespace:mount"},
    {WALL_PID_NAMESPACE, "namespace:pid"},
    {WALL_IPC_NAMESPACE, "namespace:ipc"},
    {WALL_UTS_NAMESPACE, "namespace:uts"},
    {WALL_NET_NAMESPACE, "namespace:net"},
    {WALL_CGROUP_NAMESPACE, "namespace:cgroup"},
    {WALL_NO_NESTING, "namespace:no-nesting"},
    {WALL_EMPTY_ROOT, "root:empty"},
    {WALL_OWN_ROOT, "root:own"},
    {WALL_PINS, "protected-names:pinned"},
    {WALL_UID_RANGE, "identity:uid-range"},
    {WALL_NO_CAPABILITIES, "capabilities:none"},
    {WALL_NO_NEW_PRIVS, "no-new-privs"},
    {WALL_SECCOMP, "seccomp"},
    {WALL_RLIMITS | WALL_CPU_WATCH, "memory:rlimit"},
    {WALL_RLIMITS | WALL_CPU_WATCH, "cpu:rlimit+watch"},
    {WALL_CGROUP_V1, "memory:cgroup-v1"},
    {WALL_CGROUP_V1, "cpu:cgroup-v1"},
    {WALL_CGROUP_V1, "processes:cgroup-v1"},
    {WALL_CGROUP_V2, "memory:cgroup-v2"},
    {WALL_CGROUP_V2, "cpu:cgroup-v2"},
    {WALL_CGROUP_V2, "processes:cgroup-v2"},
    {WALL_TREE_WATCH, "memory:rlimit+watch"},
    {WALL_TREE_WATCH, "cpu:rlimit+watch"},
    {WALL_TREE_WATCH | WALL_NPROC, "processes:rlimit"},
    {WALL_SCRATCH, "disk:tmpfs"},
};

static const struct hit_limit {
    uint32_t hit;
    enum limit limit;
} hit_limits[] = {
    {HIT_MEMORY, LIMIT_MEMORY},
    {HIT_TABLE, LIMIT_TABLE},
    {HIT_DISK, LIMIT_DISK},
    {HIT_FILE, LIMIT_FILE},
    {HIT_OPEN_FILES, LIMIT_OPEN_FILES},
    {HIT_PROCESSES, LIMIT_PROCESSES},
};

/*
 * The largest whole number that every JSON reader holds exactly. A cell that was taken over may
 * claim more.
 */
#define LARGEST ((UINT64_C(1) << 53) - 1)

static void write_string(struct json_writer *json, const char *key, const char *text)
{
    json_key(json, key);
    json_put_string(json, text);
}

static void write_uint(struct json_writer *json, const char *key, uint64_t value)
{
    json_key(json, key);
    json_put_uint(json, value < LARGEST ? value : LARGEST);
}

/* A number that only the cell knows: null if it ended before it could say. */
static void write_heard(struct json_writer *json, const char *key, bool heard, uint64_t value)
{
    if (heard) {
        write_uint(json, key, value);
    } else {
        json_key(json, key);
        json_put_null(json);
    }
}

/* A stream as text and, where text cannot hold it, the exact bytes beside it. */
static void write_stream(struct json_writer *json, const char *key, const char *base64_key,
                         const struct capture *capture)
{
    const char *bytes = capture->kept.data ? capture->kept.data : "";
    size_t len = capture->kept.len;

    if (capture->truncated)
        len = utf8_cut(bytes, len);
    json_key(json, key);
    json_put_text(json, bytes, len);
    if (!utf8_valid(bytes, len)) {
        json_key(json, base64_key);
        json_put_base64(json, bytes, len);
    }
}

static void write_truncated(struct json_writer *json, const struct result *result)
{
    json_key(json, "truncated");
    json_open_object(json);
    json_key(json, "stdout");
    json_put_bool(json, result->stdout_capture.truncated);
    json_key(json, "stderr");
    json_put_bool(json, result->stderr_capture.truncated);
    json_close_object(json);
}

/* Only where there was something to take out: its absence says that the bytes are the guest's. */
static void write_redacted(struct json_writer *json, const struct result *result)
{
    if (!result->secrets || result->secrets->count == 0)
        return;
    json_key(json, "redacted");
    json_open_object(json);
    write_uint(json, "stdout", result->stdout_capture.redacted);
    write_uint(json, "stderr", result->stderr_capture.redacted);
    json_close_object(json);
}

static void write_usage(struct json_writer *json, const struct result *result)
{
    const struct tell_done *done = &result->done;
    /* a native cell counts none of it */
    bool heard = result->done_heard && strcmp(result->backend, "native") != 0;

    json_key(json, "usage");
    json_open_object(json);
    write_uint(json, "wall_ms", result->wall_ns / NS_PER_MS);
    write_uint(json, "cpu_ms", result->cpu_ns / NS_PER_MS);
    write_uint(json, "max_rss_bytes", result->max_rss_bytes);
    write_heard(json, "memory_peak_bytes", heard, done->memory_peak_bytes);
    write_heard(json, "bytes_written", heard, done->bytes_written);
    write_heard(json, "files_made", heard, done->files_made);
    write_uint(json, "stdout_bytes", result->stdout_capture.total_bytes);
    write_uint(json, "stderr_bytes", result->stderr_capture.total_bytes);
    json_close_object(json);
}

__attribute__((format(printf, 2, 3))) static void put_name(struct json_writer *json,
                                                           const char *format, ...)
{
    char name[64];
    va_list args;

    va_start(args, format);
    (void) vsnprintf(name, sizeof(name), format, args); /* the names are ours: they fit */
    va_end(args);
    json_put_string(json, name);
}

static void write_enforced(struct json_writer *json, const struct result *result)
{
    uint32_t walls = result->started ? result->ready.walls : 0;

    json_key(json, "enforced");
    json_open_array(json);
    if (result->started)
        put_name(json, "isolation:%s", result->isolation);
    for (size_t i = 0; i < ARRAY_SIZE(wall_names); i++)
        if ((walls & wall_names[i].walls) == wall_names[i].walls)
            json_put_string(json, wall_names[i].name);
    if (walls & WALL_LANDLOCK)
        put_name(json, "landlock:%u", result->ready.landlock_abi);
    json_close_array(json);
}

static void write_denials(struct json_writer *json, const struct result *result)
{
    json_key(json, "denials");
    json_open_array(json);
    for (size_t i = 0; i < result->n_denials; i++)
        denial_write(json, &result->denials[i]);
    json_close_array(json);
    if (result->done_heard && result->done.denials > result->n_denials)
        write_uint(json, "denials_omitted", result->done.denials - result->n_denials);
}

static void write_limits_hit(struct json_writer *json, uint32_t hits)
{
    if (hits == 0)
        return;
    json_key(json, "limits_hit");
    json_open_array(json);
    for (size_t i = 0; i < ARRAY_SIZE(hit_limits); i++)
        if (hits & hit_limits[i].hit)
            json_put_string(json, limit_rows[hit_limits[i].limit].name);
    json_close_array(json);
}

static void write_shown(struct json_writer *json, const char *key, const char *text,
                        const struct result *result)
{
    json_key(json, key);
    shown_put(json, text, strlen(text), result->secrets);
}

/* What the guest left that the host may run by itself: not prevented, so said. */
static void write_host_executed(struct json_writer *json, const struct result *result)
{
    if (result->appeared_error)
        write_shown(json, "host_executed_incomplete", result->appeared_error, result);
    if (result->n_appeared == 0)
        return;
    json_key(json, "host_executed");
    json_open_array(json);
    for (size_t i = 0; i < result->n_appeared; i++) {
        json_open_object(json);
        write_shown(json, "directory", result->appeared[i].host, result);
        write_shown(json, "path", result->appeared[i].path, result);
        write_string(json, "rule", result->appeared[i].rule);
        json_close_object(json);
    }
    json_close_array(json);
    if (result->more_appeared > 0)
        write_uint(json, "host_executed_omitted", result->more_appeared);
}

static const char *text_or_null(const char *text)
{
    return text[0] ? text : NULL;
}

/* A guest that exits with a code of its own says all there is to say with it. */
static void write_error_info(struct json_writer *json, const struct result *result,
                             const struct request *request)
{
    struct verdict_text verdict;

    if (result->reason == REASON_EXITED)
        return;
    verdict_init(&verdict, result, request);
    json_key(json, "error_info");
    json_open_object(json);
    write_string(json, "code", verdict.code);
    write_string(json, "step", text_or_null(verdict.err.step));
    write_string(json, "message", verdict.err.message);
    write_string(json, "hint", text_or_null(verdict.err.hint));
    json_close_object(json);
}

static void write_module(struct json_writer *json, const struct result *result)
{
    char hex[DIGEST_HEX];

    if (!result->has_module)
        return;
    digest_hex(&result->module_sha256, hex);
    json_key(json, "module");
    json_open_object(json);
    write_string(json, "sha256", hex);
    json_key(json, "cached");
    json_put_bool(json, result->module_cached);
    write_uint(json, "compile_ms", result->compile_ns / NS_PER_MS);
    if (result->cache_error[0])
        write_shown(json, "cache_error", result->cache_error, result);
    json_close_object(json);
}

static void write_fuel(struct json_writer *json, const struct result *result,
                       const struct request *request)
{
    if (!result->use_fuel || !request)
        return;
    json_key(json, "fuel");
    json_open_object(json);
    write_uint(json, "limit", request->limits.value[LIMIT_FUEL]);
    write_heard(json, "used", result->done_heard, result->done.fuel_used);
    json_close_object(json);
}

static void write_labels(struct json_writer *json, const struct request *request)
{
    if (!request || request->n_labels == 0)
        return;
    json_key(json, "labels");
    json_open_object(json);
    for (size_t i = 0; i < request->n_labels; i++)
        write_string(json, request->labels[i].name, request->labels[i].value);
    json_close_object(json);
}

static void write_timings(struct json_writer *json, const struct result *result)
{
    json_key(json, "timings_us");
    json_open_object(json);
    for (size_t i = 0; i < result->n_timings; i++)
        write_uint(json, result->timings[i].name, result->timings[i].us);
    json_close_object(json);
}

const char *envelope_error(const struct result *result, const struct request *request,
                           struct buf *into)
{
    struct verdict_text verdict;

    buf_release(into);
    if (verdict_is_success(result))
        return NULL;
    verdict_init(&verdict, result, request);
    if (verdict_line(&verdict.err, into) < 0)
        return reason_name(result->reason); /* no memory for more */
    return into->data;
}

/* The six base fields, and the exact bytes of a stream that is no text. */
static void write_base(struct json_writer *json, const struct result *result, const char *error)
{
    write_string(json, "status", error ? "error" : "success");
    write_heard(json, "exit_code", result->has_exit_code, result->exit_code);
    write_uint(json, "execution_time_ms", result->wall_ns / NS_PER_MS);
    write_stream(json, "stdout", "stdout_base64", &result->stdout_capture);
    write_stream(json, "stderr", "stderr_base64", &result->stderr_capture);
    write_string(json, "error", error);
}

/* What is there in every envelope besides. */
static void write_common(struct json_writer *json, const struct result *result)
{
    write_string(json, "schema", "wasp.result/1");
    write_string(json, "run_id", result->run_id);
    write_string(json, "backend", result->backend);
    write_string(json, "reason", reason_name(result->reason));
    write_truncated(json, result);
    write_usage(json, result);
    write_enforced(json, result);
    write_denials(json, result);
}

int envelope_write(int fd, const struct envelope *envelope)
{
    const struct result *result = envelope->result;
    const struct request *request = envelope->request;
    _cleanup_(buf_release) struct buf line = BUF_INIT(2 * sizeof(struct err));
    struct json_writer json;
    const char *error = envelope_error(result, request, &line);

    json_writer_init_fd(&json, fd);
    json_open_object(&json);
    write_base(&json, result, error);
    write_common(&json, result);
    write_redacted(&json, result);
    if (result->signal)
        write_uint(&json, "signal", (uint64_t) result->signal);
    write_limits_hit(&json, result->done.limits_hit);
    write_error_info(&json, result, request);
    if (envelope->leave)
        leave_write(&json, envelope->leave);
    if (envelope->answer && envelope->answer->len > 0) {
        json_key(&json, "answer");
        json_put_json(&json, envelope->answer->data, envelope->answer->len);
    }
    if (envelope->changes) {
        json_key(&json, "changes");
        changes_report_write(&json, envelope->changes);
    }
    write_host_executed(&json, result);
    write_module(&json, result);
    write_fuel(&json, result, request);
    write_labels(&json, request);
    if (envelope->with_timings)
        write_timings(&json, result);
    json_close_object(&json);
    return json_finish(&json);
}

int envelope_write_answer(int fd, const struct result *result)
{
    _cleanup_(buf_release) struct buf line = BUF_INIT(2 * sizeof(struct err));
    struct json_writer json;

    json_writer_init_fd(&json, fd);
    json_open_object(&json);
    write_base(&json, result, envelope_error(result, NULL, &line));
    write_string(&json, "schema", "wasp.answer/1");
    write_error_info(&json, result, NULL);
    json_close_object(&json);
    return json_finish(&json);
}
