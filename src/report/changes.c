#include "report/changes.h"

#include "base/utf8.h"

/* More than this nobody reads in an envelope; 'wasp changes diff' has all of it. */
#define DIFF_MAX_BYTES ((size_t) 1 << 20)

void changes_report_init(struct changes_report *report)
{
    *report = (struct changes_report){.diff = BUF_INIT(DIFF_MAX_BYTES)};
}

void changes_report_release(struct changes_report *report)
{
    buf_release(&report->diff);
}

static void write_bool(struct json_writer *json, const char *key, bool value)
{
    json_key(json, key);
    json_put_bool(json, value);
}

static void write_uint(struct json_writer *json, const char *key, uint64_t value)
{
    json_key(json, key);
    json_put_uint(json, value);
}

static void write_string(struct json_writer *json, const char *key, const char *text)
{
    json_key(json, key);
    json_put_string(json, text);
}

static void write_entries(struct json_writer *json, const struct changes *changes)
{
    uint64_t total = changes_total(changes);

    json_key(json, "entries");
    json_open_array(json);
    for (size_t i = 0; i < changes->n_entries; i++)
        change_write(json, &changes->entries[i]);
    json_close_array(json);
    if (total > changes->n_entries)
        write_uint(json, "omitted", total - changes->n_entries);
}

static void write_evicted(struct json_writer *json, const struct changes *changes)
{
    if (changes->n_evicted == 0)
        return;
    json_key(json, "evicted");
    json_open_array(json);
    for (size_t i = 0; i < changes->n_evicted; i++)
        json_put_string(json, changes->evicted[i]);
    json_close_array(json);
}

static void write_refusal(struct json_writer *json, const struct changes_refused *refused)
{
    json_open_object(json);
    change_write_head(json, &refused->change);
    write_string(json, "reason", change_refusals[refused->why].name);
    write_string(json, "text", change_refusals[refused->why].text);
    if (refused->rule)
        write_string(json, "rule", refused->rule);
    json_close_object(json);
}

void changes_outcome_write(struct json_writer *json, const struct changes_outcome *outcome)
{
    write_bool(json, "done", outcome->done);
    write_bool(json, "resumed", outcome->resumed);
    write_uint(json, "applied", outcome->done ? outcome->n_applied : 0);
    write_uint(json, "already", outcome->n_already);
    write_uint(json, "refused", outcome->n_refused);
    json_key(json, "refusals");
    json_open_array(json);
    for (size_t i = 0; i < outcome->n_listed; i++)
        write_refusal(json, &outcome->refused[i]);
    json_close_array(json);
    if (outcome->n_refused > outcome->n_listed)
        write_uint(json, "omitted", outcome->n_refused - outcome->n_listed);
}

static void write_applied(struct json_writer *json, const struct changes_report *report)
{
    write_bool(json, "applied", report->was_applied && report->outcome.done);
    if (!report->was_applied)
        return;
    if (report->apply_err.code != ERR_NONE) {
        write_string(json, "apply_error", report->apply_err.message);
        return;
    }
    json_key(json, "outcome");
    json_open_object(json);
    changes_outcome_write(json, &report->outcome);
    json_close_object(json);
}

/* As text and, where text cannot hold it, the exact bytes beside it. */
static void write_diff(struct json_writer *json, const struct changes_report *report)
{
    const char *bytes = report->diff.data ? report->diff.data : "";

    json_key(json, "diff");
    json_put_text(json, bytes, report->diff.len);
    if (!utf8_valid(bytes, report->diff.len)) {
        json_key(json, "diff_base64");
        json_put_base64(json, bytes, report->diff.len);
    }
    write_bool(json, "diff_truncated", report->diff_cut);
}

void changes_report_write(struct json_writer *json, const struct changes_report *report)
{
    json_open_object(json);
    changes_write(json, &report->changes);
    /* what is applied is no longer kept, but for its record */
    write_bool(json, "kept", report->changes.kept && !report->outcome.done);
    write_entries(json, &report->changes);
    write_evicted(json, &report->changes);
    write_applied(json, report);
    if (report->has_diff)
        write_diff(json, report);
    json_close_object(json);
}
