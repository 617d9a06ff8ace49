/*
 * audit: the log of what was asked, decided and done (CONTRACT §8). Text, one JSON record a line,
 * each with the hash of the one before. Append-only: STATE/audit/log.jsonl, older segments beside
 * it; the head is kept apart (STATE/audit.head) and finds a tail that was cut off.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/digest.h"
#include "base/err.h"
#include "plan/policy.h"

#define AUDIT_MAX_RECORD 65536 /* bytes of a line; texts in a record are cut to keep within */

struct audit; /* an open log; opaque */

struct audit_settings {
    enum durability durability; /* kill: survives kill -9; power: and a power loss */
    uint64_t rotate_bytes;      /* 0: AUDIT_ROTATE_BYTES */
    uint32_t keep_segments;     /* older ones are removed, the chain goes on; 0: all are kept */
};
#define AUDIT_ROTATE_BYTES (64ULL << 20)

/*
 * What a record says. NULL, 0 or empty: the field is left out. Texts are redacted (base/redact.h)
 * when they are written.
 */
struct audit_record {
    const char
        *event; /* start, end, refused, approval_requested, approved, denied, approval_expired,
                          grant_created, grant_used, grant_spent, grant_revoked, grant_expired, call */
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
    uint64_t at_ms; /* when it happened, if that was not now (an expiry that is found later) */
};

/* Where the record is, for the envelope. */
struct audit_place {
    uint64_t seq; /* from 1 */
    struct digest hash;
};

/*
 * Opens the log for writing; what a killed writer left unfinished at its end was never acknowledged
 * and is cut off, which is recorded. 0, or -1 and *err (ERR_HOST). state_dir NULL: -1, and the hint
 * names --audit off.
 */
int audit_open(const char *state_dir, const struct audit_settings *settings,
               struct audit **ret_audit, struct err *err);
void audit_close(struct audit *audit); /* NULL: nothing happens */
/*
 * Appends; safe beside other writers. When it returns 0 the record will not be lost by what the
 * durability names. -1 and *err: it is not in the log.
 */
int audit_append(struct audit *audit, const struct audit_record *record,
                 struct audit_place *ret_place, struct err *err);
