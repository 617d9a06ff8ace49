/* Refusals in words, declared in decide.h. */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/utf8.h"
#include "plan/decide.h"

/* Of a name or reason in a message; the rest of the message must keep its room. */
#define SHOWN_BYTES 160
#define PLAIN_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./:,+@%="
#define GRANT_COMMAND "a grant would allow it: wasp grant create --holder %s --capability %s"

/* ---- pieces ---------------------------------------------------------------------------------- */

/* A text that fits; its end is what it gives up. err_set escapes what must not be shown raw. */
struct shown {
    char text[SHOWN_BYTES + 4];
};

static const char *show(struct shown *shown, const char *text)
{
    size_t len = strlen(text);

    if (len <= SHOWN_BYTES) {
        memcpy(shown->text, text, len + 1);
        return shown->text;
    }
    len = SHOWN_BYTES;
    while (len > SHOWN_BYTES - 4 && ((unsigned char) text[len] & 0xc0) == 0x80)
        len--; /* not within a character */
    memcpy(shown->text, text, len);
    memcpy(shown->text + len, "...", 4);
    return shown->text;
}

static bool needs_escapes(const char *text)
{
    size_t len = strlen(text);

    for (size_t i = 0; i < len; i++)
        if ((unsigned char) text[i] < 0x20 || text[i] == 0x7f)
            return true;
    return !utf8_valid(text, len);
}

/* $'a\x0ab': bytes that no terminal should see. */
static int quote_escaped(struct buf *into, const char *text)
{
    int rc = buf_add_string(into, "$'");

    for (; rc == 0 && *text; text++) {
        unsigned char c = (unsigned char) *text;
        rc = c < 0x20 || c >= 0x7f    ? buf_printf(into, "\\x%02x", c)
             : c == '\'' || c == '\\' ? buf_printf(into, "\\%c", c)
                                      : buf_add_char(into, (char) c);
    }
    return rc == 0 ? buf_add_char(into, '\'') : rc;
}

/* As a word for a shell; -1: it does not fit. */
static int quote(struct buf *into, const char *text)
{
    if (text[0] && text[strspn(text, PLAIN_CHARACTERS)] == '\0')
        return buf_add_string(into, text);
    if (needs_escapes(text))
        return quote_escaped(into, text);
    int rc = buf_add_char(into, '\'');
    for (; rc == 0 && *text; text++)
        rc = *text == '\'' ? buf_add_string(into, "'\\''") : buf_add_char(into, *text);
    return rc == 0 ? buf_add_char(into, '\'') : rc;
}

/* ---- what was refused ------------------------------------------------------------------------ */

/* "write beneath '/home/u/ws'" */
static void describe(const struct need *need, char *to, size_t size)
{
    static const char *const verbs[CAPABILITIES] = {
        [CAPABILITY_FS_READ] = "read beneath",         [CAPABILITY_FS_WRITE] = "write beneath",
        [CAPABILITY_NET_HTTP] = "ask the network for", [CAPABILITY_EXEC_RUN] = "run",
        [CAPABILITY_ENV_SET] = "set the variable",     [CAPABILITY_CODE_RUN] = "run code of",
    };
    struct shown shown;
    int len;

    if (need->is_loopback)
        len = snprintf(to, size, "connect its own processes (loopback)");
    else
        len = snprintf(to, size, "%s '%s'", verbs[need->capability], show(&shown, need->scope));
    (void) len; /* sized to fit */
}

/* "user policy /etc/wasp/policy.yaml", "tier low" */
static void name_layer(const struct policy *layer, char *to, size_t size)
{
    struct shown shown;
    const char *where = show(&shown, layer->where);

    if (layer->layer == LAYER_TIER)
        (void) snprintf(to, size, "%s", where); /* sized to fit, as below */
    else
        (void) snprintf(to, size, "%s policy %s", layer_names[layer->layer], where);
}

/* "user policy FILE:12 (filesystem.deny '~/.ssh')", with ": REASON" if it has one */
static void name_rule(const struct policy *layer, const struct rule *rule, enum section section,
                      char *to, size_t size)
{
    struct shown text, reason;
    char where[SHOWN_BYTES + 32];

    name_layer(layer, where, sizeof(where));
    (void) snprintf(to, size, "%s:%u (%s.%s '%s')%s%s", where, (unsigned int) rule->line,
                    section_names[section], verdict_names[rule->verdict], show(&text, rule->text),
                    rule->reason ? ": " : "",
                    rule->reason ? show(&reason, rule->reason) : ""); /* sized to fit */
}

