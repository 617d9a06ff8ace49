/* The audit log: what is written, and that verify finds what was done to it. */
#include "audit_rig.h"

#include "base/clock.h"
#include "base/json.h"

#define ROOM ((size_t) 1 << 20)

/* ---- a record -------------------------------------------------------------------------------- */

static void fill_record(struct audit_record *record, const struct digest *digest)
{
    static const char *const grants[] = {"0198c0de-0000-7000-8000-000000000001",
                                         "0198c0de-0000-7000-8000-000000000002"};

    *record = (struct audit_record){
        .event = "end",
        .run_id = "0198c0de-0000-7000-8000-000000000000",
        .principal = "agent:builder",
        .backend = "native",
        .tier = "medium",
        .policy = digest,
        .request = digest,
        .subject = digest,
        .subject_kind = "argv_sha256",
        .decision = "allow",
        .rule = "user policy.yaml:12 exec.allow",
        .capability = "exec_run",
        .scope = "/usr/bin/git \"status\"",
        .grants = grants,
        .n_grants = 2,
        .approval = "0198c0de-0000-7000-8000-000000000003",
        .by = "uid:1000",
        .reason = "exited",
        .has_exit_code = true,
        .exit_code = 3,
        .has_usage = true,
        .wall_ms = 12,
        .cpu_ms = 5,
        .max_rss_bytes = 1048576,
        .at_ms = 1700000000123,
    };
}

static const char *text_of(const struct json_value *object, const char *key)
{
    const struct json_value *value = json_value_get(object, key);

    return value && json_kind(value) == JSON_KIND_STRING ? json_value_string(value) : "";
}

static void check_parsed(const char *line, size_t len)
{
    struct json_value *json = NULL;
    struct err err = {0};

    if (!ok(json_parse(line, len, "record", &json, &err) == 0, "a record is strict JSON"))
        return;
    const struct json_value *grants = json_value_get(json, "grants");
    const struct json_value *usage = json_value_get(json, "usage");
    ok(strcmp(text_of(json, "scope"), "/usr/bin/git \"status\"") == 0 &&
           strcmp(text_of(json, "at"), "2023-11-14T22:13:20.123Z") == 0 &&
           strcmp(text_of(json, "event"), "end") == 0 && json_value_count(grants) == 2 &&
           json_value_int(json_value_get(usage, "cpu_ms")) == 5 &&
           json_value_int(json_value_get(json, "exit_code")) == 3 &&
           strlen(text_of(json, "argv_sha256")) == 64,
       "a record says what it was given");
    json_free(json);
}

/* The rule of audit.h, by hand. */
static void check_rule(const char *line, const struct audit_place *place)
{
    const char *end = strstr(line, ",\"hash\":\"");
    char hex[DIGEST_HEX];
    struct digest hash;
    struct sha256 sha;

    if (!ok(end != NULL, "a record ends with its hash"))
        return;
    sha256_init(&sha);
    sha256_add(&sha, line, (size_t) (end - line));
    sha256_finish(&sha, &hash);
    digest_hex(&hash, hex);
    ok(strncmp(end + strlen(",\"hash\":\""), hex, 64) == 0 && digest_equal(&hash, &place->hash) &&
           strcmp(end + strlen(",\"hash\":\"") + 64, "\"}\n") == 0,
       "the hash is the SHA-256 of what stands before it");
}

static void test_record(void)
{
    struct rig rig;
    struct digest digest;
    struct audit_record record;
    struct audit_place place;
    struct audit_line line;
    struct err err = {0};
    char text[4096] = "";

    rig_init(&rig);
    memset(&digest, 0xab, sizeof(digest));
    fill_record(&record, &digest);
    struct audit *audit = rig_open(&rig, NULL);
    ok(audit && audit_append(audit, &record, &place, &err) == 0 && place.seq == 1,
       "the first record is number 1");
    audit_close(audit);
    size_t len = rig_read(rig.log, text, sizeof(text) - 1);
    ok(len > 0 && text[len - 1] == '\n' && audit_line_scan(text, len - 1, &line) && line.seq == 1,
       "what is written is what is read");
    check_parsed(text, len);
    check_rule(text, &place);
    ok(rig_verify(&rig, NULL).findings == 0, "a log as it was written verifies");
    rig_release(&rig);
}

