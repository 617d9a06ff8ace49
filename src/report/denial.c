#include "report/denial.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "plan/door.h"
#include "plan/protected.h"

/*
 * What to grant or to do instead. A rule that is not here has no remedy.
 */
static const struct rule_hint {
    const char *rule;
    const char *hint;
} rule_hints[] = {
    {RULE_OUTSIDE, "grant the directory that holds it with --allow-dir"},
    {RULE_READ_ONLY, "grant its directory for writing: --allow-dir HOST::GUEST:rw"},
    {RULE_ABSOLUTE_LINK, "make the link's target relative"},
    {RULE_SPECIAL, "use a regular file or a directory"},
    {RULE_PROTECTED, "the host may run it later; if that is wanted: --unprotect NAME"},
    {RULE_CAPABILITY, "give the run the capability: --capability NAME"},
    {RULE_COMMAND, "name the program and its arguments: --command 'PROGRAM ARGS'"},
};

/* Which name to give, where the path tells: it need not begin at the grant. */
static const char *rule_behind(const struct tell_denial *denial)
{
    char target[sizeof(denial->target) + 1];
    size_t len = strnlen(denial->target, sizeof(denial->target));

    memcpy(target, denial->target, len);
    target[len] = '\0';
    return strncmp(denial->rule, RULE_PROTECTED, sizeof(denial->rule)) == 0
               ? protected_move(target, NULL)
               : NULL;
}

static const char *hint_of(const struct tell_denial *denial)
{
    for (size_t i = 0; i < ARRAY_SIZE(rule_hints); i++)
        if (strncmp(denial->rule, rule_hints[i].rule, sizeof(denial->rule)) == 0)
            return rule_hints[i].hint;
    return NULL;
}

static void write_hint(struct json_writer *json, const struct tell_denial *denial)
{
    const char *rule = rule_behind(denial);
    char hint[128];

    if (rule == NULL) {
        json_put_string(json, hint_of(denial));
        return;
    }
    (void) snprintf(hint, sizeof(hint),
                    "the host may run it later; if that is wanted: --unprotect %s",
                    rule); /* fits */
    json_put_string(json, hint);
}

/* An array of char from a cell need not end, and need not be UTF-8. */
static void write_told(struct json_writer *json, const char *key, const char *text, size_t size)
{
    json_key(json, key);
    json_put_text(json, text, strnlen(text, size));
}

/* What was refused at the door is named as its calls are; WASI has none of these names. */
static bool is_of_door(const struct tell_denial *denial)
{
    char action[sizeof(denial->action) + 1];

    memcpy(action, denial->action, sizeof(denial->action));
    action[sizeof(denial->action)] = '\0';
    return door_find(action) != 0;
}

void denial_write(struct json_writer *json, const struct tell_denial *denial)
{
    json_open_object(json);
    json_key(json, "layer");
    json_put_string(json, is_of_door(denial) ? "door" : "wasi");
    write_told(json, "action", denial->action, sizeof(denial->action));
    write_told(json, "target", denial->target, sizeof(denial->target));
    write_told(json, "rule", denial->rule, sizeof(denial->rule));
    json_key(json, "hint");
    write_hint(json, denial);
    json_close_object(json);
}
