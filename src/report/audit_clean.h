/*
 * audit_clean: text from outside as it may stand in a record.
 */
#pragma once

#include <stddef.h>

struct secrets; /* base/redact.h */

#define AUDIT_TEXT_ROOM 16384 /* of a text so many bytes are looked at */

/*
 * Copies text without what must not be seen, and of that at most max bytes, with "..." at the end
 * if there was more. Returns its length. Bytes that are no UTF-8 and control characters are for the
 * writer of JSON to mend.
 */
size_t audit_clean_text(const char *text, size_t max, const struct secrets *secrets,
                        char ret_text[AUDIT_TEXT_ROOM]);
