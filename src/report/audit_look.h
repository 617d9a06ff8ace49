/*
 * audit_look: for audit_read: what files there are, and how long they are.
 */
#pragma once

#include "report/audit_read.h"

/* Sets the limit to the file's size. 0, or -1 and *err: it is no regular file. */
int audit_source_measure(struct audit_source *source, struct err *err);
