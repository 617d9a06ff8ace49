/*
 * Golden envelopes: one for each way a run can end. `test_envelope --print` writes them one a line,
 * for check_schemas.py, instead of testing them.
 */
#include "report/envelope.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "report/explain.h"
#include "tap.h"

#define RUN_ID "01900000-0000-7000-8000-000000000000"
#define ALL_WALLS (((WALL_UID_RANGE << 1) - 1) | WALL_CPU_WATCH) /* of a wasm run */
#define ENVELOPE_MAX (1024 * 1024)

static void set_output(struct capture *capture, const char *bytes, size_t len, bool truncated)
{
    (void) buf_add(&capture->kept, bytes, len); /* the tests would see what is missing */
    capture->total_bytes = truncated ? len + 1000 : len;
    capture->truncated = truncated;
}

static void start(struct result *result)
{
    result->backend = "wasm";
    result->started = true;
    result->ready = (struct tell_ready){.walls = ALL_WALLS, .landlock_abi = 7};
    result->wall_ns = 12 * NS_PER_MS;
    result->cpu_ns = 9 * NS_PER_MS;
    result->max_rss_bytes = 2097152;
    result->has_module = true;
    result->module_cached = true;
}

static void end(struct result *result, enum reason reason)
{
    start(result);
    result->reason = reason;
}

static void exit_with(struct result *result, uint32_t code)
{
    end(result, REASON_EXITED);
    result->has_exit_code = true;
    result->exit_code = code;
    result->done_heard = true;
    result->done = (struct tell_done){.kind = DONE_EXITED,
                                      .exit_code = code,
                                      .memory_peak_bytes = 131072,
                                      .bytes_written = 5,
                                      .files_made = 1};
}

static void fill_success(struct result *result)
{
    exit_with(result, 0);
    set_output(&result->stdout_capture, "hello\n", 6, false);
}

static void fill_code_3(struct result *result)
{
    exit_with(result, 3);
}

static void fill_code_huge(struct result *result)
{
    exit_with(result, 70000);
}

static void fill_binary(struct result *result)
{
    exit_with(result, 0);
    set_output(&result->stdout_capture, "a\xff\0b", 4, false);
    set_output(&result->stderr_capture, "\xc3\xa9\n", 3, false);
}

/* "é" is cut in its middle. */
static void fill_truncated(struct result *result)
{
    exit_with(result, 0);
    set_output(&result->stdout_capture, "abc\xc3", 4, true);
}

static void fill_survived(struct result *result)
{
    exit_with(result, 0);
    result->done.limits_hit = HIT_MEMORY | HIT_TABLE | HIT_DISK | HIT_FILE | HIT_OPEN_FILES;
}

static void fill_denials(struct result *result)
{
    static struct tell_denial denials[] = {
        {"path_open", "../secret\n", "outside-grant"},
        {"path_unlink_file", "/data/a", "read-only"},
        {"sock_send", "\xff", "no-sockets"},
    };

    exit_with(result, 1);
    memset(denials[2].action, 'x', sizeof(denials[2].action)); /* without an end */
    result->denials = denials;
    result->n_denials = ARRAY_SIZE(denials);
    result->done.denials = 100;
}

static void fill_trap(struct result *result)
{
    end(result, REASON_TRAP);
    result->done_heard = true;
    result->done = (struct tell_done){.kind = DONE_TRAPPED,
                                      .trap_code = "stack_overflow",
                                      .trap_message = "call stack exhausted"};
}

/* A guest that owns its engine may say anything. */
static void fill_lying_trap(struct result *result)
{
    end(result, REASON_TRAP);
    result->done_heard = true;
    memset(&result->done, 0xff, sizeof(result->done));
    memcpy(result->done.trap_message, "\nwasp: all is well\x1b[2J\xc2\x9b", 25);
}

static void fill_timeout(struct result *result)
{
    end(result, REASON_TIMEOUT);
    set_output(&result->stderr_capture, "half", 4, false);
}

static void fill_cpu(struct result *result)
{
    end(result, REASON_CPU_LIMIT);
}

static void fill_memory(struct result *result)
{
    end(result, REASON_MEMORY_LIMIT);
}

static void fill_fuel(struct result *result)
{
    end(result, REASON_FUEL_LIMIT);
    result->use_fuel = true;
    result->done_heard = true;
    result->done.fuel_used = 1000;
}

static void fill_output(struct result *result)
{
    end(result, REASON_OUTPUT_LIMIT);
}