/* Text from outside, and what may become of it. */
static void test_text(void)
{
    static const struct {
        const char *text, *shows, *sentence;
    } rows[] = {
        {"a\nb\r\t\x1b[31m", "a\\nb\\r\\t\\u001b[31m", "control characters are escaped"},
        {"a\xff\xc3", "a\xef\xbf\xbd\xef\xbf\xbd", "what is no UTF-8 becomes U+FFFD"},
        {"\xc2\x9b", "\\u009b", "C1 is escaped"},
        {"\"}\n{\"seq\":9", "\\\"}\\n{\\\"seq\\\":9", "a text cannot end its line"},
        {"\x7f\x01", "\\u007f\\u0001", "DEL is escaped"},
    };
    struct rig rig;

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct audit_record record = {.event = "refused", .reason = rows[i].text};
        struct audit_line line;
        struct err err = {0};
        char text[4096] = "";
        rig_init(&rig);
        struct audit *audit = rig_open(&rig, NULL);
        int rc = audit ? audit_append(audit, &record, NULL, &err) : -1;
        audit_close(audit);
        size_t len = rig_read(rig.log, text, sizeof(text) - 1);
        ok(rc == 0 && len > 0 && audit_line_scan(text, len - 1, &line) &&
               span_is(line.field[FIELD_REASON], rows[i].shows),
           "%s", rows[i].sentence);
        rig_release(&rig);
    }
}

/* The worst that texts can be. */
static void test_long(void)
{
    static char worst[100000];
    const char *grants[200];
    struct audit_record record = {.event = "call",
                                  .run_id = worst,
                                  .principal = worst,
                                  .backend = worst,
                                  .tier = worst,
                                  .decision = worst,
                                  .rule = worst,
                                  .capability = worst,
                                  .scope = worst,
                                  .approval = worst,
                                  .by = worst,
                                  .reason = worst,
                                  .grants = grants,
                                  .n_grants = ARRAY_SIZE(grants),
                                  .has_exit_code = true,
                                  .exit_code = UINT32_MAX,
                                  .has_usage = true,
                                  .wall_ms = UINT64_MAX,
                                  .cpu_ms = UINT64_MAX,
                                  .max_rss_bytes = UINT64_MAX};
    struct audit_link link = {
        .seq = AUDIT_MAX_NUMBER, .first_seq = AUDIT_MAX_NUMBER, .time_ns = UINT64_MAX};
    _cleanup_(buf_release) struct buf line = BUF_INIT(AUDIT_MAX_RECORD);
    struct digest digest = {{0}}, hash;
    struct audit_line read;
    struct err err = {0};

    memset(worst, 1, sizeof(worst) - 1);
    for (size_t i = 0; i < ARRAY_SIZE(grants); i++)
        grants[i] = worst;
    record.policy = record.request = record.subject = &digest;
    record.subject_kind = "module_sha256";
    int rc = audit_line_write(&record, &link, NULL, &line, &hash, &err);
    ok(rc == 0 && audit_line_scan(line.data, line.len - 1, &read),
       "a record of the longest and worst texts fits: %zu bytes", line.len);
    ok(read.field[FIELD_GRANTS].text &&
           memmem(line.data, line.len, "\"and 136 more\"]", 15) != NULL &&
           memcmp(read.field[FIELD_REASON].text + read.field[FIELD_REASON].len - 3, "...", 3) == 0,
       "what was cut off shows");
}

/* ---- tampering ------------------------------------------------------------------------------- */

/* True if verify finds something with these bytes as the file. */
static bool is_found(const struct rig *rig, const char *path, const char *bytes, size_t len)
{
    rig_write(path, bytes, len);
    return rig_verify(rig, NULL).findings > 0;
}

