/*
 * grants: grants and requests for approval, as JSON and in words.
 */
#pragma once

#include "base/json.h"
#include "store/approvals.h"

/* The members of an object that the caller opens and closes. */
void grant_write(struct json_writer *json, const struct grant *grant, uint64_t now_ms);
void approval_write(struct json_writer *json, const struct approval *approval);

/*
 * A few lines for a person, with everything escaped that could deceive him (base/visible.h). 0, or
 * -1 as buf_add.
 */
int grant_show(struct buf *text, const struct grant *grant, uint64_t now_ms);
int approval_show(struct buf *text, const struct approval *approval, uint64_t now_ms);
