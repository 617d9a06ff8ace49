/* Segments, retention, heads that are gone, and readers that follow. */
#include "audit_rig.h"

#include <dirent.h>

#include "report/audit_filter.h"
#include "report/audit_show.h"

static void path_of(const struct rig *rig, uint64_t number, char *path, size_t size)
{
    char name[AUDIT_NAME_SIZE];

    audit_segment_name(number, name);
    (void) snprintf(path, size, "%s/audit/%s", rig->dir, name);
}

static bool has_segment(const struct rig *rig, uint64_t number)
{
    char path[128];

    path_of(rig, number, path, sizeof(path));
    return access(path, F_OK) == 0;
}

/* With the file gone. */
static struct said verify_without(const struct rig *rig, const char *path)
{
    if (unlink(path) < 0)
        abort();
    return rig_verify(rig, NULL);
}

/* ---- rotation -------------------------------------------------------------------------------- */

static void test_rotation(void)
{
    const struct audit_settings settings = {.durability = DURABILITY_KILL, .rotate_bytes = 1000};
    struct audit_verdict verdict;
    struct rig rig;
    char path[128];

    rig_init(&rig);
    (void) rig_append(&rig, &settings, 20);
    struct said said = rig_verify(&rig, &verdict);
    ok(has_segment(&rig, 1) && has_segment(&rig, 2) && verdict.lines == 20 && said.findings == 0 &&
           said.notes == 0,
       "the chain goes on across segments");
    path_of(&rig, 2, path, sizeof(path));
    said = verify_without(&rig, path);
    ok(said.findings > 0 && strstr(said.finding, "records are missing"),
       "a segment that is gone from the middle is found: %s", said.finding);
    path_of(&rig, 1, path, sizeof(path));
    said = verify_without(&rig, path);
    ok(said.findings > 0 && strstr(said.finding, "beginning is missing"),
       "segments that are gone from the beginning are found: %s", said.finding);
    rig_release(&rig);
}

/* A writer that is killed after the old segment has its new name; another has the log open. */
static void test_half_rotation(void)
{
    const struct audit_record record = {.event = "start"};
    struct audit_place place = {0};
    struct err err = {0};
    struct rig rig;
    char path[128];

    rig_init(&rig);
    (void) rig_append(&rig, NULL, 3);
    struct audit *audit = rig_open(&rig, NULL);
    ok(audit && audit_append(audit, &record, &place, &err) == 0, "a writer has the log open");
    path_of(&rig, 1, path, sizeof(path));
    ok(rename(rig.log, path) == 0 && rig_verify(&rig, NULL).findings == 0,
       "a rotation that was broken off is no damage");
    ok(audit_append(audit, &record, &place, &err) == 0 && place.seq == 5 &&
           access(rig.log, F_OK) == 0 && rig_verify(&rig, NULL).findings == 0,
       "whoever had the log open finishes it");
    audit_close(audit);
    ok(rig_append(&rig, NULL, 1).seq == 6 && rig_verify(&rig, NULL).findings == 0,
       "and the next writer goes on");
    rig_release(&rig);
}

static void test_in_the_way(void)
{
    const struct audit_settings settings = {.durability = DURABILITY_KILL, .rotate_bytes = 500};
    const struct audit_record record = {.event = "start"};
    struct err err = {0};
    struct rig rig;
    char path[128];

    rig_init(&rig);
    (void) rig_append(&rig, NULL, 3);
    path_of(&rig, 1, path, sizeof(path));
    rig_write(path, "x", 1);
    struct audit *audit = rig_open(&rig, &settings);
    ok(audit && audit_append(audit, &record, NULL, &err) < 0 && strstr(err.hint, "in the way"),
       "rotation replaces nothing: %s; %s", err.message, err.hint);
    ok(unlink(path) == 0 && audit_append(audit, &record, NULL, &err) == 0 &&
           rig_verify(&rig, NULL).findings == 0,
       "and goes on when the way is free");
    audit_close(audit);
    rig_release(&rig);
}

/* ---- retention ------------------------------------------------------------------------------- */

