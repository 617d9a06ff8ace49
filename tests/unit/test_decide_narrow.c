/*
 * Narrowing never widens: whatever policies there are, a further layer, a further denial, one rule
 * or grant less, a lower limit never gives more than there was. Policies, grants and changes are
 * made at random, from a seed; every need that the pool has is judged before and after.
 */
#include <stdlib.h>
#include <string.h>

#include "decide_world.h"
#include "tap.h"

#define ROUNDS 3000

/* ---- changes --------------------------------------------------------------------------------- */

/* What a change may not be asked about: the owner's layers set these, whichever way. */
enum { VERDICTS_ONLY = 1, NO_GRANTS = 2 };

/* True if there was something to change. */
typedef bool change(struct chance *chance, struct world *world);

static bool add_layer(struct chance *chance, struct world *world)
{
    static const enum layer kinds[] = {LAYER_PROJECT, LAYER_PROJECT, LAYER_TIER};

    /* A tier alone stands in for the owner's word, so it is no further layer. */
    if (world->n_boxes == MAX_LAYERS || world->n_boxes == 0)
        return false;
    draw_layer(chance, PICK(chance, kinds), &world->boxes[world->n_boxes]);
    bool has_owner = world->boxes[0].policy.layer <= LAYER_USER;
    if (!has_owner)
        world->boxes[world->n_boxes].policy.layer = LAYER_PROJECT;
    world->n_boxes++;
    return true;
}

static bool add_owner_layer(struct chance *chance, struct world *world)
{
    if (world->n_boxes == MAX_LAYERS || world->n_boxes == 0)
        return false;
    draw_layer(chance, (enum layer) draw(chance, 2), &world->boxes[world->n_boxes++]);
    return true;
}

static bool add_rule(struct chance *chance, struct world *world, enum verdict verdict)
{
    if (world->n_boxes == 0)
        return false;
    struct layer_box *box = &world->boxes[draw(chance, world->n_boxes)];
    enum section section = (enum section) draw(chance, SECTIONS);
    size_t *n = &box->policy.rules[section][verdict].count;
    draw_rule(chance, section, verdict, &box->rules[section][verdict][(*n)++]);
    return true;
}

static bool add_deny(struct chance *chance, struct world *world)
{
    return add_rule(chance, world, VERDICT_DENY);
}

static bool add_ask(struct chance *chance, struct world *world)
{
    return add_rule(chance, world, VERDICT_ASK);
}

/* Takes a rule out of a list of allow rules. */
static bool take_allow(struct chance *chance, struct world *world, struct layer_box **ret_box,
                       enum section *ret_section, struct rule *ret_rule)
{
    if (world->n_boxes == 0)
        return false;
    *ret_box = &world->boxes[draw(chance, world->n_boxes)];
    *ret_section = (enum section) draw(chance, SECTIONS);
    struct rule *rules = (*ret_box)->rules[*ret_section][VERDICT_ALLOW];
    size_t *n = &(*ret_box)->policy.rules[*ret_section][VERDICT_ALLOW].count;
    if (*n == 0)
        return false;
    size_t i = draw(chance, *n);
    *ret_rule = rules[i];
    rules[i] = rules[--*n];
    return true;
}

static bool drop_allow(struct chance *chance, struct world *world)
{
    struct layer_box *box;
    enum section section;
    struct rule rule;

    return take_allow(chance, world, &box, &section, &rule);
}

static bool harden(struct chance *chance, struct world *world, enum verdict verdict)
{
    struct layer_box *box;
    enum section section;
    struct rule rule;

    if (!take_allow(chance, world, &box, &section, &rule))
        return false;
    rule.verdict = verdict;
    box->rules[section][verdict][box->policy.rules[section][verdict].count++] = rule;
    return true;
}

static bool allow_to_ask(struct chance *chance, struct world *world)
{
    return harden(chance, world, VERDICT_ASK);
}

static bool allow_to_deny(struct chance *chance, struct world *world)
{
    return harden(chance, world, VERDICT_DENY);
}

static bool to_read_only(struct chance *chance, struct world *world)
{
    if (world->n_boxes == 0)
        return false;
    struct layer_box *box = &world->boxes[draw(chance, world->n_boxes)];
    struct rule *rule = &box->rules[SECTION_FILESYSTEM][VERDICT_ALLOW][draw(chance, MAX_RULES)];
    bool was = rule->writes;
    rule->writes = false;
    return was;
}

static bool lower_limit(struct chance *chance, struct world *world)
{
    if (world->n_boxes == 0)
        return false;
    struct policy *policy = &world->boxes[draw(chance, world->n_boxes)].policy;
    size_t limit = draw(chance, LIMIT_COUNT);
    uint64_t *value = draw(chance, 2) ? &policy->limit_max[limit] : &policy->limit_default[limit];
    if (*value <= 1)
        return false;
    *value = 1 + draw(chance, *value - 1);
    return true;
}

