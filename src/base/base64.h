/*
 * base64: the standard alphabet, with padding.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * One group of four characters for the first three bytes, or for as many as there are (at least
 * 1).
 */
void base64_encode_group(const void *bytes, size_t len, char ret_group[4]);
/*
 * Strict: whole groups, padding at the end only, no white space, no stray bits. ret_bytes has room
 * for len / 4 * 3; false, with *ret_len untouched, if the text is not base64.
 */
bool base64_decode(const char *text, size_t len, void *ret_bytes, size_t *ret_len);
