#include "report/events.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/utf8.h"
#include "report/denial.h"
#include "report/envelope.h"
#include "report/shown.h"

/* The run is over by then, and a reader that waits for its end is worth a moment. */
#define LAST_EVENT_PATIENCE_MS 1000
#define MODULE_BYTES 512 /* a longer name is cut */

_Static_assert(SINK_MAX_LINE <= PIPE_BUF, "a pipe takes a line whole or not at all");
_Static_assert(2 * (sizeof(((struct err *) 0)->message) + sizeof(((struct err *) 0)->hint)) + 1024 <
                   SINK_MAX_LINE,
               "the last event always fits, its error with every quote escaped");

enum kind {
    EVENT_START,
    EVENT_STDOUT,
    EVENT_STDERR,
    EVENT_DENIAL,
    EVENT_APPROVAL,
    EVENT_HEARTBEAT,
    EVENT_EXIT
};

/* What an event is called and how bad it is, unless whoever writes it knows better. */
static const struct kind_row {
    const char *name;
    const char *level;
    const char *message;
} kinds[] = {
    [EVENT_START] = {"start", "info", "all walls stand, the guest starts"},
    [EVENT_STDOUT] = {"stdout", "info", "the guest wrote to stdout"},
    [EVENT_STDERR] = {"stderr", "warn", "the guest wrote to stderr"},
    [EVENT_DENIAL] = {"denial", "warn", "refused"},
    [EVENT_APPROVAL] = {"approval", "warn", "the request waits for a person's approval"},
    [EVENT_HEARTBEAT] = {"heartbeat", "info", "wasp is still at work"},
    [EVENT_EXIT] = {"exit", "error", "the run failed"},
};

/* One event that is being put together. */
struct line {
    struct buf text;
    struct json_writer json;
};

static void line_release(struct line *line)
{
    buf_release(&line->text);
}

static void put_string(struct json_writer *json, const char *key, const char *text)
{
    json_key(json, key);
    json_put_string(json, text);
}

static void put_uint(struct json_writer *json, const char *key, uint64_t value)
{
    json_key(json, key);
    json_put_uint(json, value);
}

/* What every event has. */
static void begin(const struct events *events, struct line *line, const struct kind_row *kind)
{
    struct json_writer *json = &line->json;
    char time[CLOCK_TEXT_SIZE];

    line->text = (struct buf) BUF_INIT(SINK_MAX_LINE);
    clock_format(clock_realtime_ns(), time);
    json_writer_init_buf(json, &line->text);
    json_open_object(json);
    put_uint(json, "seq", events->seq + 1);
    put_string(json, "timestamp", time);
    put_string(json, "event", kind->name);
    put_string(json, "rai_component", "wasp");
    put_string(json, "rai_level", kind->level);
    put_string(json, "message", kind->message);
    put_string(json, "run_id", events->run_id);
}

/* False if it is longer than a line may be: nothing has happened then. */
static bool finish(struct events *events, struct line *line, int patience_ms)
{
    json_close_object(&line->json);
    if (json_finish(&line->json) < 0)
        return false;
    events->seq++;
    if (!sink_put(&events->sink, line->text.data, line->text.len, patience_ms))
        events->dropped++;
    return true;
}

/* For events whose parts are all bounded so that they fit. */
static void finish_short(struct events *events, struct line *line, int patience_ms)
{
    if (finish(events, line, patience_ms))
        return;
    events->seq++; /* no memory */
    events->dropped++;
}

/* ---- output ---------------------------------------------------------------------------------- */

/* Tells as much of the text as fits; returns how many bytes that were. */
static size_t tell_part(struct events *events, enum stream stream, const char *bytes, size_t len)
{
    const struct kind_row *kind = &kinds[stream == STREAM_STDOUT ? EVENT_STDOUT : EVENT_STDERR];

    /* What must be escaped takes up to six times its size. */
    for (size_t n = len; n > 0; n = utf8_cut(bytes, n / 2)) {
        _cleanup_(line_release) struct line line;
        begin(events, &line, kind);
        json_key(&line.json, "data");
        json_put_text(&line.json, bytes, n);
        if (finish(events, &line, 0))
            return n;
    }
    events->seq++; /* no memory */
    events->dropped++;
    return len;
}

/*
 * Tells what there is, up to the start of a character that has no end yet, unless it is the last.
 */
static void tell_pending(struct events *events, enum stream stream, bool is_last)
{
    struct pending *pending = &events->pending[stream];
    size_t whole = is_last ? pending->len : utf8_cut(pending->bytes, pending->len);

    for (size_t at = 0; at < whole;)
        at += tell_part(events, stream, pending->bytes + at, whole - at);
    pending->len -= whole;
    memmove(pending->bytes, pending->bytes + whole, pending->len);
    pending->due_ns = UINT64_MAX;
}

static void tell_cut(struct events *events, enum stream stream)
{
    struct kind_row kind = kinds[stream == STREAM_STDOUT ? EVENT_STDOUT : EVENT_STDERR];
    _cleanup_(line_release) struct line line;

    tell_pending(events, stream, false);
    events->pending[stream].len = 0; /* the envelope, too, is cut before half a character */
    kind.level = "warn";
    kind.message = "output passed its limit: the rest is not kept";
    begin(events, &line, &kind);
    put_string(&line.json, "data", "");
    json_key(&line.json, "truncated");
    json_put_bool(&line.json, true);
    finish_short(events, &line, 0);
}

