#include "report/events.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "tap.h"

#define MAX_EVENTS 4096
#define MAX_BYTES (4 * 1024 * 1024)

/* What was written, taken apart. */
struct told {
    char *text;
    struct json_value *events[MAX_EVENTS];
    size_t n;
    bool all_lines_are_json;
};

static void told_release(struct told *told)
{
    for (size_t i = 0; i < told->n; i++)
        json_free(told->events[i]);
    free(told->text);
}

static void told_read(struct told *told, int fd)
{
    struct err err;

    *told = (struct told){.text = calloc(1, MAX_BYTES + 1), .all_lines_are_json = true};
    ssize_t len = told->text ? fd_read_full(fd, told->text, MAX_BYTES) : 0;
    for (char *line = told->text, *end; line && line < told->text + len; line = end + 1) {
        end = strchr(line, '\n');
        if (!end || end + 1 - line > SINK_MAX_LINE || told->n == MAX_EVENTS ||
            json_parse(line, (size_t) (end - line), "event", &told->events[told->n], &err) < 0) {
            told->all_lines_are_json = false;
            return;
        }
        told->n++;
    }
}

static const char *text_of(const struct told *told, size_t i, const char *key)
{
    const struct json_value *value = i < told->n ? json_value_get(told->events[i], key) : NULL;

    return value && json_kind(value) == JSON_KIND_STRING ? json_value_string(value) : "";
}

static int64_t number_of(const struct told *told, size_t i, const char *key)
{
    const struct json_value *value = i < told->n ? json_value_get(told->events[i], key) : NULL;

    return value && json_kind(value) == JSON_KIND_INT ? json_value_int(value) : -1;
}

static bool is_event(const struct told *told, size_t i, const char *event, const char *level)
{
    return strcmp(text_of(told, i, "event"), event) == 0 &&
           strcmp(text_of(told, i, "rai_level"), level) == 0 &&
           strcmp(text_of(told, i, "rai_component"), "wasp") == 0 && text_of(told, i, "message")[0];
}

/* The stream's `data`, put together. */
static void join(const struct told *told, const char *event, struct buf *into)
{
    for (size_t i = 0; i < told->n; i++)
        if (strcmp(text_of(told, i, "event"), event) == 0)
            (void) buf_add_string(into, text_of(told, i, "data")); /* the test would see it */
}

/* A run that is told to a memory file. */
struct rig {
    struct events events;
    struct observer observer;
    struct result result;
    struct request request;
    int file;
};

static bool rig_init(struct rig *rig, int file)
{
    char where[32];
    struct err err;

    rig->file = file;
    result_init(&rig->result, 0);
    request_init(&rig->request, BACKEND_WASM);
    rig->request.module = "m.wasm";
    (void) snprintf(where, sizeof(where), "fd:%d", file); /* fits */
    if (events_open(&rig->events, where, &err) < 0) {
        printf("# %s\n", err.message);
        return false;
    }
    events_begin(&rig->events, &rig->result, &rig->request);
    rig->observer = events_observer(&rig->events);
    return true;
}

static void rig_end(struct rig *rig, struct told *told)
{
    rig->result.reason = REASON_EXITED;
    rig->result.has_exit_code = true;
    events_end(&rig->events, &rig->result, &rig->request, 0);
    events_release(&rig->events);
    result_release(&rig->result);
    (void) lseek(rig->file, 0, SEEK_SET); /* the test would see it */
    told_read(told, rig->file);
}

static void write_text(struct rig *rig, enum stream stream, const char *bytes, size_t len)
{
    rig->observer.wrote(rig->observer.data, stream, bytes, len, false);
}

