/* The `changes` of an envelope: one object, each key once, whatever the guest left. */
#include "report/changes.h"

#include <string.h>

#include "base/cleanup.h"
#include "tap.h"

static struct change entries[] = {
    {.path = "a\xff", .kind = CHANGE_ADDED, .type = CHANGE_FILE, .content = true, .mode = 0644},
    {.path = "b",
     .kind = CHANGE_CHANGED,
     .type = CHANGE_SYMLINK,
     .target = "\x1b",
     .host = {.there = true, .type = CHANGE_FILE},
     .refused = REFUSAL_CHANGED},
};
static struct changes_dir dirs[] = {{.host = "/h", .guest = "/g", .dev = 1, .ino = 2}};
static struct changes_refused refused[] = {
    {.change = {.path = "a\xff"}, .why = REFUSAL_PROTECTED, .rule = ".envrc"}};
static const char *evicted[] = {"01890a5d-ac96-774b-bcce-000000000001"};

static void fill(struct changes_report *report)
{
    changes_report_init(report);
    report->changes = (struct changes){
        .run_id = "01890a5d-ac96-774b-bcce-b302099a8057",
        .kept = true,
        .kept_at = "2026-01-31T12:00:00.000Z",
        .dirs = dirs,
        .n_dirs = 1,
        .counts = {5, 1, 0},
        .entries = entries,
        .n_entries = ARRAY_SIZE(entries),
        .evicted = evicted,
        .n_evicted = 1,
    };
}

/* The object, read again, strictly: no key twice. NULL if it cannot be. */
static struct json_value *write_and_read(const struct changes_report *report, struct buf *text)
{
    struct json_value *document = NULL;
    struct json_writer json;
    struct err err = {0};

    buf_release(text);
    json_writer_init_buf(&json, text);
    changes_report_write(&json, report);
    if (json_finish(&json) < 0 ||
        json_parse(text->data, text->len, "changes", &document, &err) < 0) {
        printf("# %s: %s\n", err.message, text->data ? text->data : "");
        return NULL;
    }
    return document;
}

static int64_t number(const struct json_value *object, const char *key)
{
    const struct json_value *value = json_value_get(object, key);

    return value && json_kind(value) == JSON_KIND_INT ? json_value_int(value) : -1;
}

static bool truth(const struct json_value *object, const char *key)
{
    const struct json_value *value = json_value_get(object, key);

    return value && json_kind(value) == JSON_KIND_BOOL && json_value_bool(value);
}

static void test_kept(void)
{
    _cleanup_(buf_release) struct buf text = BUF_INIT(65536);
    struct changes_report report;

    fill(&report);
    struct json_value *object = write_and_read(&report, &text);
    if (!ok(object != NULL, "what is kept is one object"))
        return;
    ok(number(object, "added") == 5 && truth(object, "kept") && !truth(object, "applied"),
       "with counts, and that it is kept");
    ok(json_value_count(json_value_get(object, "entries")) == 2 && number(object, "omitted") == 4,
       "the first entries, and how many more there are");
    ok(strstr(text.data, "\"path_b64\":\"Yf8=\"") && strstr(text.data, "\"target\":\"\\u001b\""),
       "names and targets that are no text");
    ok(json_value_count(json_value_get(object, "evicted")) == 1, "and what had to go for it");
    ok(!json_value_get(object, "diff") && !json_value_get(object, "outcome"),
       "and nothing that was not asked for");
    json_free(object);
    changes_report_release(&report);
}

static void test_applied(void)
{
    _cleanup_(buf_release) struct buf text = BUF_INIT(65536);
    struct changes_report report;

    fill(&report);
    report.was_applied = true;
    report.outcome = (struct changes_outcome){
        .done = true, .n_applied = 4, .n_refused = 3, .refused = refused, .n_listed = 1};
    struct json_value *object = write_and_read(&report, &text);
    const struct json_value *outcome = object ? json_value_get(object, "outcome") : NULL;
    ok(outcome && truth(object, "applied") && !truth(object, "kept") &&
           number(outcome, "applied") == 4 && number(outcome, "refused") == 3 &&
           number(outcome, "omitted") == 2 && strstr(text.data, "\"reason\":\"protected\"") &&
           strstr(text.data, "\"rule\":\".envrc\""),
       "what was applied, and what was refused, and why");
    if (object)
        json_free(object);
    report.outcome.done = false;
    object = write_and_read(&report, &text);
    ok(object && !truth(object, "applied") && truth(object, "kept") &&
           number(json_value_get(object, "outcome"), "applied") == 0,
       "what was refused as a whole is kept, and nothing of it applied");
    if (object)
        json_free(object);
    (void) err_set(&report.apply_err, ERR_HOST, "no room"); /* always -1 */
    object = write_and_read(&report, &text);
    ok(object && !truth(object, "applied") && strstr(text.data, "\"apply_error\":\"no room\""),
       "what failed says why");
    if (object)
        json_free(object);
    changes_report_release(&report);
}

static void test_diff(void)
{
    _cleanup_(buf_release) struct buf text = BUF_INIT(65536);
    struct changes_report report;

    fill(&report);
    report.has_diff = report.diff_cut = true;
    ok(buf_add_string(&report.diff, "+\xff\n") == 0, "a diff has bytes that are no text");
    struct json_value *object = write_and_read(&report, &text);
    ok(object && truth(object, "diff_truncated") &&
           strstr(text.data, "\"diff\":\"+\xef\xbf\xbd\\n\",\"diff_base64\":\"K/8K\""),
       "it is there as text, as its exact bytes, and said to be cut");
    if (object)
        json_free(object);
    changes_report_release(&report);
}

static void test_nothing(void)
{
    _cleanup_(buf_release) struct buf text = BUF_INIT(65536);
    struct changes_report report;

    changes_report_init(&report);
    report.changes.dirs = dirs;
    report.changes.n_dirs = 1;
    struct json_value *object = write_and_read(&report, &text);
    ok(object && !truth(object, "kept") && number(object, "added") == 0 &&
           json_value_count(json_value_get(object, "entries")) == 0,
       "a run that changed nothing says so");
    if (object)
        json_free(object);
    changes_report_release(&report);
}

int main(void)
{
    test_kept();
    test_applied();
    test_diff();
    test_nothing();
    return done();
}
