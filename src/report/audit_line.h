/*
 * audit_line: one record as the bytes of its line, both ways.
 */
#pragma once

#include "base/buf.h"
#include "report/audit.h"
#include "report/audit_scan.h"

/* In the order in which they stand in a line. */
enum audit_field {
    FIELD_SCHEMA,
    FIELD_SEQ,
    FIELD_TIME,
    FIELD_EVENT,
    FIELD_AT,
    FIELD_RUN_ID,
    FIELD_PRINCIPAL,
    FIELD_BACKEND,
    FIELD_TIER,
    FIELD_POLICY,
    FIELD_REQUEST,
    FIELD_MODULE,
    FIELD_ARGV,
    FIELD_SOURCE,
    FIELD_DECISION,
    FIELD_RULE,
    FIELD_CAPABILITY,
    FIELD_SCOPE,
    FIELD_GRANTS,
    FIELD_APPROVAL,
    FIELD_BY,
    FIELD_REASON,
    FIELD_EXIT_CODE,
    FIELD_USAGE,
    FIELD_FIRST_SEQ,
    FIELD_FIRST_PREV,
    FIELD_PREV,
    FIELD_HASH,
    AUDIT_FIELDS
};

/* A line that was read. The spans lie in it. Text is escaped as JSON has it. */
struct audit_line {
    uint64_t seq;
    struct span field[AUDIT_FIELDS]; /* without quotes; `grants` and `usage` with their brackets */
    size_t hashed;                   /* so many bytes at its beginning are under the hash */
};

const char *audit_field_name(enum audit_field field);

/* False if it is not, byte for byte, what audit_line_write could have written; without newline. */
bool audit_line_scan(const char *text, size_t len, struct audit_line *ret_line);
/* What `hash` must be. */
void audit_line_hash(const char *text, const struct audit_line *line, struct digest *ret_hash);

/* What the log itself knows of a record. */
struct audit_link {
    uint64_t seq;
    uint64_t time_ns; /* of the real-time clock */
    struct digest prev;
    uint64_t first_seq; /* of a retention record; 0: it is none */
    struct digest first_prev;
};

/*
 * Adds the line, with its newline, to an empty buffer. 0 and its hash, or -1 and *err. The buffer's
 * maximum should be AUDIT_MAX_RECORD.
 */
int audit_line_write(const struct audit_record *record, const struct audit_link *link,
                     const struct secrets *secrets, struct buf *line, struct digest *ret_hash,
                     struct err *err);
