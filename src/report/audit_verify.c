#include "report/audit_verify.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "report/audit_read.h"

/* What is known from the lines so far. */
struct chain {
    audit_tell *tell;
    void *data;
    struct audit_verdict verdict;
    const struct audit_place *anchor;
    bool anchor_seen;
    char last[DIGEST_HEX];  /* hash of the last record; empty: its line could not be read */
    char first[DIGEST_HEX]; /* prev of the first */
    uint64_t next_seq;      /* 0: any */
    bool is_unfinished;     /* the last line has no newline */
    uint64_t kept_seq;      /* what retention said last; 0: nothing */
    char kept_prev[DIGEST_HEX];
};

static void cleanup_reader(struct audit_reader **reader)
{
    audit_reader_close(*reader);
}

__attribute__((format(printf, 4, 5))) static void tell(struct chain *chain,
                                                       const struct audit_finding *where,
                                                       bool is_note, const char *format, ...)
{
    struct audit_finding finding = *where;
    va_list args;

    va_start(args, format);
    (void) vsnprintf(finding.what, sizeof(finding.what), format, args); /* cut if need be */
    va_end(args);
    finding.is_note = is_note;
    if (is_note)
        chain->verdict.notes++;
    else
        chain->verdict.findings++;
    chain->tell(&finding, chain->data);
}

static void copy_hash(char to[DIGEST_HEX], struct span hash)
{
    memcpy(to, hash.text, AUDIT_HASH_HEX);
    to[AUDIT_HASH_HEX] = '\0';
}

/* ---- one line -------------------------------------------------------------------------------- */

static void check_hash(struct chain *chain, const struct audit_finding *where, const char *text,
                       const struct audit_line *line)
{
    struct digest hash;
    char hex[DIGEST_HEX];

    audit_line_hash(text, line, &hash);
    digest_hex(&hash, hex);
    if (!span_is(line->field[FIELD_HASH], hex))
        tell(chain, where, false, "the record was changed: its hash does not fit what it says");
}

static void check_order(struct chain *chain, const struct audit_finding *where,
                        const struct audit_line *line)
{
    static const char zeros[] = "0000000000000000000000000000000000000000000000000000000000000000";

    if (chain->next_seq == 0 && line->seq == 1 && !span_is(line->field[FIELD_PREV], zeros))
        tell(chain, where, false, "the first record names one before it");
    else if (chain->next_seq == 0)
        return;
    else if (line->seq > chain->next_seq)
        tell(chain, where, false, "records are missing before it: seq %" PRIu64 " to %" PRIu64,
             chain->next_seq, line->seq - 1);
    else if (line->seq < chain->next_seq)
        tell(chain, where, false, "out of order: seq %" PRIu64 " should be here", chain->next_seq);
    else if (chain->last[0] && !span_is(line->field[FIELD_PREV], chain->last))
        tell(chain, where, false, "the record before it is not the one it was written after");
}

static void check_anchor(struct chain *chain, const struct audit_finding *where,
                         const struct audit_line *line)
{
    char hex[DIGEST_HEX];

    if (!chain->anchor || chain->anchor->seq != line->seq)
        return;
    chain->anchor_seen = true;
    digest_hex(&chain->anchor->hash, hex);
    if (!span_is(line->field[FIELD_HASH], hex))
        tell(chain, where, false, "the record's hash is not that of the anchor");
}

/* The log's own reasons are: another one may be made to be looked at. */
static bool is_ascii(struct span span)
{
    for (size_t i = 0; i < span.len; i++)
        if ((unsigned char) span.text[i] >= 0x80)
            return false;
    return span.text != NULL;
}

/* What a record of the log's own says. */
static void take_own(struct chain *chain, const struct audit_finding *where,
                     const struct audit_line *line)
{
    struct span number = line->field[FIELD_FIRST_SEQ];
    struct span reason = line->field[FIELD_REASON];
    struct scan scan = {number.text, number.text ? number.text + number.len : NULL};

    if (span_is(line->field[FIELD_EVENT], "recovered"))
        tell(chain, where, true, "recovered: %.*s", is_ascii(reason) ? (int) reason.len : 0,
             is_ascii(reason) ? reason.text : "");
    if (number.text && span_is(line->field[FIELD_EVENT], "retention") &&
        scan_number(&scan, &chain->kept_seq))
        copy_hash(chain->kept_prev, line->field[FIELD_FIRST_PREV]);
}

