/*
 * utf8: judging and mending text that came from outside.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * True if all of it is well-formed UTF-8 (no surrogates, no overlong forms, nothing above
 * U+10FFFF).
 */
bool utf8_valid(const char *text, size_t len);
/*
 * The length of the next well-formed character at text[0], or 0 if there is none; *ret_skip is
 * then how many bytes one U+FFFD stands for (maximal subpart, as the Unicode standard recommends).
 * len is at least 1.
 */
size_t utf8_next(const char *text, size_t len, size_t *ret_skip);
/*
 * The largest n <= len at which text can be cut without parting a character. Invalid bytes do not
 * move the cut.
 */
size_t utf8_cut(const char *text, size_t len);
