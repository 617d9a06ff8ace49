/*
 * audit: the log of what was asked, decided and done (CONTRACT §8): text, one JSON record a line,
 * each with the hash of the one before.
 *
 * Files, below the state folder (0700; files 0600):
 *
 *     audit/log.jsonl            what is written to
 *     audit/log.00000001.jsonl   older segments, numbered from 1; the chain goes on across them
 *     audit.head                 the head: what the log must end with. Its lock is the log's
 *
 * A record is one line, exactly as audit_line.c writes it: the fields in its table's order, no
 * white space, text escaped as base/json.h does. Its end is
 *
 *     …,"prev":"HEX","hash":"HEX"}<newline>
 *
 * `hash` is the SHA-256 of all bytes of the line before the text `,"hash":"`, as 64 hex digits in
 * lower case. `prev` is the hash of the record with the seq before (of seq 1: 64 zeros). So with
 * other tools, for each line:
 *
 *     printf %s "${line%,\"hash\":\"*}" | sha256sum
 *
 * The head is one JSON object, filled up with spaces to 512 bytes with the newline at the end: seq,
 * hash, segment (the number that log.jsonl will have) and size (of log.jsonl, in bytes) of the last
 * record that was acknowledged, and `next`: hash and end of the one that is being written, else
 * null. A writer holds the head's lock and writes `next`, the record, and the head without `next`.
 * So of every state that a crash leaves it is known what was acknowledged; and a tail that was cut
 * off differs from a record that was never finished, an added line from one that wasp wrote.
 *
 * Retention says what it will remove in a record of its own (`first_seq`, `first_prev`: the first
 * record that stays) before it does so. A log that begins later than its records say was cut.
 *
 * What does not fit the head is never mended silently: the chain goes on from the head, which
 * leaves the gap to be found, and a record (`recovered`) says what was seen.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/digest.h"
#include "base/err.h"
#include "plan/policy.h"

#define AUDIT_MAX_RECORD 65536 /* bytes of a line; texts in a record are cut to keep within */

struct secrets; /* base/redact.h */
struct audit;   /* an open log; opaque */

struct audit_settings {
    enum durability durability;    /* kill: survives kill -9; power: and a power loss */
    uint64_t rotate_bytes;         /* 0: AUDIT_ROTATE_BYTES */
    uint32_t keep_segments;        /* beside log.jsonl; older ones are removed; 0: all are kept */
    const struct secrets *secrets; /* values that no record may show; borrowed; may be NULL */
};
#define AUDIT_ROTATE_BYTES (64ULL << 20)

/*
 * What a record says. NULL, 0 or empty: the field is left out. Texts are redacted (base/redact.h)
 * when they are written.
 */
struct audit_record {
    /*
     * start, end, refused, approval_requested, approved, denied, approval_expired, grant_created,
     * grant_used, grant_spent, grant_revoked, grant_expired, call. The log's own: recovered,
     * retention.
     */
    const char *event;
    const char *run_id;
    const char *principal;
    const char *backend;
    const char *tier;
    const struct digest *policy;    /* of the layers in force */
    const struct digest *request;   /* the request's digest */
    const struct digest *subject;   /* of the module, or of argv */
    const char *subject_kind;       /* "module_sha256", "argv_sha256", "source_sha256" */
    const char *decision;           /* allow, ask, deny */
    const char *rule;               /* "user policy.yaml:12 filesystem.ask" */
    const char *capability, *scope; /* of a call, a grant, a refusal */
    const char *const *grants;      /* ids */
    size_t n_grants;
    const char *approval;
    const char *by;     /* who approved, denied, created, revoked: "uid:1000" */
    const char *reason; /* of the envelope; of a refusal or an ending in words */
    bool has_exit_code;
    uint32_t exit_code;
    bool has_usage;
    uint64_t wall_ms, cpu_ms, max_rss_bytes;
    uint64_t at_ms; /* since 1970: when it happened, if not now (an expiry that is found later) */
};

/* Where the record is, for the envelope. */
struct audit_place {
    uint64_t seq; /* from 1 */
    struct digest hash;
};

/*
 * Opens the log for writing, making what is missing. 0, or -1 and *err (ERR_HOST). state_dir NULL:
 * -1, and the hint names --audit off.
 */
int audit_open(const char *state_dir, const struct audit_settings *settings,
               struct audit **ret_audit, struct err *err);
void audit_close(struct audit *audit); /* NULL: nothing happens */
/*
 * Appends; safe beside other writers, for whom it waits. What a killed writer left unfinished was
 * never acknowledged and is cut off first, which is recorded. When it returns 0 the record will not
 * be lost by what the durability names. -1 and *err (ERR_HOST): it is not in the log. ret_place may
 * be NULL.
 */
int audit_append(struct audit *audit, const struct audit_record *record,
                 struct audit_place *ret_place, struct err *err);