static void take_line(struct chain *chain, const struct audit_raw *raw)
{
    struct audit_finding where = {.file = raw->file, .line = raw->line};
    struct audit_verdict *verdict = &chain->verdict;
    struct audit_line line;

    verdict->lines++;
    if (raw->is_long || !audit_line_scan(raw->text, raw->len, &line)) {
        tell(chain, &where, false, "this is not a record as wasp writes them");
        chain->last[0] = '\0';
        chain->next_seq += chain->next_seq > 0;
        return;
    }
    where.seq = line.seq;
    check_hash(chain, &where, raw->text, &line);
    check_order(chain, &where, &line);
    check_anchor(chain, &where, &line);
    take_own(chain, &where, &line);
    if (verdict->first_seq == 0) {
        verdict->first_seq = line.seq;
        copy_hash(chain->first, line.field[FIELD_PREV]);
    }
    verdict->last_seq = line.seq;
    copy_hash(chain->last, line.field[FIELD_HASH]);
    chain->next_seq = line.seq + 1;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void check_beginning(struct chain *chain, const char *file)
{
    const struct audit_finding where = {.file = file, .line = 1, .seq = chain->verdict.first_seq};
    uint64_t first = chain->verdict.first_seq;

    if (first == 0 || (first == 1 && chain->kept_seq == 0))
        return;
    if (chain->kept_seq == 0)
        tell(chain, &where, false,
             "the log's beginning is missing, and no record says that retention removed it");
    else if (first > chain->kept_seq)
        tell(chain, &where, false,
             "the log's beginning is missing: retention kept what is from seq %" PRIu64 " on",
             chain->kept_seq);
    else if (first < chain->kept_seq)
        tell(chain, &where, true, "retention did not get to remove all before seq %" PRIu64,
             chain->kept_seq);
    else if (strcmp(chain->first, chain->kept_prev) != 0)
        tell(chain, &where, false, "the first record is not the one that retention kept");
    else
        tell(chain, &where, true,
             "the chain begins at seq %" PRIu64 ": older segments were removed by retention",
             first);
}

static void check_anchor_seen(struct chain *chain)
{
    const struct audit_place *anchor = chain->anchor;
    const struct audit_verdict *verdict = &chain->verdict;
    char hex[DIGEST_HEX];

    if (!anchor || chain->anchor_seen)
        return;
    const struct audit_finding where = {.file = AUDIT_LOG, .seq = anchor->seq};
    digest_hex(&anchor->hash, hex);
    if (anchor->seq > verdict->last_seq)
        tell(chain, &where, false, "the log ends with seq %" PRIu64 ", before the anchor",
             verdict->last_seq);
    else if (anchor->seq + 1 == verdict->first_seq && strcmp(chain->first, hex) == 0)
        return; /* it was the last one that retention removed */
    else if (anchor->seq < verdict->first_seq)
        tell(chain, &where, false,
             "the log begins with seq %" PRIu64 ", after the anchor: that cannot be checked",
             verdict->first_seq);
    else
        tell(chain, &where, false, "the record of the anchor is not in the log");
}

/* Whether the head's place fits the files: its record ends there, or a crash left it so. */
static bool place_fits(const struct audit_reader *reader, bool is_next)
{
    const struct audit_head *head = &reader->head;
    uint64_t number = audit_reader_next_number(reader), size = reader->log_size;

    if (number == head->segment + 1 && size == 0)
        return true; /* renamed, and the head does not say so yet */
    if (number != head->segment)
        return false;
    if (head->has_next && !is_next)
        return size >= head->size && size <= head->next_size;
    return size == (is_next ? head->next_size : head->size);
}

static void check_good_head(struct chain *chain, const struct audit_reader *reader)
{
    const struct audit_finding where = {.file = AUDIT_HEAD, .seq = reader->head.seq};
    const struct audit_head *head = &reader->head;
    uint64_t last = chain->verdict.last_seq;
    char hash[DIGEST_HEX], next[DIGEST_HEX];

    digest_hex(&head->hash, hash);
    digest_hex(&head->next, next);
    bool is_next = head->has_next && last == head->seq + 1 && strcmp(chain->last, next) == 0;
    if (last < head->seq)
        tell(chain, &where, false,
             "the log ends with seq %" PRIu64 ", its head says %" PRIu64 ": the tail was cut off",
             last, head->seq);
    else if (last > head->seq && !is_next)
        tell(chain, &where, false,
             "the log ends with seq %" PRIu64 ", its head says %" PRIu64
             ": something else added to it",
             last, head->seq);
    else if (last > 0 && !is_next && strcmp(chain->last, hash) != 0)
        tell(chain, &where, false, "the last record is not the one that the head names");
    else if (!place_fits(reader, is_next))
        tell(chain, &where, false, "the log does not end where the head says");
    else if (chain->is_unfinished)
        tell(chain, &where, true, "a record was never finished: the next writer cuts it off");
}

static void check_head(struct chain *chain, const struct audit_reader *reader)
{
    const struct audit_finding where = {.file = AUDIT_HEAD};

    if (reader->head_state == HEAD_GOOD)
        check_good_head(chain, reader);
    else if (reader->head_state == HEAD_BAD)
        tell(chain, &where, false, "the head is damaged: whether the tail was cut cannot be told");
    else if (chain->verdict.lines > 0 || chain->is_unfinished)
        tell(chain, &where, false, "the head is missing: whether the tail was cut cannot be told");
}

/* A line without an end is one that was never acknowledged, if the head says so. */
static void take_unfinished(struct chain *chain, const struct audit_reader *reader,
                            const struct audit_raw *raw)
{
    const struct audit_finding where = {.file = raw->file, .line = raw->line};
    const struct audit_head *head = &reader->head;
    bool is_last = reader->at + 1 == reader->n_sources && reader->sources[reader->at].number == 0;

    if (is_last && reader->head_state == HEAD_GOOD && head->has_next &&
        chain->verdict.last_seq == head->seq && reader->log_size <= head->next_size)
        chain->is_unfinished = true;
    else
        tell(chain, &where, false, "the line has no end");
}

int audit_verify(const char *state_dir, const struct audit_place *anchor, audit_tell *on_finding,
                 void *data, struct audit_verdict *ret_verdict, struct err *err)
{
    struct chain chain = {.tell = on_finding, .data = data, .anchor = anchor};
    _cleanup_(cleanup_reader) struct audit_reader *reader = NULL;
    struct audit_raw raw;
    int rc;

    if (audit_reader_open(state_dir, &reader, err) < 0)
        return -1;
    while ((rc = audit_reader_next(reader, &raw, err)) > 0) {
        if (raw.is_whole)
            take_line(&chain, &raw);
        else
            take_unfinished(&chain, reader, &raw);
    }
    if (rc < 0)
        return -1;
    if (reader->n_sources > 0)
        check_beginning(&chain, reader->sources[0].name);
    check_anchor_seen(&chain);
    check_head(&chain, reader);
    chain.verdict.head_state = reader->head_state;
    chain.verdict.head = reader->head;
    if (chain.last[0])
        (void) digest_from_hex(chain.last, &chain.verdict.last_hash); /* it was scanned as one */
    *ret_verdict = chain.verdict;
    return 0;
}

bool audit_anchor_parse(const char *text, struct audit_place *ret_anchor)
{
    struct scan scan = {text, text + strlen(text)};
    struct audit_place anchor = {0};

    if (!scan_number(&scan, &anchor.seq) || anchor.seq == 0 || !scan_literal(&scan, ":", 1) ||
        !digest_from_hex(scan.at, &anchor.hash))
        return false;
    *ret_anchor = anchor;
    return true;
}
