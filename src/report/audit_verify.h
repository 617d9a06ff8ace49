/*
 * audit_verify: whether the log is what wasp wrote: each line, the chain, the head.
 */
#pragma once

#include "report/audit.h"
#include "report/audit_head.h"

struct audit_finding {
    bool is_note;     /* worth knowing, and nothing wrong */
    const char *file; /* "log.jsonl", "audit.head" */
    uint64_t line;    /* in the file; 0: not of a line */
    uint64_t seq;     /* 0: not known */
    char what[256];
};

typedef void audit_tell(const struct audit_finding *finding, void *data);

struct audit_verdict {
    uint64_t lines; /* that were looked at */
    uint64_t findings, notes;
    uint64_t first_seq; /* 0: there is no record */
    uint64_t last_seq;
    struct digest last_hash;
    enum audit_head_state head_state;
    struct audit_head head; /* if HEAD_GOOD */
};

/*
 * Looks at all of it and tells each finding, in the order of the files, then those of the head.
 * anchor: a seq and a hash that were kept elsewhere and must be in the log; may be NULL. 0 whatever
 * was found, or -1 and *err: it could not be read.
 */
int audit_verify(const char *state_dir, const struct audit_place *anchor, audit_tell *tell,
                 void *data, struct audit_verdict *ret_verdict, struct err *err);

/* "SEQ:HASH". False if it is not that. */
bool audit_anchor_parse(const char *text, struct audit_place *ret_anchor);
