/*
 * audit_tail: a log's records at the ends of its files, for those who have no head to go by.
 */
#pragma once

#include "report/audit_head.h"
#include "report/audit_line.h"

/* Whether there is any record. 0, or -1 and *err. */
int audit_tail_exists(int folder, bool *ret_exists, struct err *err);
/*
 * Seq and hash of the last record, and the segment to go on with; the size is not filled in. 0, or
 * -1 and *err: there are files, but nothing at their end is a record.
 */
int audit_tail_find(int folder, struct audit_head *head, struct err *err);
/* The first record of a file: its seq and prev. False if there is none. */
bool audit_tail_first(int folder, const char *name, uint64_t *ret_seq, struct digest *ret_prev);