static void on_output(void *data, enum stream stream, const char *bytes, size_t len, bool is_cut)
{
    struct events *events = data;
    struct pending *pending = &events->pending[stream];

    while (len > 0) {
        size_t room = sizeof(pending->bytes) - pending->len;
        size_t n = len < room ? len : room;
        memcpy(pending->bytes + pending->len, bytes, n);
        pending->len += n;
        bytes += n;
        len -= n;
        if (pending->len == sizeof(pending->bytes))
            tell_pending(events, stream, false);
        else
            pending->due_ns = pending->told_ns + EVENT_OUTPUT_NS;
    }
    if (is_cut)
        tell_cut(events, stream);
}

/* ---- the others ------------------------------------------------------------------------------ */

static void on_start(void *data)
{
    struct events *events = data;
    _cleanup_(line_release) struct line line;
    const char *name = events->module ? events->module : events->program;
    size_t len = strlen(name);

    begin(events, &line, &kinds[EVENT_START]);
    json_key(&line.json, events->module ? "module" : "program");
    shown_put(&line.json, name, len <= MODULE_BYTES ? len : utf8_cut(name, MODULE_BYTES),
              events->secrets);
    finish_short(events, &line, 0);
}

static void on_denial(void *data, const struct tell_denial *denial)
{
    struct events *events = data;
    struct kind_row kind = kinds[EVENT_DENIAL];
    char message[sizeof(denial->action) + sizeof(denial->rule) + 16];
    _cleanup_(line_release) struct line line;

    (void) snprintf(message, sizeof(message), "%s refused: %s", denial->action,
                    denial->rule); /* fits */
    kind.message = message;
    begin(events, &line, &kind);
    json_key(&line.json, "denial");
    denial_write(&line.json, denial);
    finish_short(events, &line, 0);
}

void events_approval(struct events *events, const char *id, uint64_t expires_ms)
{
    _cleanup_(line_release) struct line line = {.text = BUF_INIT(0)};
    char time[CLOCK_TEXT_SIZE];

    if (!events)
        return;
    clock_format(expires_ms * NS_PER_MS, time);
    begin(events, &line, &kinds[EVENT_APPROVAL]);
    json_key(&line.json, "approval");
    json_open_object(&line.json);
    put_string(&line.json, "id", id);
    put_string(&line.json, "expires_at", time);
    json_close_object(&line.json);
    finish_short(events, &line, 0);
}

static void tell_heartbeat(struct events *events, uint64_t now_ns)
{
    _cleanup_(line_release) struct line line;

    begin(events, &line, &kinds[EVENT_HEARTBEAT]);
    put_uint(&line.json, "elapsed_ms", (now_ns - events->begun_ns) / NS_PER_MS);
    finish_short(events, &line, 0);
    events->heartbeat_ns = now_ns + EVENT_HEARTBEAT_NS;
}

static uint64_t on_tick(void *data, uint64_t now_ns)
{
    struct events *events = data;

    if (now_ns >= events->heartbeat_ns)
        tell_heartbeat(events, now_ns);
    uint64_t next_ns = events->heartbeat_ns;
    for (int stream = 0; stream < STREAMS; stream++) {
        struct pending *pending = &events->pending[stream];
        if (now_ns >= pending->due_ns) {
            tell_pending(events, (enum stream) stream, false);
            pending->told_ns = now_ns;
        }
        if (pending->due_ns < next_ns)
            next_ns = pending->due_ns;
    }
    return next_ns;
}

/* ---- from the first to the last -------------------------------------------------------------- */

int events_open(struct events *events, const char *where, struct err *err)
{
    *events = (struct events){.run_id = NULL};
    return sink_open(&events->sink, where, err);
}

void events_release(struct events *events)
{
    sink_release(&events->sink);
}

void events_begin(struct events *events, const struct result *result, const struct request *request)
{
    if (!events)
        return;
    events->run_id = result->run_id;
    events->module = request->module;
    events->program = request->program;
    events->secrets = request->secrets;
    events->begun_ns = clock_monotonic_ns();
    events->heartbeat_ns = events->begun_ns + EVENT_HEARTBEAT_NS;
    for (int stream = 0; stream < STREAMS; stream++)
        events->pending[stream].due_ns = UINT64_MAX;
}

struct observer events_observer(struct events *events)
{
    if (!events)
        return (struct observer){.data = NULL};
    return (struct observer){
        .data = events,
        .started = on_start,
        .wrote = on_output,
        .denied = on_denial,
        .tick = on_tick,
    };
}

static void write_end(struct json_writer *json, const struct events *events,
                      const struct result *result, const char *error, int exit_status)
{
    put_string(json, "status", error ? "error" : "success");
    json_key(json, "exit_code");
    if (result->has_exit_code)
        json_put_uint(json, result->exit_code);
    else
        json_put_null(json);
    put_string(json, "reason", reason_name(result->reason));
    put_string(json, "error", error);
    put_uint(json, "exit_status", (uint64_t) exit_status);
    put_uint(json, "dropped", events->dropped);
}

void events_end(struct events *events, const struct result *result, const struct request *request,
                int exit_status)
{
    _cleanup_(buf_release) struct buf error_text = BUF_INIT(2 * sizeof(struct err));
    _cleanup_(line_release) struct line line = {.text = BUF_INIT(0)};
    struct kind_row kind = kinds[EVENT_EXIT];

    if (!events || events->ended)
        return;
    for (int stream = 0; stream < STREAMS; stream++)
        tell_pending(events, (enum stream) stream, true);
    events->run_id = result->run_id;
    events->ended = true;
    if (exit_status == 0) {
        kind.level = "success";
        kind.message = "the run succeeded";
    }
    begin(events, &line, &kind);
    write_end(&line.json, events, result, envelope_error(result, request, &error_text),
              exit_status);
    finish_short(events, &line, LAST_EVENT_PATIENCE_MS);
}
