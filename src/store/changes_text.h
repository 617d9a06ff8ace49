/*
 * changes_text: putting text where it goes. For store/changes_*.c alone.
 */
#pragma once

#include "store/changes.h"
#include "store/diff.h"

/* 0, or -1 and *err if the descriptor cannot take it. A full buffer is no error, but `cut`. */
int changes_text_put(struct changes_text *text, const char *bytes, size_t len, struct err *err);

/* What differs, with three lines around it, as hunks of a unified diff. 0, or -1 as buf_add. */
int changes_put_hunks(struct buf *into, const struct diff_side *a, const struct diff_side *b);
