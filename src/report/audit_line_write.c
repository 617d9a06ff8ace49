#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "report/audit_clean.h"
#include "report/audit_line.h"

/*
 * How many bytes each text may have. Escaping makes six of one; all of them together stay below
 * AUDIT_MAX_RECORD.
 */
#define MAX_WORD 64
#define MAX_NAME 512
#define MAX_LONG 2048
#define MAX_GRANTS 64 /* ids; how many more there were is said behind them */
#define MAX_GRANT 40
#define FIXED_BYTES 4096 /* keys, digests, times, numbers */

_Static_assert(6 * (7 * MAX_WORD + 2 * MAX_NAME + 3 * MAX_LONG + (MAX_GRANTS + 1) * MAX_GRANT) +
                       FIXED_BYTES <
                   AUDIT_MAX_RECORD,
               "a record always fits, whatever its texts are");

struct writer {
    struct json_writer json;
    const struct secrets *secrets;
};

static uint64_t bounded(uint64_t value)
{
    return value < AUDIT_MAX_NUMBER ? value : AUDIT_MAX_NUMBER;
}

static void put_clean(struct writer *writer, const char *text, size_t max)
{
    char clean[AUDIT_TEXT_ROOM];
    size_t len = audit_clean_text(text, max, writer->secrets, clean);

    json_put_text(&writer->json, clean, len);
}

static void put_text(struct writer *writer, enum audit_field field, const char *text, size_t max)
{
    if (!text || !text[0])
        return;
    json_key(&writer->json, audit_field_name(field));
    put_clean(writer, text, max);
}

static void put_digest(struct writer *writer, enum audit_field field, const struct digest *digest)
{
    char hex[DIGEST_HEX];

    if (!digest)
        return;
    digest_hex(digest, hex);
    json_key(&writer->json, audit_field_name(field));
    json_put_string(&writer->json, hex);
}

static void put_number(struct writer *writer, enum audit_field field, uint64_t value)
{
    json_key(&writer->json, audit_field_name(field));
    json_put_uint(&writer->json, bounded(value));
}

static void put_time(struct writer *writer, enum audit_field field, uint64_t time_ns)
{
    char text[CLOCK_TEXT_SIZE];

    clock_format(time_ns, text);
    json_key(&writer->json, audit_field_name(field));
    json_put_string(&writer->json, text);
}

static void put_subject(struct writer *writer, const struct audit_record *record)
{
    for (enum audit_field i = FIELD_MODULE; record->subject && i <= FIELD_SOURCE; i++)
        if (strcmp(record->subject_kind, audit_field_name(i)) == 0) {
            put_digest(writer, i, record->subject);
            return;
        }
    assert(!record->subject); /* a kind that no field is for */
}

static void put_grants(struct writer *writer, const struct audit_record *record)
{
    char more[MAX_GRANT];

    if (record->n_grants == 0)
        return;
    json_key(&writer->json, audit_field_name(FIELD_GRANTS));
    json_open_array(&writer->json);
    for (size_t i = 0; i < record->n_grants && i < MAX_GRANTS; i++)
        put_clean(writer, record->grants[i], MAX_GRANT);
    if (record->n_grants > MAX_GRANTS) {
        (void) snprintf(more, sizeof(more), "and %zu more", /* fits */
                        record->n_grants - MAX_GRANTS);
        json_put_string(&writer->json, more);
    }
    json_close_array(&writer->json);
}

static void put_usage(struct writer *writer, const struct audit_record *record)
{
    struct json_writer *json = &writer->json;

    json_key(json, audit_field_name(FIELD_USAGE));
    json_open_object(json);
    json_key(json, "wall_ms");
    json_put_uint(json, bounded(record->wall_ms));
    json_key(json, "cpu_ms");
    json_put_uint(json, bounded(record->cpu_ms));
    json_key(json, "max_rss_bytes");
    json_put_uint(json, bounded(record->max_rss_bytes));
    json_close_object(json);
}

/* Who asked for what. */
static void put_question(struct writer *writer, const struct audit_record *record)
{
    put_text(writer, FIELD_EVENT, record->event, MAX_WORD);
    if (record->at_ms > 0 && record->at_ms <= UINT64_MAX / NS_PER_MS)
        put_time(writer, FIELD_AT, record->at_ms * NS_PER_MS);
    put_text(writer, FIELD_RUN_ID, record->run_id, MAX_WORD);
    put_text(writer, FIELD_PRINCIPAL, record->principal, MAX_NAME);
    put_text(writer, FIELD_BACKEND, record->backend, MAX_WORD);
    put_text(writer, FIELD_TIER, record->tier, MAX_WORD);
    put_digest(writer, FIELD_POLICY, record->policy);
    put_digest(writer, FIELD_REQUEST, record->request);
    put_subject(writer, record);
}

/* What was decided, and how it went. */
static void put_answer(struct writer *writer, const struct audit_record *record)
{
    put_text(writer, FIELD_DECISION, record->decision, MAX_WORD);
    put_text(writer, FIELD_RULE, record->rule, MAX_LONG);
    put_text(writer, FIELD_CAPABILITY, record->capability, MAX_WORD);
    put_text(writer, FIELD_SCOPE, record->scope, MAX_LONG);
    put_grants(writer, record);
    put_text(writer, FIELD_APPROVAL, record->approval, MAX_WORD);
    put_text(writer, FIELD_BY, record->by, MAX_NAME);
    put_text(writer, FIELD_REASON, record->reason, MAX_LONG);
    if (record->has_exit_code)
        put_number(writer, FIELD_EXIT_CODE, record->exit_code);
    if (record->has_usage)
        put_usage(writer, record);
}

/* Takes the object's end off again, hashes what is there, and ends it with the hash. */
static int seal(struct buf *line, struct digest *ret_hash)
{
    char hex[DIGEST_HEX];
    struct sha256 sha;

    line->len -= strlen("}\n");
    sha256_init(&sha);
    sha256_add(&sha, line->data, line->len);
    sha256_finish(&sha, ret_hash);
    digest_hex(ret_hash, hex);
    return buf_printf(line, ",\"hash\":\"%s\"}\n", hex);
}

int audit_line_write(const struct audit_record *record, const struct audit_link *link,
                     const struct secrets *secrets, struct buf *line, struct digest *ret_hash,
                     struct err *err)
{
    struct writer writer;

    assert(record->event && record->event[0] && line->len == 0);
    writer.secrets = secrets;
    json_writer_init_buf(&writer.json, line);
    json_open_object(&writer.json);
    json_key(&writer.json, "schema");
    json_put_string(&writer.json, "wasp.audit/1");
    put_number(&writer, FIELD_SEQ, link->seq);
    put_time(&writer, FIELD_TIME, link->time_ns);
    put_question(&writer, record);
    put_answer(&writer, record);
    if (link->first_seq > 0) {
        put_number(&writer, FIELD_FIRST_SEQ, link->first_seq);
        put_digest(&writer, FIELD_FIRST_PREV, &link->first_prev);
    }
    put_digest(&writer, FIELD_PREV, &link->prev);
    json_close_object(&writer.json);
    if (json_finish(&writer.json) < 0 || seal(line, ret_hash) < 0)
        return err_no_memory(err);
    return 0;
}