static void test_order(void)
{
    _cleanup_fd_ int file = memfd_create("events", MFD_CLOEXEC);
    _cleanup_(told_release) struct told told = {0};
    const struct tell_denial denial = {"path_open", "../secret", RULE_OUTSIDE};
    struct rig rig;

    if (!ok(rig_init(&rig, file), "a memory file takes events"))
        return;
    rig.observer.started(rig.observer.data);
    write_text(&rig, STREAM_STDOUT, "hello\n", 6);
    uint64_t now = clock_monotonic_ns();
    uint64_t next = rig.observer.tick(rig.observer.data, now);
    ok(next > now && next <= now + EVENT_HEARTBEAT_NS, "the first output is told at once");
    write_text(&rig, STREAM_STDERR, "oops\n", 5);
    rig.observer.denied(rig.observer.data, &denial);
    next = rig.observer.tick(rig.observer.data, now + EVENT_HEARTBEAT_NS + NS_PER_S);
    ok(next == now + 2 * EVENT_HEARTBEAT_NS + NS_PER_S, "the next heartbeat is five seconds off");
    rig_end(&rig, &told);

    ok(told.all_lines_are_json && told.n == 6, "there are six lines of JSON");
    ok(is_event(&told, 0, "start", "info") && strcmp(text_of(&told, 0, "module"), "m.wasm") == 0,
       "start comes first and names the module");
    ok(is_event(&told, 1, "stdout", "info") && strcmp(text_of(&told, 1, "data"), "hello\n") == 0,
       "stdout holds what was written");
    ok(is_event(&told, 2, "denial", "warn") &&
           strcmp(text_of(&told, 2, "message"), "path_open refused: outside-grant") == 0,
       "a denial says which call and which rule");
    ok(is_event(&told, 3, "heartbeat", "info") && number_of(&told, 3, "elapsed_ms") >= 6000,
       "a heartbeat says for how long");
    ok(is_event(&told, 4, "stderr", "warn"), "stderr is told before the end");
    ok(is_event(&told, 5, "exit", "success") && number_of(&told, 5, "exit_code") == 0 &&
           number_of(&told, 5, "dropped") == 0,
       "exit comes last");
    bool counted = true;
    for (size_t i = 0; i < told.n; i++)
        counted = counted && number_of(&told, i, "seq") == (int64_t) i + 1 &&
                  strcmp(text_of(&told, i, "run_id"), rig.result.run_id) == 0;
    ok(counted, "seq counts from 1, and all have the run's id");
}

/* Bytes that text cannot hold, characters of every length, and what must be escaped. */
static const char odd[] = "plain \xc3\xa9 \xe2\x82\xac \xf0\x9f\x90\x9d \xff\xfe \xe2\x82 "
                          "\xf0\x9f\x90 \xc3 \"\\\n\t\x01\x7f \xed\xa0\x80 end\xf0\x9f";

/* What the envelope would show of it. */
static void mend(const char *bytes, size_t len, struct buf *into)
{
    struct json_writer json;

    json_writer_init_buf(&json, into);
    json_put_text(&json, bytes, len);
    (void) json_finish(&json); /* the test would see it */
}

static void test_parts(void)
{
    size_t len = sizeof(odd) - 1;

    for (size_t step = 1; step <= 7; step++) {
        _cleanup_fd_ int file = memfd_create("events", MFD_CLOEXEC);
        _cleanup_(told_release) struct told told = {0};
        _cleanup_(buf_release) struct buf joined = BUF_INIT(MAX_BYTES), whole = BUF_INIT(MAX_BYTES),
                                          again = BUF_INIT(MAX_BYTES);
        struct rig rig;
        if (!rig_init(&rig, file))
            return;
        for (size_t at = 0; at < len; at += step) {
            write_text(&rig, STREAM_STDOUT, odd + at, len - at < step ? len - at : step);
            (void) rig.observer.tick(rig.observer.data, at * NS_PER_S); /* each is told */
        }
        rig_end(&rig, &told);
        join(&told, "stdout", &joined);
        mend(odd, len, &whole);
        mend(joined.data, joined.len, &again);
        ok(told.all_lines_are_json && strcmp(whole.data, again.data) == 0,
           "output that comes %zu bytes at a time is mended as if it came whole", step);
    }
}

static void test_sizes(void)
{
    static const char *const units[] = {"x", "\x01", "\"", "\xff", "\xf0\x9f\x90\x9d"};

    for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
        _cleanup_fd_ int file = memfd_create("events", MFD_CLOEXEC);
        _cleanup_(told_release) struct told told = {0};
        _cleanup_(buf_release) struct buf text = BUF_INIT(MAX_BYTES), joined = BUF_INIT(MAX_BYTES);
        struct rig rig;
        if (!rig_init(&rig, file))
            return;
        while (text.len < 100000)
            (void) buf_add_string(&text, units[i]); /* the test would see it */
        write_text(&rig, STREAM_STDOUT, text.data, text.len);
        rig_end(&rig, &told);
        join(&told, "stdout", &joined);
        size_t expected = text.len / strlen(units[i]) * (i == 3 ? 3 : strlen(units[i]));
        ok(told.all_lines_are_json && joined.len == expected,
           "100 kB of unit %zu come in lines that a pipe takes whole", i);
    }
}

