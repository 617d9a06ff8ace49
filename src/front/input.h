/*
 * input: a text of the caller's, whole, from a file or from standard input.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

/*
 * Adds what the file holds, or standard input for "-", to text, up to its maximum and no further: a
 * caller who names one byte more than it takes sees that there was too much. A symlink is the
 * owner's, and is followed; what is no regular file is refused, and keeps nobody waiting. `what`
 * names it in messages: "manifest". 0, or -1 and *err. SIGINT, SIGTERM and SIGHUP, which the caller
 * has blocked, end the wait for standard input: -1 and *ret_signal.
 */
int input_read(const char *path, const char *what, struct buf *text, int *ret_signal,
               struct err *err);