static void fill_disk(struct result *result)
{
    end(result, REASON_DISK_LIMIT);
}

static void fill_process(struct result *result)
{
    end(result, REASON_PROCESS_LIMIT);
}

static void fill_signal(struct result *result)
{
    end(result, REASON_SIGNAL);
    result->signal = 11;
}

static void fill_cancelled(struct result *result)
{
    end(result, REASON_CANCELLED);
    result->signal = 15;
}

static void fail_with(struct result *result, enum err_code code, const char *message,
                      const char *hint, const char *step)
{
    struct err err;

    (void) err_set(&err, code, "%s", message); /* always -1, as below */
    (void) err_hint(&err, "%s", hint);
    (void) err_step(&err, step);
    result_fail(result, &err);
}

static void fill_missing(struct result *result)
{
    fail_with(result, ERR_NOT_FOUND,
              "failed to load wasm module `m.wasm`: failed to read input file", "check the path",
              "");
}

static void fill_usage(struct result *result)
{
    fail_with(result, ERR_USAGE, "unknown option '--memroy'", "did you mean '--memory'?", "");
}

static void fill_denied(struct result *result)
{
    fail_with(result, ERR_DENIED, "'/home/me/.local/state/wasp' holds wasp's own files",
              "grant another directory with --allow-dir", "grants");
}

static void fill_wall(struct result *result)
{
    fail_with(result, ERR_WALL, "cannot enter a user namespace: Operation not permitted",
              "in a container, --isolation landlock may do", "namespaces");
}

static void fill_cold(struct result *result)
{
    exit_with(result, 0);
    result->module_cached = false;
    result->compile_ns = 41 * NS_PER_MS;
    memset(result->module_sha256.bytes, 0xab, sizeof(result->module_sha256.bytes));
    memcpy(result->cache_error, "cannot write", 13);
    result->timings[result->n_timings++] = (struct timing){"load", 150};
    result->timings[result->n_timings++] = (struct timing){"run", 40};
}

static const struct golden {
    const char *name;
    void (*fill)(struct result *result);
    const char *error; /* NULL: success */
    const char *holds; /* further text of the envelope */
} goldens[] = {
    {"success", fill_success, NULL, "\"stdout\":\"hello\\n\",\"stderr\":\"\",\"error\":null"},
    {"a code of its own", fill_code_3, "guest exited with code 3",
     "\"exit_code\":3,\"execution_time_ms\":12"},
    {"a code above 255", fill_code_huge, "guest exited with code 70000", "\"exit_code\":70000"},
    {"output that is no text", fill_binary, NULL,
     "\"stdout\":\"a\xef\xbf\xbd\\u0000b\",\"stdout_base64\":\"Yf8AYg==\",\"stderr\":"
     "\"\xc3\xa9\\n\",\"error\""},
    {"truncated output", fill_truncated, NULL, "\"stdout\":\"abc\",\"stderr\":\"\",\"error\":null"},
    {"limits that were survived", fill_survived, NULL,
     "\"limits_hit\":[\"memory\",\"table\",\"disk\",\"file_size\",\"open_files\"]"},
    {"denials", fill_denials, "guest exited with code 1",
     "{\"layer\":\"wasi\",\"action\":\"path_open\",\"target\":\"../"
     "secret\\n\",\"rule\":\"outside-grant\","
     "\"hint\":\"grant the directory that holds it with --allow-dir\"}"},
    {"a trap", fill_trap, "guest trapped: call stack exhausted",
     "\"error_info\":{\"code\":\"stack_overflow\",\"step\":null,"
     "\"message\":\"guest trapped: call stack exhausted\",\"hint\":null}"},
    {"a trap that lies", fill_lying_trap,
     "guest trapped: \\x0awasp: all is well\\x1b[2J\\x9b; it had been refused memory: raise the "
     "limit "
     "with --memory",
     "\"code\":\"trap\""},
    {"a timeout", fill_timeout,
     "guest was still running at its time limit of 30s; raise it with --timeout",
     "\"bytes_written\":null"},
    {"CPU time", fill_cpu, "guest used up its CPU time limit of 30s; raise it with --cpu",
     "\"reason\":\"cpu_limit\""},
    {"memory", fill_memory, "guest was killed at its memory limit of 64MiB; raise it with --memory",
     "\"hint\":\"raise it with --memory\""},
    {"fuel", fill_fuel, "guest used up its fuel limit of 1000; raise it with --fuel",
     "\"fuel\":{\"limit\":1000,\"used\":1000}"},
    {"output that kills", fill_output,
     "guest wrote more than its output limit of 1MiB; raise it with --output",
     "\"reason\":\"output_limit\""},
    {"disk", fill_disk, "guest wrote more than its disk limit of 1GiB; raise it with --disk",
     "\"reason\":\"disk_limit\""},
    {"processes", fill_process,
     "guest kept starting processes past its limit of 1; raise it with --processes",
     "\"code\":\"process_limit\""},
    {"a signal", fill_signal, "guest died of signal 11 (SIGSEGV)", "\"signal\":11"},
    {"cancelling", fill_cancelled, "cancelled by signal 15 (SIGTERM)", "\"signal\":15"},
    {"a missing module", fill_missing,
     "failed to load wasm module `m.wasm`: failed to read input file",
     "\"code\":\"not_found\",\"step\":null"},
    {"bad usage", fill_usage, "unknown option '--memroy'; did you mean '--memory'?",
     "\"backend\":\"none\",\"reason\":\"invalid\""},
    {"a refusal", fill_denied,
     "'/home/me/.local/state/wasp' holds wasp's own files; grant another directory with "
     "--allow-dir",
     "\"reason\":\"denied\""},
    {"a wall that cannot be built", fill_wall,
     "cannot enter a user namespace: Operation not permitted; "
     "in a container, --isolation landlock may do",
     "\"code\":\"wall\",\"step\":\"namespaces\""},
    {"a first run", fill_cold, NULL,
     "\"cached\":false,\"compile_ms\":41,\"cache_error\":\"cannot write\"},"
     "\"labels\":{\"job\":\"a\xc3\xa9\"},\"timings_us\":{\"load\":150,\"run\":40}}"},
};

