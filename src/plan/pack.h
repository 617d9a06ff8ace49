/*
 * pack: a plan as flat bytes and back. Used on both sides of the memfd, so it needs nothing but
 * libc.
 */
#pragma once

#include "base/buf.h"
#include "plan/plan.h"

#define PACK_MAX_BYTES (8 * 1024 * 1024)

/*
 * Adds the packed plan to `into`; a NULL string becomes an empty one. 0, or -1 and *err (too
 * large).
 */
int plan_pack(const struct plan *plan, struct buf *into, struct err *err);
/*
 * Fills *ret_plan with pointers into bytes (which must stay, writable is not needed) and into one
 * allocation that begins at ret_plan->args and is meant to live until the process ends. Every
 * length is checked: -1 and *err if the bytes are not exactly a packed plan.
 */
int plan_unpack(const void *bytes, size_t len, struct plan *ret_plan, struct err *err);
