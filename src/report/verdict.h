/*
 * verdict: the words for a run that was no success. One place, so that the envelope's `error`, its
 * `error_info` and the line on stderr never disagree.
 */
#pragma once

#include "plan/request.h"
#include "run/result.h"

struct verdict_text {
    char code[32];  /* `error_info.code`: the error's kind, the trap's name or the reason */
    struct err err; /* step, message and hint; one line each, whatever the cell sent */
};

/* True if the guest ended by itself with code 0: there is nothing to say. */
bool verdict_is_success(const struct result *result);
/* Fills *ret_verdict for a result that is no success. request may be NULL. */
void verdict_init(struct verdict_text *ret_verdict, const struct result *result,
                  const struct request *request);
/* Adds "message; hint": the line a person reads. 0, or -1 when `into` is full. */
int verdict_line(const struct err *err, struct buf *into);
