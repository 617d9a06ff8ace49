/*
 * builtin: tiers and presets, embedded at build time from policies/.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "plan/policy.h"

/* scripts/embed.py makes one SCHEMA(name, text) of each file. */
static const struct {
    const char *name;
    const char *text;
} documents[] = {
#define SCHEMA(name, text) {name, text},
#include "plan/policies.inc"
#undef SCHEMA
};

const char *const policy_preset_names[] = {"agent-skill", "ci-job", "coding-agent", NULL};

/*
 * What "~" is where there is none: a folder that the kernel never has, so that what is beneath it
 * is nothing.
 */
#define NO_HOME "/proc/no-home"

static const char *find(const char *kind, const char *name)
{
    size_t len = strlen(kind);

    for (size_t i = 0; i < ARRAY_SIZE(documents); i++)
        if (strncmp(documents[i].name, kind, len) == 0 &&
            strcmp(documents[i].name + len, name) == 0)
            return documents[i].text;
    return NULL;
}

const char *policy_tier_text(enum tier tier)
{
    return find("tier-", tier_names[tier]);
}

const char *policy_preset_text(const char *name)
{
    return find("preset-", name);
}

int policy_tier(enum tier tier, const char *home, struct arena *arena, struct policy *ret_policy,
                struct err *err)
{
    const char *text = policy_tier_text(tier);
    bool has_home = home && home[strspn(home, "/")] != '\0';
    struct policy_context context = {
        .layer = LAYER_TIER,
        .where = arena_printf(arena, "tier %s", tier_names[tier]),
        .home = has_home ? home : NO_HOME,
        .is_yaml = true,
    };

    if (!context.where)
        return err_no_memory(err);
    return policy_parse(text, strlen(text), &context, arena, ret_policy, NULL, err);
}
