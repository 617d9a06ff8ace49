#include "report/audit_told.h"

#include <inttypes.h>
#include <string.h>

#include "base/json.h"

void audit_told_init(struct audit_told *told, bool json)
{
    *told = (struct audit_told){
        .json = json,
        .findings = BUF_INIT(AUDIT_TOLD_MAX_BYTES / 4),
        .notes = BUF_INIT(AUDIT_TOLD_MAX_BYTES / 4),
    };
}

void audit_told_release(struct audit_told *told)
{
    buf_release(&told->findings);
    buf_release(&told->notes);
}

/* ---- one finding ----------------------------------------------------------------------------- */

static int tell_text(const struct audit_finding *finding, struct buf *out)
{
    if (buf_printf(out, "%s%s", finding->is_note ? "note: " : "", finding->file) < 0 ||
        (finding->line > 0 && buf_printf(out, ":%" PRIu64, finding->line) < 0) ||
        (finding->seq > 0 && buf_printf(out, ": seq %" PRIu64, finding->seq) < 0))
        return -1;
    return buf_printf(out, ": %s\n", finding->what);
}

static void put_number(struct json_writer *json, const char *key, uint64_t value)
{
    json_key(json, key);
    json_put_uint(json, value);
}

/* 0 is none. */
static void put_known(struct json_writer *json, const char *key, uint64_t value)
{
    json_key(json, key);
    if (value > 0)
        json_put_uint(json, value);
    else
        json_put_null(json);
}

static void put_string(struct json_writer *json, const char *key, const char *text)
{
    json_key(json, key);
    json_put_string(json, text);
}

/* Objects with a comma behind each but the last, which has a newline. */
static int tell_json(const struct audit_finding *finding, struct buf *out)
{
    struct json_writer json;

    if (out->len > 0)
        out->data[out->len - 1] = ',';
    json_writer_init_buf(&json, out);
    json_open_object(&json);
    put_string(&json, "file", finding->file);
    put_known(&json, "line", finding->line);
    put_known(&json, "seq", finding->seq);
    put_string(&json, "what", finding->what);
    json_close_object(&json);
    return json_finish(&json);
}

void audit_told_hear(const struct audit_finding *finding, void *data)
{
    struct audit_told *told = data;
    uint64_t *count = finding->is_note ? &told->n_notes : &told->n_findings;
    struct buf *out = finding->is_note ? &told->notes : &told->findings;

    if ((*count)++ >= AUDIT_TOLD_MAX || told->failed)
        return;
    told->failed = (told->json ? tell_json : tell_text)(finding, out) < 0;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static int add_text(struct buf *out, const struct buf *told, uint64_t count, const char *what)
{
    if (told->len > 0 && buf_add(out, told->data, told->len) < 0)
        return -1;
    return count > AUDIT_TOLD_MAX
               ? buf_printf(out, "and %" PRIu64 " more %s\n", count - AUDIT_TOLD_MAX, what)
               : 0;
}

static int finish_text(const struct audit_told *told, const struct audit_verdict *verdict,
                       struct buf *out)
{
    char hex[DIGEST_HEX];

    if (add_text(out, &told->notes, told->n_notes, "notes") < 0 ||
        add_text(out, &told->findings, told->n_findings, "findings") < 0)
        return -1;
    if (verdict->findings > 0)
        return buf_printf(out, "damaged: %" PRIu64 " findings in %" PRIu64 " records\n",
                          verdict->findings, verdict->lines);
    if (verdict->lines == 0)
        return buf_add_string(out, "ok: there are no records\n");
    digest_hex(&verdict->last_hash, hex);
    return buf_printf(out, "ok: %" PRIu64 " records, head %" PRIu64 ":%s\n", verdict->lines,
                      verdict->last_seq, hex);
}

static void put_place(struct json_writer *json, const char *key, uint64_t seq,
                      const struct digest *hash)
{
    char hex[DIGEST_HEX];

    json_key(json, key);
    if (seq == 0) {
        json_put_null(json);
        return;
    }
    digest_hex(hash, hex);
    json_open_object(json);
    put_number(json, "seq", seq);
    put_string(json, "hash", hex);
    json_close_object(json);
}

static int add_list(struct buf *out, const char *key, const struct buf *told)
{
    if (buf_printf(out, ",\"%s\":[", key) < 0 ||
        (told->len > 0 && buf_add(out, told->data, told->len - 1) < 0))
        return -1;
    return buf_add_char(out, ']');
}

static int finish_json(const struct audit_told *told, const struct audit_verdict *verdict,
                       struct buf *out)
{
    struct json_writer json;

    json_writer_init_buf(&json, out);
    json_open_object(&json);
    put_string(&json, "schema", "wasp.audit.verify/1");
    put_string(&json, "verdict", verdict->findings > 0 ? "damaged" : "ok");
    put_number(&json, "records", verdict->lines);
    put_number(&json, "n_findings", verdict->findings);
    put_number(&json, "first_seq", verdict->first_seq);
    put_place(&json, "last", verdict->last_seq, &verdict->last_hash);
    put_place(&json, "head", verdict->head_state == HEAD_GOOD ? verdict->head.seq : 0,
              &verdict->head.hash);
    json_close_object(&json);
    if (json_finish(&json) < 0)
        return -1;
    out->len -= strlen("}\n"); /* the lists are put together already */
    return add_list(out, "findings", &told->findings) < 0 ||
                   add_list(out, "notes", &told->notes) < 0
               ? -1
               : buf_add_string(out, "}\n");
}

int audit_told_finish(const struct audit_told *told, const struct audit_verdict *verdict,
                      struct buf *out)
{
    if (told->failed)
        return -1;
    return told->json ? finish_json(told, verdict, out) : finish_text(told, verdict, out);
}
