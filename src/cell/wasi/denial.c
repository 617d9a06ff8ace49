#include "cell/wasi/denial.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

/*
 * File names hold any byte, and what is told here ends on a terminal: no control characters, no
 * half of a character.
 */
static void make_printable(char *text)
{
    size_t len = strlen(text);

    for (size_t at = 0; at < len;) {
        size_t skip = 1;
        size_t step = utf8_next(text + at, len - at, &skip);
        unsigned char c = (unsigned char) text[at];
        bool is_c1 = step == 2 && c == 0xc2 && (unsigned char) text[at + 1] < 0xa0;
        if (step == 0 || c < 0x20 || c == 0x7f || is_c1) {
            step = step ? step : skip;
            memset(text + at, '?', step);
        }
        at += step;
    }
}

/* "NAME", "PATH" or "NAME/PATH", cut where it is full. */
static void name_target(const char *name, const char *path, char *ret_target, size_t size)
{
    if (path == NULL)
        path = "";
    if (path[0] == '/')
        name = "";
    size_t len = strlen(name);
    const char *slash = len > 0 && name[len - 1] != '/' && path[0] != '\0' ? "/" : "";

    (void) snprintf(ret_target, size, "%s%s%s", name, slash, path); /* cut is fine */
    make_printable(ret_target);
}

void wasi_deny(struct wasi *wasi, const char *action, const struct fd_entry *entry,
               const char *path, const char *rule)
{
    wasi->counters.denials++;
    if (wasi->config.denied == NULL)
        return;

    struct tell_denial denial = {.action = ""};
    bool named = entry->grant != GRANT_NONE && (entry->is_preopen || path == NULL);
    (void) snprintf(denial.action, sizeof(denial.action), "%s", action); /* ours, and short */
    (void) snprintf(denial.rule, sizeof(denial.rule), "%s", rule);       /* likewise */
    name_target(named ? wasi->grants[entry->grant].name : "", path, denial.target,
                sizeof(denial.target));
    wasi->config.denied(wasi->config.data, &denial);
}
