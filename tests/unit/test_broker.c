/* What is done outside a cell for the guest in it: requests, reading, running. */
#include "broker_rig.h"

static const char *read_file(struct rig *rig, const char *path, const char *more)
{
    return rig_file(rig, DOOR_FS_READ, path, more);
}

/* ---- requests -------------------------------------------------------------------------------- */

static void test_requests(struct rig *rig)
{
    static const struct {
        enum door_call call;
        const char *json;
        const char *what;
    } rows[] = {
        {DOOR_FS_READ, "", "nothing"},
        {DOOR_FS_READ, "\xff", "what is not UTF-8"},
        {DOOR_FS_READ, "[]", "a list"},
        {DOOR_FS_READ, "{}", "no path"},
        {DOOR_FS_READ, "{\"path\":7}", "a number for a path"},
        {DOOR_FS_READ, "{\"path\":\"/a\\u0000b\"}", "a NUL in a path"},
        {DOOR_FS_READ, "{\"path\":\"/a\",\"path\":\"/b\"}", "two paths"},
        {DOOR_FS_READ, "{\"path\":\"/a\",\"mode\":\"x\"}", "an unknown key"},
        {DOOR_FS_READ, "{\"path\":\"/a\",\"offset\":-1}", "an offset below 0"},
        {DOOR_FS_READ, "{\"path\":\"/a\",\"max_bytes\":0}", "no bytes"},
        {DOOR_FS_READ, "{\"path\":\"/a\",\"max_bytes\":524289}", "more bytes than an answer holds"},
        {DOOR_FS_READ, "{\"path\":\"/a\",\"encoding\":\"hex\"}", "an unknown encoding"},
        {DOOR_FS_READ, "{\"path\":\"\"}", "an empty path"},
        {DOOR_FS_READ, "{\"path\":\"/\"}", "the root"},
        {DOOR_FS_WRITE, "{\"path\":\"/a\"}", "nothing to write"},
        {DOOR_FS_WRITE, "{\"path\":\"/a\",\"data\":\"x\",\"base64\":\"eA==\"}", "data twice"},
        {DOOR_FS_WRITE, "{\"path\":\"/a\",\"base64\":\"eA\"}", "bad base64"},
        {DOOR_FS_WRITE, "{\"path\":\"/a\",\"data\":\"x\",\"mode\":\"rw\"}", "an unknown mode"},
        {DOOR_EXEC_RUN, "{}", "no argv"},
        {DOOR_EXEC_RUN, "{\"argv\":[]}", "an empty argv"},
        {DOOR_EXEC_RUN, "{\"argv\":[\"\"]}", "an empty program"},
        {DOOR_EXEC_RUN, "{\"argv\":[\"id\",7]}", "a number among the words"},
        {DOOR_EXEC_RUN, "{\"argv\":\"id\"}", "a command line"},
        {DOOR_EXEC_RUN, "{\"argv\":[\"id\"],\"env\":{\"A\":\"1\"}}", "an environment"},
        {DOOR_EXEC_RUN, "{\"argv\":[\"id\"],\"timeout_ms\":0}", "no time"},
        {DOOR_EXEC_RUN, "{\"argv\":[\"id\"],\"cwd\":\"sub\"}", "a relative cwd"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        ok(IS(rig_call(rig, rows[i].call, rows[i].json), "invalid") && rig->n_checks == 0 &&
               rig->denial.action[0] == '\0',
           "%s is refused for %s", door_names[rows[i].call], rows[i].what);
}

static void test_capabilities(struct rig *rig)
{
    for (enum door_call call = 1; call < DOOR_CALLS; call++) {
        memset(rig->broker.has, 0, sizeof(rig->broker.has));
        ok(IS(rig_call(rig, call, "{}"), "capability") && rig->n_checks == 0 &&
               strcmp(rig->denial.rule, RULE_CAPABILITY) == 0 &&
               strcmp(rig->denial.action, door_names[call]) == 0 && rig_says(rig, "--capability"),
           "%s without its capability says which one, and is a denial", door_names[call]);
    }
    rig->broker.has[CAPABILITY_FS_READ] = rig->broker.has[CAPABILITY_FS_WRITE] =
        rig->broker.has[CAPABILITY_EXEC_RUN] = true;
}

/* ---- reading --------------------------------------------------------------------------------- */

static void test_read(struct rig *rig)
{
    ok(IS(read_file(rig, "rw/file", ""), "") &&
           rig_says(rig, "{\"data\":\"0123456789\",\"size\":10,\"offset\":0,\"eof\":true}"),
       "a file is read");
    ok(strcmp(rig->judged, rig_path(rig, "rw/file")) == 0 && rig->n_checks == 1,
       "after it was judged, once, by where it is");
    ok(IS(read_file(rig, "ro/file", ""), "") && rig_says(rig, "read me"),
       "in a scope for reading, too");
    ok(IS(read_file(rig, "rw/file", ",\"offset\":3,\"max_bytes\":4"), "") &&
           rig_says(rig, "\"data\":\"3456\"") && rig_says(rig, "\"eof\":false"),
       "a piece of it");
    ok(IS(read_file(rig, "rw/file", ",\"offset\":7,\"max_bytes\":4"), "") &&
           rig_says(rig, "\"data\":\"789\"") && rig_says(rig, "\"eof\":true"),
       "its end");
    ok(IS(read_file(rig, "rw/file", ",\"offset\":9007199254740991"), "") &&
           rig_says(rig, "\"data\":\"\"") && rig_says(rig, "\"eof\":true"),
       "nothing past its end");
    ok(IS(read_file(rig, "rw/file", ",\"encoding\":\"base64\""), "") &&
           rig_says(rig, "\"base64\":\"MDEyMzQ1Njc4OQ==\""),
       "in base64 where that is asked for");
    ok(IS(read_file(rig, "rw//./sub/./inner", ""), "") && rig_says(rig, "inner"),
       "a path may have '.' and '//' in it");
}

static void test_bytes(struct rig *rig)
{
    static char bytes[200000];

    rig_put(rig, "rw/binary", "a\xff\0b", 4);
    ok(IS(read_file(rig, "rw/binary", ""), "") && rig_says(rig, "\"base64\":\"Yf8AYg==\""),
       "what is not text comes in base64");
    ok(IS(read_file(rig, "rw/binary", ",\"encoding\":\"text\""), "invalid") &&
           rig_says(rig, "base64"),
       "and is refused as text");
    rig_put(rig, "rw/nul", "a\0b", 3);
    ok(IS(read_file(rig, "rw/nul", ""), "") && rig_says(rig, "\"base64\":\"YQBi\""),
       "text with a NUL in it counts as none");
    rig_text(rig, "rw/words", "a\xc3\xa4z");
    ok(IS(read_file(rig, "rw/words", ",\"max_bytes\":2"), "") && rig_says(rig, "\"data\":\"a\""),
       "a character is not cut: it comes with the next piece");
    memset(bytes, 1, sizeof(bytes));
    rig_put(rig, "rw/control", bytes, sizeof(bytes));
    ok(IS(read_file(rig, "rw/control", ",\"max_bytes\":524288"), "") &&
           rig->answer.len <= DOOR_MAX_ANSWER && rig->answer.len > DOOR_MAX_ANSWER / 4 &&
           rig_says(rig, "\"eof\":false"),
       "text whose escapes do not fit in an answer comes in pieces");
    memset(bytes, 'x', sizeof(bytes));
    rig_put(rig, "rw/long", bytes, sizeof(bytes));
    ok(IS(read_file(rig, "rw/long", ""), "") && rig->answer.len < 65536 + 100 &&
           rig->answer.len > 65536 && rig_says(rig, "\"eof\":false"),
       "64 KiB of a file are read unless more is asked for");
}

static void test_paths(struct rig *rig)
{
    static const struct {
        const char *path, *code, *rule;
        const char *what;
    } rows[] = {
        {"rw/nothing", "not_found", "", "a name that is not there"},
        {"rw/file/x", "not_found", "", "a name in a file"},
        {"rw/sub", "invalid", "", "a directory"},
        {"rw/../rw/file", "invalid", "", "'..' that stays within"},
        {"rw/../outside/secret", "invalid", "", "'..' that leads out"},
        {"outside/secret", "denied", RULE_OUTSIDE, "a file in no scope"},
        {"rwx", "denied", RULE_OUTSIDE, "a name that begins as a scope's does"},
        {"/etc/passwd", "denied", RULE_OUTSIDE, "a file of the host's"},
        {"rw/out", "denied", RULE_OUTSIDE, "a link out"},
        {"rw/outdir/secret", "denied", RULE_OUTSIDE, "a link out on the way"},
        {"rw/abs", "denied", RULE_OUTSIDE, "an absolute link"},
        {"rw/around", "denied", RULE_OUTSIDE, "a link out and in again"},
        {"rw/loop", "denied", RULE_OUTSIDE, "a link to itself"},
        {"rw/root/etc/passwd", "denied", RULE_OUTSIDE, "/proc/self/root"},
        {"rw/fifo", "denied", RULE_SPECIAL, "a FIFO, without a wait"},
        {"rw/own/key", "denied", RULE_OWN_FOLDER, "wasp's own folder"},
        {"rw/state/key", "denied", RULE_OWN_FOLDER, "wasp's own folder, through a link"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        ok(IS(read_file(rig, rows[i].path, ""), rows[i].code) && rig->n_checks == 0 &&
               strcmp(rig->denial.rule, rows[i].rule) == 0,
           "reading is %s, and nobody is asked: %s", rows[i].code, rows[i].what);
    ok(IS(rig_call(rig, DOOR_FS_READ, "{\"path\":\"rw/file\"}"), "invalid") &&
           rig_says(rig, "relative"),
       "a relative path is refused, and told so");
    ok(IS(read_file(rig, "rw/in", ""), "") && rig_says(rig, "inner") &&
           strcmp(rig->judged, rig_path(rig, "rw/sub/inner")) == 0,
       "a link that stays within is followed, and judged by where it leads");
    ok(IS(read_file(rig, "rw/subdir/inner", ""), "") &&
           strcmp(rig->judged, rig_path(rig, "rw/sub/inner")) == 0,
       "also one on the way");
    rig->refuses = true;
    ok(IS(read_file(rig, "rw/file", ""), "denied") && !rig_says(rig, "0123") &&
           strcmp(rig->denial.rule, RULE_POLICY) == 0 && rig_says(rig, "ask for a grant") &&
           strcmp(rig->denial.target, rig_path(rig, "rw/file")) == 0,
       "what the judge refuses is not read");
    rig->refuses = false;
}

/* With the whole host as a scope, as `wasp call` has it. */
static void test_host(struct rig *rig)
{
    static const struct {
        const char *path, *rule;
    } rows[] = {
        {"/proc/self/environ", RULE_KERNEL_FILE},
        {"/proc/self/mem", RULE_KERNEL_FILE},
        {"/proc/sys/kernel/hostname", RULE_KERNEL_FILE},
        {"/proc/self/root/etc/passwd", RULE_OUTSIDE},
        {"/proc/self/fd/0", RULE_OUTSIDE},
        {"/proc/self/cwd/x", RULE_OUTSIDE},
        {"/dev/null", RULE_SPECIAL},
    };

    rig->scopes[2] = (struct broker_scope){
        .path = "/", .fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), .writable = true};
    rig->broker.n_scopes = 3;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        ok(IS(read_file(rig, rows[i].path, ""), "denied") && rig->n_checks == 0 &&
               strcmp(rig->denial.rule, rows[i].rule) == 0,
           "where all of the host is a scope, %s cannot be read", rows[i].path);
        ok(IS(rig_file(rig, DOOR_FS_WRITE, rows[i].path, ",\"data\":\"x\",\"mode\":\"append\""),
              "denied") &&
               rig->n_checks == 0,
           "nor written");
    }
    ok(IS(read_file(rig, "/etc/passwd", ""), "") && strcmp(rig->judged, "/etc/passwd") == 0,
       "and /etc/passwd can");
    ok(IS(read_file(rig, "rw/own/key", ""), "denied"), "and wasp's own folders cannot");
    cleanup_fd(&rig->scopes[2].fd);
    rig->broker.n_scopes = 2;
}

/* ---- running --------------------------------------------------------------------------------- */

static void test_exec(struct rig *rig)
{
    ok(IS(rig_call(rig, DOOR_EXEC_RUN, "{\"argv\":[\"id\",\"-u;reboot\",\"$(x)\",\"\"]}"), "") &&
           strcmp(rig->ran, "id|-u;reboot|$(x)| <- - 0") == 0 && strcmp(rig->judged, "id") == 0,
       "a program runs with its words as they are, after it was judged");
    ok(IS(rig_call(rig, DOOR_EXEC_RUN,
                   "{\"argv\":[\"cat\"],\"stdin\":\"text\",\"cwd\":\"/ws\",\"timeout_ms\":50}"),
          "") &&
           strcmp(rig->ran, "cat <text /ws 50") == 0,
       "with its stdin, its directory and its time");
    rig->program = "/usr/bin/id";
    ok(IS(rig_call(rig, DOOR_EXEC_RUN, "{\"argv\":[\"/tmp/link\",\"-u\"]}"), "") &&
           strncmp(rig->ran, "/usr/bin/id|-u ", 15) == 0,
       "what runs is what the judge named");
    rig->program = NULL;
    rig->refuses = true;
    ok(IS(rig_call(rig, DOOR_EXEC_RUN, "{\"argv\":[\"sh\"]}"), "denied") && rig->n_runs == 0 &&
           strcmp(rig->denial.rule, RULE_COMMAND) == 0 && strcmp(rig->denial.target, "sh") == 0,
       "what the judge refuses does not run");
    rig->refuses = false;
}

int main(void)
{
    struct rig rig;

    rig_init(&rig);
    test_requests(&rig);
    test_capabilities(&rig);
    test_read(&rig);
    test_bytes(&rig);
    test_paths(&rig);
    test_host(&rig);
    test_exec(&rig);
    rig_release(&rig);
    return done();
}