static bool drop_grant(struct chance *chance, struct world *world)
{
    if (world->n_grants == 0)
        return false;
    world->grants[draw(chance, world->n_grants)] = world->grants[world->n_grants - 1];
    world->n_grants--;
    return true;
}

static bool raise_risk(struct chance *chance, struct world *world)
{
    if (world->n_boxes == 0)
        return false;
    struct policy *policy = &world->boxes[draw(chance, world->n_boxes)].policy;
    int *risk = &policy->risk[draw(chance, CAPABILITIES)];
    if (*risk < 0 || *risk == RISK_PRIVILEGED)
        return false;
    ++*risk;
    return true;
}

static bool demand_simulation(struct chance *chance, struct world *world)
{
    if (world->n_boxes == 0)
        return false;
    world->boxes[draw(chance, world->n_boxes)].policy.simulate[draw(chance, RISKS)] = true;
    return true;
}

static const struct {
    const char *name;
    change *make;
    int how;
} changes[] = {
    {"a further project or tier", add_layer, 0},
    {"a further layer of the owner's", add_owner_layer, VERDICTS_ONLY},
    {"a further deny rule", add_deny, 0},
    {"a further ask rule", add_ask, NO_GRANTS},
    {"an allow rule less", drop_allow, 0},
    {"an allow rule that asks instead", allow_to_ask, 0},
    {"an allow rule that denies instead", allow_to_deny, 0},
    {"an allow rule that is read-only now", to_read_only, 0},
    {"a lower limit", lower_limit, 0},
    {"a grant less", drop_grant, 0},
    {"a higher risk", raise_risk, 0},
    {"a further risk to be simulated", demand_simulation, 0},
};

/* ---- before and after ------------------------------------------------------------------------ */

/* Of a rule that asks, that it gives leave to be asked is no widening. */
static bool need_widens(const struct judgement *before, const struct judgement *after, int how)
{
    if (how & NO_GRANTS)
        return after->verdict == VERDICT_ALLOW && before->verdict != VERDICT_ALLOW;
    return after->verdict < before->verdict;
}

static bool terms_widen(const struct judgement *before, const struct judgement *after)
{
    unsigned int was = (unsigned int) before->per_hour, is = (unsigned int) after->per_hour;

    return is > was || after->risk < before->risk || (before->simulate && !after->simulate);
}

static bool needs_widen(const struct world *before, const struct world *after,
                        const struct needs_pool *pool, int how)
{
    struct judgement was, is;

    for (size_t i = 0; i < pool->count; i++) {
        decide_need(&before->authority, &pool->items[i], &was);
        decide_need(&after->authority, &pool->items[i], &is);
        if (need_widens(&was, &is, how) || (!(how & VERDICTS_ONLY) && terms_widen(&was, &is)))
            return true;
    }
    return false;
}

/* One request, with limits that it names or not. */
static void draw_request(struct chance *chance, struct request *request)
{
    request_init(request, (enum backend) draw(chance, BACKENDS));
    if (draw(chance, 2))
        request->language = "python";
    request->isolation_given = draw(chance, 2);
    if (request->isolation_given)
        request->isolation = (enum isolation) draw(chance, 2);
    for (size_t i = 0; i < LIMIT_COUNT; i++)
        if (limit_exists((enum limit) i, request->backend) && draw(chance, 2)) {
            uint64_t value = draw_limit(chance), max = limit_rows[i].of[request->backend].max;
            request->limits.value[i] = value == 0 || value > max ? max : value;
            request->limits.given[i] = true;
        }
}

static bool bounds_widen(struct chance *chance, const struct world *before,
                         const struct world *after)
{
    struct clamp clamps[LIMIT_COUNT];
    struct request was, is;
    struct err err;
    size_t n;

    draw_request(chance, &was);
    is = was;
    int before_rc = decide_bounds(&before->authority, &was, clamps, &n, &err);
    if (decide_bounds(&after->authority, &is, clamps, &n, &err) < 0)
        return false;
    bool widens = before_rc < 0 || is.isolation > was.isolation;
    for (size_t i = 0; i < LIMIT_COUNT; i++)
        widens |= is.limits.value[i] > was.limits.value[i];
    return widens;
}

/* 0 keeps all. */
static bool keeps_less(uint32_t was, uint32_t is)
{
    return was == 0 ? is > 0 : is > 0 && is < was;
}