static void test_retention(void)
{
    const struct audit_settings settings = {
        .durability = DURABILITY_POWER, .rotate_bytes = 1000, .keep_segments = 2};
    struct audit_verdict verdict;
    struct rig rig;
    char path[128], first[8192];

    rig_init(&rig);
    (void) rig_append(&rig, &settings, 5);
    path_of(&rig, 1, path, sizeof(path));
    size_t len = rig_read(path, first, sizeof(first));
    (void) rig_append(&rig, &settings, 40);
    struct said said = rig_verify(&rig, &verdict);
    ok(len > 0 && !has_segment(&rig, 1) && said.findings == 0 && verdict.first_seq > 1 &&
           strstr(said.note, "older segments were removed by retention"),
       "old segments go, the log says so and verifies: %s", said.note);
    uint64_t oldest = 1;
    while (!has_segment(&rig, oldest))
        oldest++;
    ok(has_segment(&rig, oldest + 1) && !has_segment(&rig, oldest + 2), "so many as are kept stay");
    path_of(&rig, oldest, path, sizeof(path));
    len = rig_read(path, first, sizeof(first));
    said = verify_without(&rig, path);
    ok(said.findings > 0 && strstr(said.finding, "beginning is missing"),
       "one more that is gone is no retention: %s", said.finding);
    rig_write(path, first, len);
    ok(rig_verify(&rig, NULL).findings == 0, "put back, it verifies");
    const char *second = memchr(first, '\n', len);
    rig_write(path, second + 1, len - (size_t) (second + 1 - first));
    said = rig_verify(&rig, NULL);
    ok(said.findings > 0 && strstr(said.finding, "beginning is missing"),
       "nor is its first line alone: %s", said.finding);
    rig_release(&rig);
}

/* Killed between the record and the removal. */
static void test_half_retention(void)
{
    const struct audit_settings all = {.durability = DURABILITY_KILL, .rotate_bytes = 600};
    const struct audit_settings few = {
        .durability = DURABILITY_KILL, .rotate_bytes = 600, .keep_segments = 1};
    struct rig rig;
    char path[128], first[8192];

    rig_init(&rig);
    (void) rig_append(&rig, &all, 9); /* three in each */
    path_of(&rig, 2, path, sizeof(path));
    size_t len = rig_read(path, first, sizeof(first));
    (void) rig_append(&rig, &few, 1);
    ok(len > 0 && !has_segment(&rig, 1) && !has_segment(&rig, 2) &&
           rig_verify(&rig, NULL).findings == 0,
       "retention removes the first segments");
    rig_write(path, first, len);
    struct said said = rig_verify(&rig, NULL);
    ok(said.findings == 0 && strstr(said.note, "did not get to remove"),
       "one that it did not get to is no damage: %s", said.note);
    (void) rig_append(&rig, &few, 3);
    ok(!has_segment(&rig, 2) && rig_verify(&rig, NULL).findings == 0, "and goes the next time");
    rig_release(&rig);
}

/* ---- the head -------------------------------------------------------------------------------- */

static void test_no_head(void)
{
    struct rig rig;

    rig_init(&rig);
    (void) rig_append(&rig, NULL, 3);
    ok(unlink(rig.head) == 0 && strstr(rig_verify(&rig, NULL).finding, "the head is missing"),
       "a head that is gone is found");
    ok(rig_append(&rig, NULL, 1).seq == 5, "the next writer makes it anew from the log");
    struct said said = rig_verify(&rig, NULL);
    ok(said.findings == 0 && said.notes == 1 && strstr(said.note, "the head was missing"),
       "and the log says so: %s", said.note);
    rig_write(rig.head, "nonsense", 8);
    ok(strstr(rig_verify(&rig, NULL).finding, "the head is damaged"), "a damaged head is found");
    ok(rig_append(&rig, NULL, 1).seq == 7 && rig_verify(&rig, NULL).findings == 0,
       "and made anew as well");
    rig_write(rig.head, "nonsense", 8);
    rig_write(rig.log, "nonsense\n", 9);
    struct audit *audit = rig_open(&rig, NULL);
    const struct audit_record record = {.event = "start"};
    struct err err = {0};
    ok(audit && audit_append(audit, &record, NULL, &err) < 0 && err.hint[0],
       "where there is nothing to go on from, it is refused: %s", err.message);
    audit_close(audit);
    rig_release(&rig);
}

