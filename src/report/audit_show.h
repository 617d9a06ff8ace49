/*
 * audit_show: a record for people (one line), and for other systems (OCSF).
 *
 * OCSF 1.3.0, one event a line. Every event is of the class API Activity (6003): wasp is asked by a
 * principal to do or to allow something.
 *
 *     time                 `at`, else `time`, in milliseconds
 *     activity_id          1 Create: start, approval_requested, grant_created. 2 Read, 3 Update: a
 *                          call of fs_read, fs_write. 3 Update: approved, denied, grant_used. 4
 *                          Delete: end, grant_spent, _revoked, _expired, approval_expired,
 *                          retention. 99 Other: the rest, activity_name says which
 *     status_id            2 Failure: decision deny or ask, or event refused, denied, recovered, or
 *                          an exit code that is not 0; else 1 Success. status_detail: `reason`
 *     severity_id          2 Low where it failed, 3 Medium for recovered, else 1 Informational
 *     actor.user.name      `by`, else `principal`; without either actor.app_name is wasp
 *     api.operation        `capability` of a call, else `event`; api.request.uid: `run_id`
 *     resources            `capability` and `scope`, as type and name
 *     metadata             uid: `hash`; sequence: `seq`; correlation_uid: `run_id`
 *     raw_data             the record's line as it is: the chain can be verified from the export
 *     unmapped             everything else that the record has, by its own names
 */
#pragma once

#include "base/buf.h"
#include "report/audit_line.h"

/* Each adds a line with its newline. 0, or -1: no memory. */
int audit_show_line(const struct audit_line *line, struct buf *out);
int audit_ocsf_line(const char *text, size_t len, const struct audit_line *line, struct buf *out);