static bool settings_widen(const struct world *before, const struct world *after)
{
    struct settings was, is;

    decide_settings(&before->authority, &was);
    decide_settings(&after->authority, &is);
    return is.audit < was.audit || is.durability < was.durability ||
           keeps_less(was.keep_segments, is.keep_segments) || is.rotate_bytes < was.rotate_bytes ||
           is.pending_ms > was.pending_ms || is.ttl_ms - 1 > was.ttl_ms - 1 ||
           is.uses - 1 > was.uses - 1; /* 0 is the most */
}

static void test_change(size_t which, const struct needs_pool *pool)
{
    struct world *before = calloc(1, sizeof(*before)), *after = calloc(1, sizeof(*after));
    size_t made = 0, wider = 0, seed = 0;
    int how = changes[which].how;

    if (!before || !after)
        abort();
    for (size_t round = 1; round <= ROUNDS; round++) {
        struct chance chance = {0x9e3779b97f4a7c15ULL * (round + ROUNDS * which)};
        draw_world(&chance, pool, before);
        if (how & NO_GRANTS)
            before->n_grants = 0;
        *after = *before;
        if (!changes[which].make(&chance, after))
            continue;
        made++;
        settle(before);
        settle(after);
        if (needs_widen(before, after, pool, how) ||
            (!(how & VERDICTS_ONLY) &&
             (bounds_widen(&chance, before, after) || settings_widen(before, after)))) {
            seed = round;
            wider++;
        }
    }
    ok(made > ROUNDS / 20 && wider == 0,
       "%s never widens (%zu tries, %zu wider, last in round %zu)", changes[which].name, made,
       wider, seed);
    free(before);
    free(after);
}

/* ---- tiers ----------------------------------------------------------------------------------- */

static void test_tiers(const struct needs_pool *pool, struct arena *arena)
{
    for (int tier = TIER_LOW; tier < TIER_HIGH; tier++) {
        struct policy layers[2];
        struct authority lower = {.principal = {true, "agent:bot"}, .layers = &layers[0]};
        struct authority higher = {.principal = {true, "agent:bot"}, .layers = &layers[1]};
        struct judgement was, is;
        size_t wider = 0, more = 0;

        rig_tier((enum tier) tier, arena, &layers[0]);
        rig_tier((enum tier)(tier + 1), arena, &layers[1]);
        lower.n_layers = higher.n_layers = 1;
        for (size_t i = 0; i < pool->count; i++) {
            decide_need(&lower, &pool->items[i], &was);
            decide_need(&higher, &pool->items[i], &is);
            wider += is.verdict > was.verdict;
            more += is.verdict < was.verdict;
        }
        ok(wider == 0 && more > 0, "tier %s allows all that tier %s does, and more (%zu of %zu)",
           tier_names[tier + 1], tier_names[tier], more, pool->count);
    }
}

/* The most that a tier by itself leaves an agent. */
static void find_limits(enum tier tier, enum backend backend, struct arena *arena,
                        uint64_t ret_values[LIMIT_COUNT])
{
    struct policy layer;
    const struct authority authority = {
        .principal = {true, "agent:bot"}, .layers = &layer, .n_layers = 1};
    struct clamp clamps[LIMIT_COUNT];
    struct request request;
    struct err err;
    size_t n;

    rig_tier(tier, arena, &layer);
    request_init(&request, backend);
    for (size_t i = 0; i < LIMIT_COUNT; i++) {
        request.limits.value[i] = UNITS_UNLIMITED;
        request.limits.given[i] = true;
    }
    if (decide_bounds(&authority, &request, clamps, &n, &err) < 0)
        abort();
    memcpy(ret_values, request.limits.value, sizeof(request.limits.value));
}

static void test_tier_limits(enum tier tier, enum backend backend, struct arena *arena)
{
    uint64_t lower[LIMIT_COUNT], higher[LIMIT_COUNT];
    bool is_ordered = true;

    find_limits(tier, backend, arena, lower);
    find_limits((enum tier)(tier + 1), backend, arena, higher);
    for (size_t i = 0; i < LIMIT_COUNT; i++)
        is_ordered &= lower[i] <= higher[i];
    ok(is_ordered, "no limit of tier %s is above that of tier %s (%s)", tier_names[tier],
       tier_names[tier + 1], request_backend_names[backend]);
}

int main(void)
{
    struct needs_pool *pool = calloc(1, sizeof(*pool));
    struct arena *arena = arena_new();

    if (!pool || !arena)
        return 1;
    fill_needs(pool, arena);
    for (size_t i = 0; i < ARRAY_SIZE(changes); i++)
        test_change(i, pool);
    test_tiers(pool, arena);
    for (int tier = TIER_LOW; tier < TIER_HIGH; tier++)
        for (int backend = 0; backend < BACKENDS; backend++)
            test_tier_limits((enum tier) tier, (enum backend) backend, arena);
    arena_free(arena);
    free(pool);
    return done();
}
