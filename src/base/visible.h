/*
 * visible: text from others, for a person's eyes. What it shows is what it is: nothing in it can
 * move the cursor, turn the order of characters, be there unseen or paint over what stands beside.
 */
#pragma once

#include "base/buf.h"

#define VISIBLE_SPACES 8 /* in a row; with more, the rest of a line could look like the next one */

/*
 * Adds text as one line: control characters, line ends included, as \n, \t or \x1b; characters that
 * have no width, look like a space, join the one before them or steer the order, as \u{202e}; bytes
 * that are not UTF-8, and spaces beyond VISIBLE_SPACES, as \xff. All else, a backslash too, stays.
 * 0, or -1 as buf_add.
 */
int visible_add(struct buf *into, const char *text);
