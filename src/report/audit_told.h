/*
 * audit_told: what verify found, as text or as one JSON object.
 */
#pragma once

#include "base/buf.h"
#include "report/audit_verify.h"

#define AUDIT_TOLD_MAX 1000 /* findings, and as many notes; how many more there were is said */
#define AUDIT_TOLD_MAX_BYTES ((size_t) 4 << 20)

struct audit_told {
    bool json;
    bool failed; /* no memory */
    struct buf findings, notes;
    uint64_t n_findings, n_notes;
};

void audit_told_init(struct audit_told *told, bool json);
void audit_told_release(struct audit_told *told);
/* For audit_verify; data is the struct. */
void audit_told_hear(const struct audit_finding *finding, void *data);
/* Adds all of it. 0, or -1: no memory. */
int audit_told_finish(const struct audit_told *told, const struct audit_verdict *verdict,
                      struct buf *out);
