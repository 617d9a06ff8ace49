#include "plan/decide.h"

#include <string.h>

#include "plan/decide_rules.h"
#include "plan/scope.h"

/* How firmly a layer stands in the way; the firmest one is told. */
enum stand {
    STAND_NONE,
    STAND_ASKS,          /* a grant answers it */
    STAND_SILENT,        /* no rule allows it; a grant does */
    STAND_SILENT_SYSTEM, /* nor does a grant */
    STAND_DENIES
};

static const enum verdict verdicts[] = {
    [STAND_NONE] = VERDICT_ALLOW,  [STAND_ASKS] = VERDICT_ASK,
    [STAND_SILENT] = VERDICT_DENY, [STAND_SILENT_SYSTEM] = VERDICT_DENY,
    [STAND_DENIES] = VERDICT_DENY,
};

static enum stand find_stand(const struct policy *layer, const struct need *need,
                             const struct rule **ret_rule)
{
    switch (decide_layer(layer, need, ret_rule)) {
    case VERDICT_ALLOW:
        return STAND_NONE;
    case VERDICT_ASK:
        return STAND_ASKS;
    default:
        break;
    }
    if (*ret_rule)
        return STAND_DENIES;
    return layer->layer == LAYER_SYSTEM ? STAND_SILENT_SYSTEM : STAND_SILENT;
}

static bool is_trusted(const struct policy *layer)
{
    return layer->layer == LAYER_SYSTEM || layer->layer == LAYER_USER;
}

/* ---- risk ------------------------------------------------------------------------------------ */

/*
 * The owner's own layers set it, the strictest of them; without their word it is the built-in one.
 * The others can only raise it.
 */
static enum risk find_risk(const struct authority *authority, enum capability capability)
{
    int trusted = -1, raised = -1;

    for (size_t i = 0; i < authority->n_layers; i++) {
        const struct policy *layer = &authority->layers[i];
        int *most = is_trusted(layer) ? &trusted : &raised;
        if (layer->risk[capability] > *most)
            *most = layer->risk[capability];
    }
    if (trusted < 0)
        trusted = (int) capability_rows[capability].risk;
    return (enum risk)(raised > trusted ? raised : trusted);
}

static int least(int a, int b)
{
    return a == PER_HOUR_ANY || (b != PER_HOUR_ANY && b < a) ? b : a;
}

/* Every layer's number holds; the risk's own too, unless the owner's layers say one. */
static int find_per_hour(const struct authority *authority, enum capability capability,
                         enum risk risk)
{
    int per_hour = PER_HOUR_ANY;
    bool is_said = false;

    for (size_t i = 0; i < authority->n_layers; i++) {
        const struct policy *layer = &authority->layers[i];
        per_hour = least(per_hour, layer->per_hour[capability]);
        is_said |= is_trusted(layer) && layer->per_hour[capability] >= 0;
    }
    return is_said ? per_hour : least(per_hour, risk_rows[risk].per_hour);
}

/* A layer that wants a risk to be shown first wants that of every higher one. */
static bool find_simulate(const struct authority *authority, enum risk risk)
{
    for (size_t i = 0; i < authority->n_layers; i++)
        for (int r = RISK_SAFE; r <= (int) risk; r++)
            if (authority->layers[i].simulate[r])
                return true;
    return false;
}

/* ---- grants ---------------------------------------------------------------------------------- */

static bool is_usable(const struct authority *authority, const struct grant *grant)
{
    return grant->holder && strcmp(grant->holder, authority->principal.name) == 0 &&
           grant->uses_left > 0 && grant->revoked_ms == 0 &&
           (unsigned int) grant->capability < CAPABILITIES &&
           (!grant->is_bound || digest_equal(&grant->request, &authority->request));
}

/* What is good for this request alone goes first, then what ends first. */
static bool goes_before(const struct grant *a, const struct grant *b)
{
    if (a->is_bound != b->is_bound)
        return a->is_bound;
    return a->expires_ms < b->expires_ms;
}

static const struct grant *find_grant(const struct authority *authority, const struct need *need)
{
    const struct grant *found = NULL;

    for (size_t i = 0; i < authority->n_grants; i++) {
        const struct grant *grant = &authority->grants[i];
        if (is_usable(authority, grant) && (!found || goes_before(grant, found)) &&
            scope_covers(grant->capability, grant->scope, need))
            found = grant;
    }
    return found;
}

/* ---- all together ---------------------------------------------------------------------------- */

/* The firmest stand, with its layer and rule. An agent for whom no layer speaks has no leave. */
static enum stand weigh_layers(const struct authority *authority, const struct need *need,
                               struct judgement *judgement)
{
    enum stand firmest = authority->n_layers > 0 ? STAND_NONE : STAND_SILENT;

    for (size_t i = 0; i < authority->n_layers; i++) {
        const struct rule *rule;
        enum stand stand = find_stand(&authority->layers[i], need, &rule);
        if (stand > firmest || i == 0) {
            firmest = stand;
            judgement->layer = &authority->layers[i];
            judgement->rule = rule;
        }
    }
    return firmest;
}

void decide_need(const struct authority *authority, const struct need *need,
                 struct judgement *ret_judgement)
{
    *ret_judgement = (struct judgement){.verdict = VERDICT_DENY, .risk = RISK_PRIVILEGED};
    if ((unsigned int) need->capability >= CAPABILITIES)
        return;
    if (!authority->principal.is_agent && authority->n_layers == 0) {
        *ret_judgement = (struct judgement){.verdict = VERDICT_ALLOW,
                                            .risk = capability_rows[need->capability].risk,
                                            .per_hour = PER_HOUR_ANY};
        return;
    }
    ret_judgement->risk = find_risk(authority, need->capability);
    ret_judgement->per_hour = find_per_hour(authority, need->capability, ret_judgement->risk);
    ret_judgement->simulate = find_simulate(authority, ret_judgement->risk);

    enum stand stand = weigh_layers(authority, need, ret_judgement);
    if (stand == STAND_NONE && risk_rows[ret_judgement->risk].needs_grant) {
        stand = STAND_ASKS;
        ret_judgement->rule = NULL;
    }
    bool can_be_granted =
        authority->principal.is_agent && (stand == STAND_ASKS || stand == STAND_SILENT);
    if (can_be_granted)
        ret_judgement->grant = find_grant(authority, need);
    ret_judgement->verdict = ret_judgement->grant ? VERDICT_ALLOW : verdicts[stand];
    ret_judgement->grant_would_do = can_be_granted && !ret_judgement->grant && scope_exists(need);
}

int decide_all(const struct authority *authority, const struct needs *needs, struct arena *arena,
               struct decision *ret_decision, struct err *err)
{
    struct decision decision = {
        .verdict = VERDICT_ALLOW,
        .judgements = arena_array(arena, needs->count + 1, sizeof(*decision.judgements)),
    };

    if (!decision.judgements)
        return err_no_memory(err);
    for (size_t i = 0; i < needs->count; i++) {
        struct judgement *judgement = &decision.judgements[i];
        decide_need(authority, &needs->items[i], judgement);
        if (judgement->verdict > decision.verdict)
            decision.verdict = judgement->verdict;
        decision.simulate |= judgement->simulate;
    }
    *ret_decision = decision;
    return 0;
}
