/*
 * changes: what became of overlay directories, as the `changes` of an envelope.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "store/changes.h"

/* All of it lives as long as the envelope is written. */
struct changes_report {
    struct changes changes;
    bool has_diff;
    struct buf diff; /* as far as it fits */
    bool diff_cut;
    bool was_applied; /* apply was tried: `outcome` or `apply_err` holds */
    struct changes_outcome outcome;
    struct err apply_err; /* ERR_NONE: it went well, or was refused */
};

void changes_report_init(struct changes_report *report);
void changes_report_release(struct changes_report *report);
/* Writes the object. */
void changes_report_write(struct json_writer *json, const struct changes_report *report);
/* The members of an outcome; the caller opens and closes the object. */
void changes_outcome_write(struct json_writer *json, const struct changes_outcome *outcome);