/* The whole of one, byte for byte: whatever changes here changes for every caller. */
static const char whole[] =
    "{\"status\":\"error\",\"exit_code\":3,\"execution_time_ms\":12,\"stdout\":\"\",\"stderr\":"
    "\"\","
    "\"error\":\"guest exited with code 3\",\"schema\":\"wasp.result/1\",\"run_id\":\"" RUN_ID "\","
    "\"backend\":\"wasm\",\"reason\":\"exited\",\"truncated\":{\"stdout\":false,\"stderr\":false},"
    "\"usage\":{\"wall_ms\":12,\"cpu_ms\":9,\"max_rss_bytes\":2097152,\"memory_peak_bytes\":131072,"
    "\"bytes_written\":5,\"files_made\":1,\"stdout_bytes\":0,\"stderr_bytes\":0},"
    "\"enforced\":[\"isolation:full\",\"namespace:user\",\"namespace:mount\",\"namespace:pid\","
    "\"namespace:ipc\",\"namespace:uts\",\"namespace:net\",\"namespace:cgroup\",\"root:empty\","
    "\"identity:uid-range\",\"capabilities:none\",\"no-new-privs\",\"seccomp\",\"memory:rlimit\","
    "\"cpu:rlimit+watch\",\"landlock:7\"],\"denials\":[],"
    "\"module\":{\"sha256\":\"0000000000000000000000000000000000000000000000000000000000000000\","
    "\"cached\":true,\"compile_ms\":0},\"labels\":{\"job\":\"a\xc3\xa9\"},\"timings_us\":{}}\n";

static struct request_label label = {"job", "a\xc3\xa9"};

static void fill_request(struct request *request)
{
    request_init(request, BACKEND_WASM);
    request->module = "m.wasm";
    request->limits.value[LIMIT_FUEL] = 1000;
    request->labels = &label;
    request->n_labels = 1;
}

/* Reads back what was written to a memory file; the text ends in NUL. */
static bool read_back(int fd, struct buf *into)
{
    off_t len = lseek(fd, 0, SEEK_END);
    char *room;

    if (len < 0 || lseek(fd, 0, SEEK_SET) < 0 || buf_reserve(into, (size_t) len, &room) < 0 ||
        fd_read_full(fd, room, (size_t) len) != len)
        return false;
    buf_commit(into, (size_t) len);
    return true;
}

static bool write_golden(const struct golden *golden, struct buf *into, struct buf *error)
{
    _cleanup_fd_ int fd = memfd_create("envelope", MFD_CLOEXEC);
    _cleanup_(result_release) struct result result;
    struct request request;

    fill_request(&request);
    result_init(&result, 64);
    memcpy(result.run_id, RUN_ID, sizeof(RUN_ID));
    golden->fill(&result);
    const char *line = envelope_error(&result, &request, error);
    if (!line != !golden->error || (line && strcmp(line, golden->error) != 0))
        printf("# error is %s\n", line ? line : "null");
    return envelope_write(fd, &(struct envelope){.result = &result,
                                                 .request = &request,
                                                 .with_timings = true}) == 0 &&
           read_back(fd, into);
}

