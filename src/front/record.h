/*
 * record: what the owner changed by a verb, told to the audit.
 */
#pragma once

#include "front/ledger.h"
#include "store/approvals.h"

/*
 * One record, on the disk before this returns. event: grant_created, grant_revoked, approved or
 * denied; grants are those it is about, approval may be NULL. 0, or -1 and *err: it is not in the
 * log. What gives an agent something is then taken back: no grant without a record. What takes
 * something away stands.
 */
int record_change(const struct ledger *ledger, const char *event, const struct approval *approval,
                  const struct grant *grants, size_t n_grants, struct arena *arena,
                  struct err *err);
