/*
 * In whose name, and by whose leave: the options of every verb that passes the gate.
 */
#include "base/cleanup.h"
#include "front/run_options.h"

#define MAX_GRANTS 64

static int take_principal(void *target, struct arena *arena, const char *word, struct err *err)
{
    struct run_options *options = target;

    (void) arena; /* it holds its name itself */
    return principal_parse(word, &options->gate.principal, err);
}

static int take_tier(void *target, struct arena *arena, const char *word, struct err *err)
{
    struct run_options *options = target;

    (void) arena; /* nothing is kept of the word */
    (void) err;   /* it is one of the choices */
    options->gate.tier = (enum tier) choice_find(tier_names, word);
    return 0;
}

static int take_audit(void *target, struct arena *arena, const char *word, struct err *err)
{
    struct run_options *options = target;

    (void) arena; /* as above */
    (void) err;
    options->gate.audit = (enum audit_mode) choice_find(audit_mode_names, word);
    return 0;
}

static int take_grant(void *target, struct arena *arena, const char *word, struct err *err)
{
    struct run_options *options = target;
    struct gate_options *gate = &options->gate;

    if (!options->grants)
        options->grants = arena_array(arena, MAX_GRANTS, sizeof(*options->grants));
    if (!options->grants)
        return err_no_memory(err);
    if (gate->n_grants == MAX_GRANTS)
        return err_set(err, ERR_USAGE, "more than %d grants are named", MAX_GRANTS);
    options->grants[gate->n_grants++] = word;
    gate->grants = options->grants;
    return 0;
}

#define AT(field) offsetof(struct run_options, field)

static const char *const tier_choices[] = {"low", "medium", "high", NULL};
static const char *const audit_choices[] = {"required", "best-effort", "off", NULL};

static const struct option gate_rows[] = {
    {"--principal", "owner|agent:NAME",
     "in whose name: the owner's options grant (default) within the policies there are, an "
     "agent's only ask, and policies and grants decide",
     .kind = OPTION_TAKE, .take = take_principal},
    {"--policy", "FILE|preset:NAME", "the policy in the place of the user's own",
     .kind = OPTION_TEXT, .at = AT(gate.policy), .values = VALUES_FILE},
    {"--tier", "low|medium|high",
     "keep to this built-in policy besides ('wasp policy show --tier')", .kind = OPTION_TAKE,
     .take = take_tier, .choices = tier_choices},
    {"--grant", "ID", "use only this grant, and others that are named so", .kind = OPTION_TAKE,
     .take = take_grant, .repeatable = true},
    {"--plan-sha256", "HEX",
     "run the request only if it is the one that was simulated with this "
     "digest",
     .kind = OPTION_TEXT, .at = AT(gate.simulated)},
    {"--ask", NULL,
     "ask the person at this terminal for what an agent needs approval for, instead of leaving "
     "the request to 'wasp approve'",
     .kind = OPTION_FLAG, .at = AT(ask)},
    {"--audit", "required|best-effort|off",
     "what becomes of the run if it cannot be recorded: by default it is refused where a policy "
     "or an agent is involved, else it goes on; a policy can only be added to",
     .kind = OPTION_TAKE, .take = take_audit, .choices = audit_choices},
};

const struct option_table gate_table = {gate_rows, ARRAY_SIZE(gate_rows)};
