#include "plan/decide_rules.h"

#include <string.h>

#include "plan/match.h"

/*
 * A rule's own verdict says how a doubt goes (match.h): one that allows must be about all that is
 * asked for, one that denies is about anything that it could be about.
 */
static bool in_doubt(const struct rule *rule)
{
    return rule->verdict != VERDICT_ALLOW;
}

/* "*" has its access, too. What is written can be read, so access does not soften a denial. */
static bool speaks_of_path(const struct rule *rule, const struct need *need)
{
    if (!need->path && in_doubt(rule))
        return true;
    return (rule->writes || in_doubt(rule) || need->capability == CAPABILITY_FS_READ) &&
           match_path(rule, need->path);
}

static bool speaks_of_variable(const struct rule *rule, const struct need *need)
{
    return match_name(rule, need->name, need->must_be_named);
}

static bool speaks_of_host(const struct rule *rule, const struct need *need)
{
    if (need->is_loopback)
        return rule->is_any || rule->is_loopback;
    return match_url(rule, need->host, need->port, need->method, need->url_path);
}

/* ---- programs -------------------------------------------------------------------------------- */

/* Two words with '*' in them, which may be the same one: what stands before and behind agrees. */
static bool words_may_meet(const char *a, const char *b)
{
    size_t a_len = strlen(a), b_len = strlen(b);
    size_t a_head = strcspn(a, "*"), b_head = strcspn(b, "*");
    size_t head = a_head < b_head ? a_head : b_head;

    if (a_head == a_len && b_head == b_len)
        return strcmp(a, b) == 0;
    if (memcmp(a, b, head) != 0)
        return false;
    while (a_len > 0 && b_len > 0 && a[a_len - 1] != '*' && b[b_len - 1] != '*')
        if (a[--a_len] != b[--b_len])
            return false;
    return true;
}

static bool args_may_meet(const struct rule *rule, const struct need *need)
{
    size_t both = rule->n_args < need->n_args ? rule->n_args : need->n_args;

    for (size_t i = 0; i < both; i++)
        if (!words_may_meet(rule->args[i], need->args[i]))
            return false;
    return (need->n_args == both || rule->any_args) && (rule->n_args == both || need->any_args);
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/*
 * One file may be many programs (busybox, vim), told apart by the name they are run by. A rule that
 * names such a link allows that name; one that names the file itself, all of them.
 */
static bool allows_name(const struct rule *rule, const struct need *need)
{
    if (rule->is_any || !need->program_name || !need->program)
        return true;
    const char *named = last_part(rule->program);

    return strcmp(named, last_part(need->program)) == 0 ||
           strcmp(named, last_part(need->program_name)) == 0;
}

/*
 * A pattern that is asked for is compared as if '*' were a character of its own: no word of a rule
 * has that, so a '*' of the rule took it, and takes whatever it stands for.
 */
static bool speaks_of_program(const struct rule *rule, const struct need *need)
{
    const struct file_id *id = need->program ? &need->program_id : NULL;

    if (!in_doubt(rule))
        return match_program(rule, id, need->args, need->n_args) && allows_name(rule, need) &&
               (rule->is_any || rule->any_args || !need->any_args);
    if (!id || !need->has_patterns || rule->is_any)
        return !id || match_program(rule, id, need->args, need->n_args);
    return rule->has_program_id && rule->program_id.dev == id->dev &&
           rule->program_id.ino == id->ino && args_may_meet(rule, need);
}

/* ---- code ------------------------------------------------------------------------------------ */

static bool has_digest(const struct rule *rule, const struct need *need)
{
    if (!rule->has_sha256)
        return true;
    return need->has_sha256 ? digest_equal(&rule->sha256, &need->sha256) : in_doubt(rule);
}

static bool speaks_of_code(const struct rule *rule, const struct need *need)
{
    if (rule->is_any)
        return true;
    if (need->name || rule->name)
        return match_name(rule, need->name, false);
    return has_digest(rule, need) && (need->path ? match_path(rule, need->path) : in_doubt(rule));
}

/* ---- a layer --------------------------------------------------------------------------------- */

typedef bool question(const struct rule *rule, const struct need *need);

static question *const questions[SECTIONS] = {
    [SECTION_FILESYSTEM] = speaks_of_path, [SECTION_ENV] = speaks_of_variable,
    [SECTION_NETWORK] = speaks_of_host,    [SECTION_EXEC] = speaks_of_program,
    [SECTION_CODE] = speaks_of_code,
};

static const struct rule *find(const struct rules *rules, const struct need *need)
{
    question *speaks = questions[capability_rows[need->capability].section];

    for (size_t i = 0; i < rules->count; i++)
        if (speaks(&rules->items[i], need))
            return &rules->items[i];
    return NULL;
}

/* The same for rules that ask, with doubts resolved as if they had that verdict. */
static const struct rule *find_as(const struct rules *rules, const struct need *need,
                                  enum verdict verdict)
{
    question *speaks = questions[capability_rows[need->capability].section];

    for (size_t i = 0; i < rules->count; i++) {
        struct rule rule = rules->items[i];
        rule.verdict = verdict;
        if (speaks(&rule, need))
            return &rules->items[i];
    }
    return NULL;
}

enum verdict decide_layer(const struct policy *layer, const struct need *need,
                          const struct rule **ret_rule)
{
    const struct rules *rules = layer->rules[capability_rows[need->capability].section];

    *ret_rule = find(&rules[VERDICT_DENY], need);
    if (*ret_rule)
        return VERDICT_DENY;
    const struct rule *allow = find(&rules[VERDICT_ALLOW], need);
    const struct rule *ask = find_as(&rules[VERDICT_ASK], need, VERDICT_DENY);
    /* A rule that asks about a part says nothing of the rest. */
    if (ask && (allow || find_as(&rules[VERDICT_ASK], need, VERDICT_ALLOW))) {
        *ret_rule = ask;
        return VERDICT_ASK;
    }
    *ret_rule = ask ? NULL : allow;
    return *ret_rule ? VERDICT_ALLOW : VERDICT_DENY;
}