/* ---- what would help ------------------------------------------------------------------------- */

/* In a scope it is a pattern: whoever copied it would grant more than was asked for. */
static bool has_star(const struct need *need)
{
    if (need->capability != CAPABILITY_EXEC_RUN || need->has_patterns)
        return false;
    for (size_t i = 0; i < need->n_args; i++)
        if (strchr(need->args[i], '*'))
            return true;
    return false;
}

/*
 * The command in full or without its scope, never with a part of it: half a path is a larger grant.
 */
static int hint_grant(const struct need *need, const struct principal *principal, struct err *err)
{
    _cleanup_(buf_release) struct buf scope = BUF_INIT(sizeof(err->hint) / 2);
    const char *name = capability_rows[need->capability].name;

    if (has_star(need))
        return err_hint(err, "a grant would allow it, and more: a scope cannot say a '*' that "
                             "is only a character");
    if (quote(&scope, need->scope) < 0)
        return err_hint(err, GRANT_COMMAND " --scope SCOPE --ttl 10m, with the SCOPE above in full",
                        principal->name, name);
    return err_hint(err, GRANT_COMMAND " --scope %s --ttl 10m", principal->name, name, scope.data);
}

static int refuse_ask(const struct need *need, const struct judgement *judgement,
                      const struct principal *principal, const char *what, struct err *err)
{
    enum section section = capability_rows[need->capability].section;
    char by[4 * SHOWN_BYTES];

    if (judgement->rule) {
        name_rule(judgement->layer, judgement->rule, section, by, sizeof(by));
        (void) err_set(err, ERR_DENIED,
                       "approval is needed: %s may %s only if a person says so: %s",
                       principal->name, what, by); /* -1, as below */
    } else {
        (void) err_set(err, ERR_DENIED,
                       "approval is needed: %s may %s only if a person says so: %s is %s here",
                       principal->name, what, capability_rows[need->capability].name,
                       risk_rows[judgement->risk].name);
    }
    return judgement->grant_would_do ? hint_grant(need, principal, err) : -1;
}

/* No rule of a layer is about it. */
static int refuse_silent(const struct need *need, const struct judgement *judgement,
                         const struct principal *principal, const char *what, struct err *err)
{
    const char *capability = capability_rows[need->capability].name;
    char by[SHOWN_BYTES + 32] = "any policy";

    if (judgement->layer)
        name_layer(judgement->layer, by, sizeof(by));
    (void) err_set(err, ERR_DENIED, "denied: %s may not %s: no rule of %s allows %s there",
                   principal->name, what, by, capability); /* -1, as below */
    if (judgement->grant_would_do)
        return hint_grant(need, principal, err);
    if (!principal->is_agent)
        return err_hint(err, "a rule of that policy would allow it ('wasp policy check')");
    if (judgement->layer && judgement->layer->layer == LAYER_SYSTEM)
        return err_hint(err, "no grant can allow what the system's policy does not: a rule there "
                             "must");
    return err_hint(err, "what it is cannot be known on this host, so only a rule '*' allows it");
}

int decide_refuse(const struct need *need, const struct judgement *judgement,
                  const struct principal *principal, struct err *err)
{
    char what[SHOWN_BYTES + 64], by[4 * SHOWN_BYTES];

    if ((unsigned int) need->capability >= CAPABILITIES)
        return err_set(err, ERR_DENIED, "denied: there is no such capability");
    describe(need, what, sizeof(what));
    if (judgement->verdict == VERDICT_ASK)
        return refuse_ask(need, judgement, principal, what, err);
    if (!judgement->rule)
        return refuse_silent(need, judgement, principal, what, err);
    name_rule(judgement->layer, judgement->rule, capability_rows[need->capability].section, by,
              sizeof(by));
    return err_set(err, ERR_DENIED, "denied: %s may not %s: denied by %s; no grant can allow it",
                   principal->name, what, by);
}