static void test_golden(const struct golden *golden)
{
    _cleanup_(buf_release) struct buf text = BUF_INIT(ENVELOPE_MAX), line = BUF_INIT(4096);
    struct json_value *document = NULL;
    struct err err = {0};

    if (!ok(write_golden(golden, &text, &line), "the envelope of %s is written", golden->name))
        return;
    ok((golden->error == NULL) == (line.data == NULL) &&
           (!line.data || strcmp(line.data, golden->error) == 0),
       "the line of %s is: %s", golden->name, golden->error ? golden->error : "none");
    ok(strstr(text.data, golden->holds), "the envelope of %s holds what it should: %s",
       golden->name, golden->holds);
    ok(strchr(text.data, '\n') == text.data + text.len - 1, "the envelope of %s is one line",
       golden->name);

    /*
     * json_parse refuses a NUL inside a string, which is fine in an envelope: leave that one out.
     */
    if (strstr(text.data, "\\u0000"))
        return;
    if (!ok(json_parse(text.data, text.len, "envelope", &document, &err) == 0,
            "the envelope of %s is JSON%s", golden->name, err.message))
        return;
    const struct json_value *error = json_value_get(document, "error");
    ok(golden->error ? json_kind(error) == JSON_KIND_STRING &&
                           strcmp(json_value_string(error), golden->error) == 0
                     : json_kind(error) == JSON_KIND_NULL,
       "the envelope's error is that line");
    ok((json_value_get(document, "error_info") != NULL) ==
           (golden->error && strncmp(golden->error, "guest exited", 12) != 0),
       "error_info is there unless the guest ended by itself");
    json_free(document);
}

static void test_whole(void)
{
    static const struct golden golden = {"a code of its own", fill_code_3,
                                         "guest exited with code 3", ""};
    _cleanup_(buf_release) struct buf text = BUF_INIT(ENVELOPE_MAX), line = BUF_INIT(4096);

    ok(write_golden(&golden, &text, &line) && strcmp(text.data, whole) == 0,
       "an envelope is what it was, byte for byte");
}

static void test_without_request(void)
{
    _cleanup_(result_release) struct result result;
    _cleanup_(buf_release) struct buf line = BUF_INIT(4096);

    result_init(&result, 0);
    fill_usage(&result);
    ok(envelope_error(&result, NULL, &line) && strstr(line.data, "--memroy"),
       "what never became a request still has its line");
    ok(envelope_write(-1, &(struct envelope){.result = &result}) < 0,
       "a descriptor that takes nothing is told");
    fill_success(&result);
    result.err = (struct err){0};
    ok(envelope_error(&result, NULL, &line) == NULL && line.len == 0, "success has no line");
}

static void test_not_started_has_no_walls(void)
{
    _cleanup_fd_ int fd = memfd_create("envelope", MFD_CLOEXEC);
    _cleanup_(buf_release) struct buf text = BUF_INIT(ENVELOPE_MAX);
    _cleanup_(result_release) struct result result;

    result_init(&result, 0);
    fill_wall(&result);
    result.ready.walls = ALL_WALLS;
    ok(envelope_write(fd, &(struct envelope){.result = &result}) == 0 && read_back(fd, &text) &&
           strstr(text.data, "\"enforced\":[]"),
       "no wall is claimed for a cell that never said it was ready");
    ok(!strstr(text.data, "timings_us"), "timings are there only if asked for");
}

static int print_goldens(void)
{
    struct request request;

    for (size_t i = 0; i < ARRAY_SIZE(goldens); i++) {
        _cleanup_(buf_release) struct buf text = BUF_INIT(ENVELOPE_MAX), line = BUF_INIT(4096);
        if (!write_golden(&goldens[i], &text, &line) ||
            fd_write_all(STDOUT_FILENO, text.data, text.len) < 0)
            return 1;
    }
    fill_request(&request);
    return explain_write(STDOUT_FILENO, &request) < 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--print") == 0)
        return print_goldens();
    for (size_t i = 0; i < ARRAY_SIZE(goldens); i++)
        test_golden(&goldens[i]);
    test_whole();
    test_without_request();
    test_not_started_has_no_walls();
    return done();
}