/* Whoever cuts the tail leaves a gap that no later record can close. */
static void test_cut_and_go_on(void)
{
    struct rig rig;
    char bytes[8192];

    rig_init(&rig);
    (void) rig_append(&rig, NULL, 5);
    size_t len = rig_read(rig.log, bytes, sizeof(bytes));
    rig_write(rig.log, bytes, len / 2);
    ok(rig_append(&rig, NULL, 2).seq == 8, "numbers that were given out are not given again");
    struct said said = rig_verify(&rig, NULL);
    ok(said.findings >= 1 && said.notes == 1, "the cut stays found: %s; %s", said.finding,
       said.note);
    rig_release(&rig);
}

static void test_no_place(void)
{
    const struct audit_settings settings = {.durability = DURABILITY_KILL};
    struct audit *audit = NULL;
    struct err err = {0};
    struct rig rig;

    ok(audit_open(NULL, &settings, &audit, &err) < 0 && strstr(err.hint, "--audit off"),
       "without a state folder the hint names --audit off");
    rig_init(&rig);
    ok(chmod(rig.dir, 0755) == 0 && audit_open(rig.dir, &settings, &audit, &err) < 0,
       "a state folder that others can read is refused: %s", err.message);
    ok(chmod(rig.dir, 0700) == 0 && audit_open(rig.dir, &settings, &audit, &err) == 0,
       "one that is ours alone is taken");
    audit_close(audit);
    rig_release(&rig);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Reads what there is; each must be the next. */
static bool read_on(struct audit_reader *reader, uint64_t *seq)
{
    struct audit_raw raw;
    struct audit_line line;
    struct err err = {0};
    int rc;

    while ((rc = audit_reader_next(reader, &raw, &err)) > 0)
        if (!raw.is_whole || !audit_line_scan(raw.text, raw.len, &line) || line.seq != ++*seq)
            return false;
    return rc == 0;
}

static void test_follow(void)
{
    const struct audit_settings settings = {.durability = DURABILITY_KILL, .rotate_bytes = 2000};
    struct audit_reader *reader = NULL;
    struct err err = {0};
    uint64_t seq = 0;
    struct rig rig;

    rig_init(&rig);
    ok(audit_reader_open(rig.dir, &reader, &err) == 0 && read_on(reader, &seq) && seq == 0,
       "a log that is not there is empty");
    ok(access(rig.head, F_OK) < 0 && rig_verify(&rig, NULL).findings == 0,
       "and reading makes nothing");
    size_t wrong = 0;
    for (int i = 1; i <= 30; i++) {
        (void) rig_append(&rig, &settings, i % 7);
        struct audit_verdict verdict;
        wrong += rig_verify(&rig, &verdict).findings > 0 || audit_reader_look(reader, &err) < 0 ||
                 !read_on(reader, &seq) || seq != verdict.last_seq;
    }
    ok(wrong == 0 && seq > 80 && has_segment(&rig, 3),
       "a reader that follows sees each record once, across segments");
    audit_reader_close(reader);
    rig_release(&rig);
}

/* What is no line of ours is handed out as such, and does not stop the reader. */
static void test_strange_lines(void)
{
    static char bytes[300000];
    struct audit_reader *reader = NULL;
    struct audit_raw raw;
    struct err err = {0};
    struct rig rig;
    int n_long = 0, n_whole = 0, n_rest = 0;

    rig_init(&rig);
    (void) rig_append(&rig, NULL, 1);
    size_t len = rig_read(rig.log, bytes, sizeof(bytes));
    memset(bytes + len, 'x', 200000);
    (void) snprintf(bytes + len + 200000, 8, "\n\nrest"); /* fits */
    rig_write(rig.log, bytes, len + 200006);
    (void) audit_reader_open(rig.dir, &reader, &err);
    while (audit_reader_next(reader, &raw, &err) > 0) {
        n_long += raw.is_long;
        n_whole += raw.is_whole && !raw.is_long;
        n_rest += !raw.is_whole && raw.len == 4;
    }
    ok(n_long == 1 && n_whole == 2 && n_rest == 1,
       "a line that is too long, an empty one and one without an end are read as such");
    ok(rig_verify(&rig, NULL).findings >= 3, "and each is a finding");
    audit_reader_close(reader);
    rig_release(&rig);
}

static const char sample[] =
    "{\"schema\":\"wasp.audit/1\",\"seq\":7,\"time\":\"2026-01-31T12:00:00.500Z\",\"event\":"
    "\"refused\",\"principal\":\"agent:\\u001b[1mx\",\"decision\":\"deny\",\"rule\":\"a "
    "\xe2\x80\xae"
    "b\",\"prev\":\"0000000000000000000000000000000000000000000000000000000000000000\",\"hash\":"
    "\"0000000000000000000000000000000000000000000000000000000000000000\"}";

static void test_filter(void)
{
    static const struct {
        struct audit_filter filter;
        bool matches;
    } rows[] = {
        {{.event = NULL}, true},
        {{.event = "refused"}, true},
        {{.event = "refuse"}, false},
        {{.event = "start"}, false},
        {{.decision = "deny"}, true},
        {{.decision = "allow"}, false},
        {{.run_id = "x"}, false},
        {{.principal = "agent:\\u001b[1mx"}, true},
        {{.since = "2026-01-31T12:00:00.500Z"}, true},
        {{.since = "2026-01-31T12:00:00.501Z"}, false},
        {{.until = "2026-01-31T12:00:00.500Z"}, false},
        {{.until = "2026-01-31T12:00:00.501Z"}, true},
    };
    struct audit_line line;
    size_t wrong = 0;

    if (!ok(audit_line_scan(sample, sizeof(sample) - 1, &line), "a record with nothing but the "
                                                                "least is one"))
        return;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        wrong += audit_filter_matches(&rows[i].filter, &line) != rows[i].matches;
    ok(wrong == 0, "a filter takes what it names and nothing else");
}

static void test_times(void)
{
    static const struct {
        const char *text, *means; /* NULL: refused */
    } rows[] = {
        {"2026-01-31", "2026-01-31T00:00:00.000Z"},
        {"2026-01-31T12:00:01Z", "2026-01-31T12:00:01.000Z"},
        {"2026-01-31T12:00:01.250Z", "2026-01-31T12:00:01.250Z"},
        {"10m", "2026-01-31T11:50:00.000Z"},
        {"2h", "2026-01-31T10:00:00.000Z"},
        {"2026-01-31T12:00:01", NULL},
        {"9999-01-01", NULL},
        {"2026-13-01", NULL},
        {"2026-01-31T12:00:01+01:00", NULL},
        {"2026-01-31T12:00:01.2Z", NULL},
        {"yesterday", NULL},
        {"", NULL},
        {"unlimited", NULL},
    };
    const uint64_t now_ns = UINT64_C(1769860800) * NS_PER_S; /* 2026-01-31T12:00:00Z */

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        char text[CLOCK_TEXT_SIZE] = "";
        struct err err = {0};
        int rc = audit_filter_time(rows[i].text, "--since", now_ns, text, &err);
        ok(rows[i].means ? rc == 0 && strcmp(text, rows[i].means) == 0
                         : rc < 0 && err.code == ERR_USAGE,
           "the time '%s' is %s", rows[i].text, rows[i].means ? rows[i].means : "refused");
    }
}

static void test_show(void)
{
    _cleanup_(buf_release) struct buf out = BUF_INIT(65536);
    struct audit_line line;

    (void) audit_line_scan(sample, sizeof(sample) - 1, &line);
    int rc = audit_show_line(&line, &out);
    ok(rc == 0 &&
           strcmp(out.data,
                  "2026-01-31T12:00:00.500Z #7      refused "
                  "principal=\"agent:\\u001b[1mx\" decision=deny rule=\"a \\u202eb\"\n") == 0,
       "what is shown cannot steer a terminal");
}

int main(void)
{
    test_rotation();
    test_half_rotation();
    test_in_the_way();
    test_retention();
    test_half_retention();
    test_no_head();
    test_cut_and_go_on();
    test_no_place();
    test_follow();
    test_strange_lines();
    test_filter();
    test_times();
    test_show();
    return done();
}
