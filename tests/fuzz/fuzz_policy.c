/*
 * Any bytes as a policy, the first of them saying how it is spelled: refused with problems that can
 * be shown, or rules that keep their promises. As JSON, what is taken is what base/json.h takes.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/utf8.h"
#include "plan/document.h"
#include "plan/match.h"
#include "plan/policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_problems(const struct policy_problems *problems, const struct err *err)
{
    uint32_t line = 0;

    assert(err->code == ERR_REQUEST && problems->count > 0 && problems->count <= 100);
    for (size_t i = 0; i < problems->count; i++) {
        const struct policy_problem *problem = &problems->items[i];
        assert(problem->message[0] && !strchr(problem->message, '\n'));
        assert(utf8_valid(problem->message, strlen(problem->message)));
        assert(utf8_valid(problem->key, strlen(problem->key)) && !strchr(problem->key, '\n'));
        assert(problem->line >= line);
        line = problem->line;
    }
}

static void check_rule(const struct rule *rule, int section, int verdict)
{
    assert(rule->text && rule->text[0] && rule->line > 0 && (int) rule->verdict == verdict);
    assert(!rule->path || (rule->path[0] == '/' && match_path(rule, rule->path)));
    if (section == SECTION_FILESYSTEM)
        assert(rule->is_any || (rule->path && rule->path[1]));
    if (section == SECTION_ENV)
        assert(rule->name && !strchr(rule->name, '='));
    if (section == SECTION_NETWORK)
        assert(rule->is_any || rule->is_loopback != (rule->host != NULL));
    if (section == SECTION_EXEC)
        assert(rule->is_any != (rule->program != NULL));
    if (section == SECTION_CODE)
        assert(rule->is_any || !rule->name != !rule->path);
}

static void check_policy(const struct policy *policy)
{
    for (int section = 0; section < SECTIONS; section++)
        for (int verdict = 0; verdict < VERDICTS; verdict++)
            for (size_t i = 0; i < policy->rules[section][verdict].count; i++)
                check_rule(&policy->rules[section][verdict].items[i], section, verdict);
    for (int i = 0; i < LIMIT_COUNT; i++)
        assert(policy->limit_max[i] == 0 || policy->limit_default[i] <= policy->limit_max[i]);
}

/* Ours refuses one thing more: objects with very many keys. */
static void compare_readers(const char *text, size_t len, struct arena *arena)
{
    struct problems problems = {.arena = arena};
    struct json_value *value;
    struct node document;
    struct err err;
    bool ours =
        document_parse_json(text, len, &problems, &document) == 0 && !problems_any(&problems);
    bool theirs = json_parse(text, len, "x", &value, &err) == 0;

    if (theirs)
        json_free(value);
    bool has_many = problems.found.count && strstr(problems.found.items[0].message, "keys");
    assert(ours == theirs || has_many);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_new();
    struct policy_problems problems;
    struct policy policy;
    struct err err = {0};

    if (!arena || size == 0) {
        arena_free(arena);
        return 0;
    }
    const char *text = (const char *) data + 1;
    const struct policy_context context = {
        .where = "p",
        .home = data[0] & 2 ? "/home/u" : NULL,
        .base_dir = data[0] & 4 ? "/project" : NULL,
        .is_yaml = data[0] & 1,
    };
    if (policy_parse(text, size - 1, &context, arena, &policy, &problems, &err) < 0)
        check_problems(&problems, &err);
    else
        check_policy(&policy);
    if (!context.is_yaml)
        compare_readers(text, size - 1, arena);
    arena_free(arena);
    return 0;
}