static void test_each_byte(const char *what, bool of_head)
{
    static const unsigned char flips[] = {0x01, 0x20, 0x80};
    struct rig rig;
    char bytes[8192];
    size_t missed = 0, tried = 0;

    rig_init(&rig);
    (void) rig_append(&rig, NULL, 4);
    const char *path = of_head ? rig.head : rig.log;
    size_t len = rig_read(path, bytes, sizeof(bytes));
    for (size_t at = 0; at < len; at++)
        for (size_t i = 0; i < ARRAY_SIZE(flips); i++, tried++) {
            bytes[at] = (char) (bytes[at] ^ flips[i]);
            if (!is_found(&rig, path, bytes, len)) {
                missed++;
                printf("# byte %zu of %zu changed by 0x%02x is not found\n", at, len, flips[i]);
            }
            bytes[at] = (char) (bytes[at] ^ flips[i]);
        }
    ok(tried > 1000 && missed == 0, "a changed byte of %s is found, whichever it is", what);
    rig_write(path, bytes, len);
    ok(rig_verify(&rig, NULL).findings == 0, "and put back, %s verifies again", what);
    rig_release(&rig);
}

/* Each byte that is taken out, put in, or the last that is left. */
static void test_each_length(const char *what, bool of_head)
{
    struct rig rig;
    char bytes[8192], changed[8193];
    size_t missed[3] = {0};

    rig_init(&rig);
    (void) rig_append(&rig, NULL, 3);
    const char *path = of_head ? rig.head : rig.log;
    size_t len = rig_read(path, bytes, sizeof(bytes));
    for (size_t at = 0; at < len; at++) {
        missed[0] += !is_found(&rig, path, bytes, at);
        memcpy(changed, bytes, at);
        memcpy(changed + at, bytes + at + 1, len - at - 1);
        missed[1] += !is_found(&rig, path, changed, len - 1);
        changed[at] = bytes[at] == ' ' ? '\t' : ' ';
        memcpy(changed + at + 1, bytes + at, len - at);
        missed[2] += !is_found(&rig, path, changed, len + 1);
    }
    ok(missed[0] == 0, "%s cut off is found, wherever it was cut", what);
    ok(missed[1] == 0, "a byte taken out of %s is found", what);
    ok(missed[2] == 0, "a byte put into %s is found", what);
    rig_release(&rig);
}

/* The lines of a log, to be put together anew. */
struct lines {
    char bytes[8192];
    size_t len, n;
    const char *start[16];
    size_t size[16];
};

static void split(const char *path, struct lines *lines)
{
    lines->len = rig_read(path, lines->bytes, sizeof(lines->bytes));
    lines->n = 0;
    for (size_t at = 0; at < lines->len && lines->n < 16; lines->n++) {
        const char *end = memchr(lines->bytes + at, '\n', lines->len - at);
        lines->start[lines->n] = lines->bytes + at;
        lines->size[lines->n] = (size_t) (end - (lines->bytes + at)) + 1;
        at += lines->size[lines->n];
    }
}

/* order: numbers of lines as digits. */
static struct said with_lines(const struct rig *rig, const struct lines *lines, const char *order)
{
    char bytes[16384];
    size_t len = 0;

    for (; *order; order++) {
        size_t i = (size_t) (*order - '0');
        memcpy(bytes + len, lines->start[i], lines->size[i]);
        len += lines->size[i];
    }
    rig_write(rig->log, bytes, len);
    return rig_verify(rig, NULL);
}

static void test_lines(void)
{
    static const struct {
        const char *order, *says, *sentence;
    } rows[] = {
        {"01234", NULL, "the lines as they were verify"},
        {"1234", "the log's beginning is missing", "a deleted first line is found"},
        {"0134", "records are missing before it: seq 3 to 3", "a deleted line is found"},
        {"0123", "the tail was cut off", "a deleted last line is found"},
        {"", "the tail was cut off", "an emptied log is found"},
        {"02134", "records are missing", "two lines that changed places are found"},
        {"01243", "records are missing", "two last lines that changed places are found"},
        {"012344", "out of order", "a line that is there twice is found"},
        {"011234", "out of order", "a line that is there twice in the middle is found"},
    };
    struct lines lines;
    struct rig rig;

    rig_init(&rig);
    (void) rig_append(&rig, NULL, 5);
    split(rig.log, &lines);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct said said = with_lines(&rig, &lines, rows[i].order);
        ok(rows[i].says ? said.findings > 0 && strstr(said.finding, rows[i].says) != NULL
                        : said.findings == 0,
           "%s: %s", rows[i].sentence, said.finding);
    }
    rig_release(&rig);
}