static void test_coalesced(void)
{
    _cleanup_fd_ int file = memfd_create("events", MFD_CLOEXEC);
    _cleanup_(told_release) struct told told = {0};
    struct rig rig;

    if (!rig_init(&rig, file))
        return;
    for (uint64_t i = 0; i < 1000; i++) { /* a byte a millisecond */
        write_text(&rig, STREAM_STDOUT, "x", 1);
        (void) rig.observer.tick(rig.observer.data, NS_PER_S + i * NS_PER_MS);
    }
    rig_end(&rig, &told);
    ok(told.n > 20 && told.n < 100, "a guest that writes byte by byte gets %zu events, not 1000",
       told.n);
}

static void test_cut(void)
{
    _cleanup_fd_ int file = memfd_create("events", MFD_CLOEXEC);
    _cleanup_(told_release) struct told told = {0};
    struct rig rig;

    if (!rig_init(&rig, file))
        return;
    rig.observer.wrote(rig.observer.data, STREAM_STDOUT, "abc\xc3", 4, true);
    rig_end(&rig, &told);
    const struct json_value *truncated = json_value_get(told.events[1], "truncated");
    ok(told.n == 3 && strcmp(text_of(&told, 0, "data"), "abc") == 0 &&
           strcmp(text_of(&told, 1, "data"), "") == 0 && truncated && json_value_bool(truncated),
       "output past its limit is told once, and no half character before it");
}

static void test_end_once(void)
{
    _cleanup_fd_ int file = memfd_create("events", MFD_CLOEXEC);
    _cleanup_(told_release) struct told told = {0};
    struct rig rig;
    struct err err;

    if (!rig_init(&rig, file))
        return;
    (void) err_set(&err, ERR_USAGE, "unknown \"option\"");
    result_fail(&rig.result, &err);
    events_end(&rig.events, &rig.result, NULL, 2);
    rig_end(&rig, &told);
    ok(told.n == 1 && is_event(&told, 0, "exit", "error") &&
           strcmp(text_of(&told, 0, "error"), "unknown \"option\"") == 0 &&
           strcmp(text_of(&told, 0, "reason"), "invalid") == 0 &&
           number_of(&told, 0, "exit_status") == 2,
       "there is one exit, the first, also where nothing ran");
    events_begin(NULL, &rig.result, &rig.request);
    events_end(NULL, &rig.result, NULL, 0);
    ok(events_observer(NULL).wrote == NULL, "without events nothing happens");
}

/* ---- readers that are slow or gone ----------------------------------------------------------- */

static void flood(struct rig *rig)
{
    char block[1024];

    memset(block, 'x', sizeof(block));
    for (int i = 0; i < 1024; i++)
        write_text(rig, STREAM_STDOUT, block, sizeof(block));
}

static void test_full_pipe(void)
{
    _cleanup_(told_release) struct told told = {0};
    struct rig rig;
    int pair[2];

    if (!ok(pipe2(pair, O_CLOEXEC) == 0 && rig_init(&rig, pair[1]), "a pipe takes events"))
        return;
    _cleanup_fd_ int reader = pair[0], writer = pair[1];
    flood(&rig);
    ok(rig.events.dropped > 100, "a pipe that nobody reads does not hold us up");
    ok(!(fcntl(writer, F_GETFL) & O_NONBLOCK), "the caller's own descriptor stays as it was");
    char some[16384];
    ok(read(reader, some, sizeof(some)) == sizeof(some), "there is room again");
    uint64_t dropped = rig.events.dropped;
    rig.file = reader;
    events_end(&rig.events, &rig.result, NULL, 125);
    events_release(&rig.events);
    result_release(&rig.result);
    (void) close(take_fd(&writer)); /* so that the reader finds an end */
    /* The 16 KiB ended in the middle of a line. */
    for (char c = 0; c != '\n' && read(reader, &c, 1) == 1;)
        ;
    told_read(&told, reader);
    ok(told.all_lines_are_json && is_event(&told, told.n - 1, "exit", "error") &&
           number_of(&told, told.n - 1, "dropped") == (int64_t) dropped,
       "the last event says how many were dropped, and no line is torn");
}

