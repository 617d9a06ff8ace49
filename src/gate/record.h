/*
 * record: what the gate writes into the audit log.
 */
#pragma once

#include "gate/gate.h"

/* How much the log matters for this request. */
enum audit_mode record_mode(const struct gate *gate);
/*
 * Opens the log. 0, also where it could not be opened and that is put up with; -1 and *err where it
 * is required.
 */
int record_open(struct gate *gate, struct err *err);
/* What every record of this request says. */
void record_init(const struct gate *gate, const char *event, struct audit_record *ret_record);
/* Likewise: 0, or -1 and *err where it is required and cannot be written. */
int record_write(struct gate *gate, const struct audit_record *record, struct err *err);
/* One grant: created, revoked, expired. */
int record_grant(struct gate *gate, const char *event, const struct grant *grant, uint64_t at_ms,
                 struct err *err);
/* One use of it; and that it is spent, if that was the last. */
int record_use(struct gate *gate, const struct grant *grant, struct err *err);
/* What ended by itself since anybody looked: grants and requests that waited. */
int record_expired(struct gate *gate, uint64_t now_ms, struct err *err);
/* "user policy.yaml:12 filesystem.ask"; in the arena, or NULL if nothing decided. */
const char *record_rule(const struct gate *gate, const struct judgement *judgement,
                        const struct need *need);
