/*
 * audit_filter: which records are wanted.
 */
#pragma once

#include "base/clock.h"
#include "report/audit_line.h"

/* NULL or empty: all of them. Texts are as audit_filter_text makes them. */
struct audit_filter {
    const char *event, *run_id, *principal, *decision;
    char since[CLOCK_TEXT_SIZE]; /* at or after it */
    char until[CLOCK_TEXT_SIZE]; /* before it */
};

bool audit_filter_matches(const struct audit_filter *filter, const struct audit_line *line);
/* A text as it would stand in a record. 0, or -1 and *err: no memory. */
int audit_filter_text(const char *text, struct arena *arena, const char **ret_text,
                      struct err *err);
/*
 * "2026-01-31", "2026-01-31T12:00:00Z", with milliseconds or without, in UTC; or how long ago:
 * "10m", "2h". 0, or -1 and *err (ERR_USAGE); `what` names the option.
 */
int audit_filter_time(const char *text, const char *what, uint64_t now_ns,
                      char ret_time[CLOCK_TEXT_SIZE], struct err *err);
