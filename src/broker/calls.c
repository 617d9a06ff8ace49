#include "broker/calls.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

static const struct function_row {
    enum capability capability;
    broker_function *function;
} functions[DOOR_CALLS] = {
    [DOOR_FS_READ] = {CAPABILITY_FS_READ, broker_fs_read},
    [DOOR_FS_WRITE] = {CAPABILITY_FS_WRITE, broker_fs_write},
    [DOOR_EXEC_RUN] = {CAPABILITY_EXEC_RUN, broker_exec_run},
};

/* What guests see of our errors; all others are the host's affair. */
static const char *const codes[ERR_CODES] = {
    [ERR_USAGE] = "invalid",       [ERR_REQUEST] = "invalid",       [ERR_DENIED] = "denied",
    [ERR_NOT_FOUND] = "not_found", [ERR_UNREADABLE] = "unreadable", [ERR_APPROVAL] = "approval",
    [ERR_SIMULATE] = "simulate",
};

int call_deny(struct call *call, const char *rule, const char *format, ...)
{
    char message[sizeof(call->err.message)];
    va_list args;

    va_start(args, format);
    (void) vsnprintf(message, sizeof(message), format, args); /* err_set would cut it too */
    va_end(args);
    call->rule = rule;
    return err_set(&call->err, ERR_DENIED, "%s", message);
}

int call_fail(struct call *call, const char *code, const char *format, ...)
{
    char message[sizeof(call->err.message)];
    va_list args;

    va_start(args, format);
    (void) vsnprintf(message, sizeof(message), format, args); /* as above */
    va_end(args);
    call->code = code;
    return err_set(&call->err, ERR_REQUEST, "%s", message);
}

int call_check(struct call *call, const struct broker_use *use, const char **ret_program)
{
    const struct broker *broker = call->broker;

    if (broker->check(broker->data, use, ret_program, &call->err) == 0)
        return 0;
    if (call->err.code == ERR_DENIED)
        call->rule = use->capability == CAPABILITY_EXEC_RUN ? RULE_COMMAND : RULE_POLICY;
    return -1;
}

static int serve(struct call *call, enum door_call number, const char *json, size_t len,
                 struct buf *answer)
{
    const struct function_row *row = &functions[number];
    struct json_value *document;

    call->target = door_names[number];
    if (!call->broker->has[row->capability]) {
        call->code = "capability";
        (void) call_deny(call, RULE_CAPABILITY, "the run has no capability '%s'",
                         door_names[number]); /* -1, as below */
        return err_hint(&call->err, "whoever starts the run can give it: --capability %s",
                        door_names[number]);
    }
    if (json_parse(json, len, door_names[number], &document, &call->err) < 0)
        return -1;
    int rc = json_kind(document) == JSON_KIND_OBJECT
                 ? row->function(call, document, answer)
                 : err_set(&call->err, ERR_REQUEST, "%s takes a JSON object", door_names[number]);
    /* what call->target points to is copied, for the document goes */
    if (rc < 0 && (call->target = arena_strdup(call->arena, call->target)) == NULL)
        call->target = door_names[number];
    json_free(document);
    return rc;
}

static int answer_error(const struct call *call, struct buf *answer)
{
    const struct err *err = &call->err;
    const char *code = call->code ? call->code : codes[err->code];
    struct json_writer json;

    answer->len = 0;
    json_writer_init_buf(&json, answer);
    json_open_object(&json);
    json_key(&json, "error");
    json_open_object(&json);
    json_key(&json, "code");
    json_put_string(&json, code ? code : "host");
    json_key(&json, "message");
    json_put_string(&json, err->message);
    json_key(&json, "hint");
    json_put_string(&json, err->hint[0] ? err->hint : NULL);
    json_close_object(&json);
    json_close_object(&json);
    return json_finish(&json);
}

static void tell_denial(const struct call *call, enum door_call number,
                        struct tell_denial *ret_denial)
{
    if (ret_denial == NULL)
        return;
    *ret_denial = (struct tell_denial){.action = ""};
    if (call->rule == NULL)
        return;
    (void) snprintf(ret_denial->action, sizeof(ret_denial->action), "%s",
                    door_names[number]); /* ours, and short */
    (void) snprintf(ret_denial->rule, sizeof(ret_denial->rule), "%s", call->rule); /* likewise */
    (void) snprintf(ret_denial->target, sizeof(ret_denial->target), "%s",
                    call->target); /* may be cut */
}

static void release_arena(struct arena **arena)
{
    arena_free(*arena);
}

int broker_call(const struct broker *broker, enum door_call number, const char *json, size_t len,
                struct buf *answer, struct tell_denial *ret_denial)
{
    _cleanup_(release_arena) struct arena *arena = arena_new();
    struct call call = {.broker = broker, .arena = arena};

    if (arena == NULL)
        return -1;
    int rc = serve(&call, number, json, len, answer);
    tell_denial(&call, number, ret_denial);
    return rc == 0 ? 0 : answer_error(&call, answer);
}