static void test_gone_reader(void)
{
    struct rig rig;
    int pair[2];

    if (!ok(pipe2(pair, O_CLOEXEC) == 0 && rig_init(&rig, pair[1]), "a pipe takes events"))
        return;
    (void) close(pair[0]); /* the reader leaves */
    flood(&rig);
    ok(rig.events.dropped == rig.events.seq && rig.events.sink.fd < 0,
       "a reader that has gone away costs nothing but events");
    events_release(&rig.events);
    result_release(&rig.result);
    ok(rig_init(&rig, pair[1]), "a pipe whose reader was never there is taken");
    events_end(&rig.events, &rig.result, NULL, 0);
    ok(rig.events.dropped == 1, "and drops what it is given");
    events_release(&rig.events);
    result_release(&rig.result);
    (void) close(pair[1]); /* nothing is in it */
}

static void test_socket(void)
{
    _cleanup_(told_release) struct told told = {0};
    struct rig rig;
    int pair[2];

    if (!ok(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0 &&
                rig_init(&rig, pair[1]),
            "a socket takes events"))
        return;
    flood(&rig);
    ok(rig.events.dropped > 0, "a socket that nobody reads does not hold us up");
    events_release(&rig.events);
    result_release(&rig.result);
    (void) close(pair[1]); /* so that the reader finds an end */
    told_read(&told, pair[0]);
    ok(told.n > 1, "what it took are whole lines");
    (void) close(pair[0]); /* only read from */
}

/* ---- where they go --------------------------------------------------------------------------- */

static bool refused(const char *where, const char *says)
{
    struct events events;
    struct err err = {0};
    bool failed = events_open(&events, where, &err) < 0;

    events_release(&events);
    if (failed && strstr(err.message, says))
        return true;
    printf("# %s: %s\n", where, err.message);
    return false;
}

static void test_refused(void)
{
    static const char *const bad[][2] = {
        {"", "needs the name"},
        {"fd:", "is no descriptor"},
        {"fd:x", "is no descriptor"},
        {"fd:3x", "is no descriptor"},
        {"fd:-1", "is no descriptor"},
        {"fd: 3", "is no descriptor"},
        {"fd:99999", "not open"},
        {"fd:99999999999999", "is no descriptor"},
        {"fd:1", "standard output"},
        {"/", "cannot open"},
        {"/nonexistent/x", "cannot open"},
    };
    _cleanup_fd_ int reading = open("/dev/null", O_RDONLY | O_CLOEXEC);
    char where[32];

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        ok(refused(bad[i][0], bad[i][1]), "'%s' is refused", bad[i][0]);
    (void) snprintf(where, sizeof(where), "fd:%d", reading); /* fits */
    ok(refused(where, "not open for writing"), "a descriptor for reading is refused");
}

static void test_file(const char *folder)
{
    struct events events;
    struct err err = {0};
    struct stat st = {0};
    char path[128], link[128];

    (void) snprintf(path, sizeof(path), "%s/events", folder); /* fits */
    (void) snprintf(link, sizeof(link), "%s/link", folder);   /* fits */
    ok(events_open(&events, path, &err) == 0 && stat(path, &st) == 0 &&
           (st.st_mode & 07777) == 0600,
       "a file is made, for its owner alone%s", err.message);
    events_release(&events);
    ok(symlink(path, link) == 0 && refused(link, "cannot open"), "a symlink is not followed");

    int out = dup(STDOUT_FILENO), file = open(path, O_WRONLY | O_CLOEXEC);
    (void) fflush(stdout); /* what is in it is for the old one */
    (void) dup2(file, STDOUT_FILENO);
    bool is_refused = events_open(&events, path, &err) < 0;
    (void) dup2(out, STDOUT_FILENO);
    events_release(&events);
    ok(is_refused && strstr(err.message, "standard output"),
       "a file that standard output goes to is refused");
    (void) close(out);
    (void) close(file);
    (void) unlink(link);
    (void) unlink(path);
}

int main(void)
{
    char folder[] = "/tmp/test_events.XXXXXX";

    if (signal(SIGPIPE, SIG_IGN) == SIG_ERR || !mkdtemp(folder))
        return 1;
    test_order();
    test_parts();
    test_sizes();
    test_coalesced();
    test_cut();
    test_end_once();
    test_full_pipe();
    test_gone_reader();
    test_socket();
    test_refused();
    test_file(folder);
    ok(rmdir(folder) == 0, "nothing is left");
    return done();
}