/* A line that somebody made by the rule: the chain holds, but the head does not know it. */
static void test_added(void)
{
    _cleanup_(buf_release) struct buf line = BUF_INIT(AUDIT_MAX_RECORD);
    const struct audit_record record = {.event = "approved", .by = "uid:0"};
    struct rig rig;
    struct err err = {0};
    struct digest hash;

    rig_init(&rig);
    struct audit_place place = rig_append(&rig, NULL, 2);
    struct audit_link link = {
        .seq = place.seq + 1, .time_ns = clock_realtime_ns(), .prev = place.hash};
    _cleanup_fd_ int fd = open(rig.log, O_WRONLY | O_APPEND | O_CLOEXEC);
    ok(audit_line_write(&record, &link, NULL, &line, &hash, &err) == 0 &&
           write(fd, line.data, line.len) == (ssize_t) line.len,
       "somebody adds a line that fits the chain");
    struct said said = rig_verify(&rig, NULL);
    ok(said.findings == 1 && strstr(said.finding, "something else added to it"), "it is found: %s",
       said.finding);
    (void) rig_append(&rig, NULL, 1);
    said = rig_verify(&rig, NULL);
    ok(said.findings > 0 && said.notes == 1 && strstr(said.note, "changed by something else"),
       "and stays found when wasp has written again: %s", said.finding);
    rig_release(&rig);
}

static void test_anchor(void)
{
    struct rig rig;
    struct audit_place first, anchor;
    struct said said = {0};
    struct audit_verdict verdict;
    struct err err = {0};

    rig_init(&rig);
    first = rig_append(&rig, NULL, 1);
    (void) rig_append(&rig, NULL, 3);
    ok(audit_verify(rig.dir, &first, rig_hear, &said, &verdict, &err) == 0 && said.findings == 0,
       "an anchor that is in the log is found there");
    anchor = first;
    anchor.hash.bytes[0] ^= 1;
    (void) audit_verify(rig.dir, &anchor, rig_hear, &said, &verdict, &err);
    ok(said.findings == 1 && strstr(said.finding, "not that of the anchor"),
       "another hash is a finding");
    anchor.seq = 9;
    memset(&said, 0, sizeof(said));
    (void) audit_verify(rig.dir, &anchor, rig_hear, &said, &verdict, &err);
    ok(said.findings == 1 && strstr(said.finding, "before the anchor"),
       "a log that ends before the anchor is a finding");
    rig_release(&rig);
}

/* Who rewrites log and head together is found by the anchor alone. */
static void test_rewritten(void)
{
    struct rig rig, other;
    struct said said = {0};
    struct audit_verdict verdict;
    struct err err = {0};
    char bytes[8192];

    rig_init(&rig);
    rig_init(&other);
    struct audit_place anchor = rig_append(&rig, NULL, 3);
    const struct audit_record lie = {.event = "end", .reason = "nothing happened"};
    struct audit *audit = rig_open(&other, NULL);
    ok(audit && audit_append(audit, &lie, NULL, &err) == 0, "somebody writes another log");
    audit_close(audit);
    (void) rig_append(&other, NULL, 2);
    rig_write(rig.log, bytes, rig_read(other.log, bytes, sizeof(bytes)));
    ok(rig_verify(&rig, NULL).findings > 0, "another log under the old head is found");
    rig_write(rig.head, bytes, rig_read(other.head, bytes, sizeof(bytes)));
    ok(rig_verify(&rig, NULL).findings == 0, "with its head as well it is a log like any other");
    (void) audit_verify(rig.dir, &anchor, rig_hear, &said, &verdict, &err);
    ok(said.findings > 0, "which an outside anchor finds");
    rig_release(&rig);
    rig_release(&other);
}

int main(void)
{
    test_record();
    test_text();
    test_long();
    test_each_byte("the log", false);
    test_each_byte("the head", true);
    test_each_length("the log", false);
    test_each_length("the head", true);
    test_lines();
    test_added();
    test_anchor();
    test_rewritten();
    return done();
}
