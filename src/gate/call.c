#include "gate/call.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "gate/service.h"
#include "run/facts.h"

/* What a broker's error is in a result; all others are the host's. */
static const struct code_row {
    const char *name;
    enum err_code code;
} codes[] = {
    {"capability", ERR_DENIED},   {"denied", ERR_DENIED},         {"invalid", ERR_REQUEST},
    {"not_found", ERR_NOT_FOUND}, {"unreadable", ERR_UNREADABLE}, {"exists", ERR_REQUEST},
    {"limit", ERR_TOO_LARGE},     {"approval", ERR_APPROVAL},     {"simulate", ERR_SIMULATE},
};

static const char *text_of(const struct json_value *object, const char *key)
{
    const struct json_value *value = json_value_get(object, key);

    return value && json_kind(value) == JSON_KIND_STRING ? json_value_string(value) : "";
}

static void take_error(const struct json_value *error, struct result *result)
{
    struct err err;
    enum err_code code = ERR_HOST;

    for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
        if (strcmp(codes[i].name, text_of(error, "code")) == 0)
            code = codes[i].code;
    (void) err_set(&err, code, "%s", text_of(error, "message")); /* -1, as below */
    if (text_of(error, "hint")[0])
        (void) err_hint(&err, "%s", text_of(error, "hint"));
    result_fail(result, &err);
}

/* It is either what was asked for, or an error that says why not. */
static void judge_answer(const struct buf *answer, struct result *result)
{
    struct json_value *document;
    struct err err;

    if (json_parse(answer->data, answer->len, "the answer", &document, &err) < 0) {
        result_fail(result, &err);
        return;
    }
    const struct json_value *error = json_value_get(document, "error");
    if (error) {
        take_error(error, result);
    } else {
        result->reason = REASON_EXITED;
        result->has_exit_code = true;
    }
    json_free(document);
}

/*
 * By its path alone, before anybody looks: what may not be read does not show whether it is there.
 * Only where the gate would refuse; what it allows is judged again by where it leads.
 */
static int judge_path(struct gate *gate, enum door_call call, const char *json, struct err *err)
{
    struct json_value *document;
    struct fact fact;
    struct err unread;
    int rc = 0;

    if (call == DOOR_EXEC_RUN || json_parse(json, strlen(json), "JSON", &document, &unread) < 0)
        return 0; /* the broker says what is wrong with it */
    const char *path = json_kind(document) == JSON_KIND_OBJECT ? text_of(document, "path") : "";
    if (path[0] == '/') {
        rc = fact_of_path(path, gate->arena, &fact, err);
        const struct need need = {
            .capability = call == DOOR_FS_WRITE ? CAPABILITY_FS_WRITE : CAPABILITY_FS_READ,
            .asked = fact.asked,
            .path = fact.is_known ? fact.real : NULL,
            .scope = arena_strdup(gate->arena, fact.is_known ? fact.real : path),
        };
        if (rc == 0)
            rc = need.scope ? gate_peek(gate, &need, err) : err_no_memory(err);
    }
    json_free(document);
    return rc;
}

static int serve(struct gate *gate, struct request *request, enum door_call call, const char *json,
                 struct arena *arena, struct buf *answer, struct result *result, struct err *err)
{
    _cleanup_(service_release) struct service service = SERVICE_NONE;
    const char *what =
        arena_printf(arena, "{\"call\":\"%s\",\"arguments\":%s}", door_names[call], json);

    if (!what)
        return err_no_memory(err);
    gate_bound(gate, request);
    if (service_open_call(&service, gate, request, arena, err) < 0)
        return -1;
    if (!gate_admit_call(gate, what, result))
        return 0;
    if (judge_path(gate, call, json, err) < 0)
        return -1;
    if (broker_call(&service.broker, call, json, strlen(json), answer, NULL) < 0)
        return err_no_memory(err);
    judge_answer(answer, result);
    if (!gate->leave.has_place && result->err.code != ERR_NONE)
        gate_record_refusal(gate, &result->err);
    return 0;
}

void call_once(struct gate *gate, struct request *request, enum door_call call, const char *json,
               struct arena *arena, struct buf *answer, struct result *result)
{
    uint64_t start_ns = clock_monotonic_ns();
    struct err err;

    if (serve(gate, request, call, json, arena, answer, result, &err) < 0)
        result_fail(result, &err);
    result->wall_ns = clock_monotonic_ns() - start_ns;
}
