#include "report/audit_clean.h"

#include <stdbool.h>
#include <string.h>

#include "base/redact.h"
#include "base/utf8.h"

size_t audit_clean_text(const char *text, size_t max, const struct secrets *secrets,
                        char ret_text[AUDIT_TEXT_ROOM])
{
    static const char more[] = "...";
    size_t len = strnlen(text, AUDIT_TEXT_ROOM);
    bool is_cut = len == AUDIT_TEXT_ROOM;

    if (is_cut)
        len--;
    memcpy(ret_text, text, len);
    ret_text[len] = '\0';
    /* before the cut, which could leave half a secret; whether anything was taken is no matter */
    (void) redact_text(ret_text, AUDIT_TEXT_ROOM, secrets);
    len = strlen(ret_text);
    if (len <= max && !is_cut)
        return len;
    size_t kept = max - (sizeof(more) - 1);
    len = utf8_cut(ret_text, len < kept ? len : kept);
    memcpy(ret_text + len, more, sizeof(more));
    return len + sizeof(more) - 1;
}
