/*
 * decide_world: policies, grants and needs made at random, from a seed, for tests of what holds of
 * all of them.
 */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "decide_rig.h"
#include "plan/scope.h"

#define MAX_RULES 6
#define MAX_LAYERS 5
#define MAX_GRANTS 4

/* ---- chance ---------------------------------------------------------------------------------- */

struct chance {
    uint64_t state;
};

/* xorshift64: good enough to mix, the same on every machine. */
static uint64_t draw(struct chance *chance, uint64_t below)
{
    chance->state ^= chance->state << 13;
    chance->state ^= chance->state >> 7;
    chance->state ^= chance->state << 17;
    return (chance->state >> 16) % below;
}

#define PICK(chance, list) ((list)[draw((chance), ARRAY_SIZE(list))])

/* ---- needs ----------------------------------------------------------------------------------- */

static const char *const paths[] = {"/home/u", "/home/u/ws",   "/home/u/ws/sub", "/home/u/ws2",
                                    "/srv/m",  "/home/u/.ssh", "/srv/m/a.wasm"};
static const char *const names[] = {"A", "CI_JOB", "CI_", "LD_PRELOAD", "PATH"};
static const char *const hosts[] = {"example.com", "api.example.com", "evil.com", "EVIL.com."};
static const char *const url_paths[] = {"/v1/x", "/v1", "/v10", "/v1/../admin"};
static const char *const args_a[] = {"status", "-s"};
static const char *const args_b[] = {"push", "x"};
static const char *const args_p[] = {"st*", "*"};

struct needs_pool {
    struct need items[256];
    size_t count;
};

static void add_need(struct needs_pool *pool, struct need need, struct arena *arena)
{
    need.scope = scope_of(&need, "unknown", arena);
    if (!need.scope || pool->count == ARRAY_SIZE(pool->items))
        abort();
    pool->items[pool->count++] = need;
}

static void add_places(struct needs_pool *pool, struct arena *arena)
{
    for (size_t i = 0; i <= ARRAY_SIZE(paths); i++) {
        const char *path = i < ARRAY_SIZE(paths) ? paths[i] : NULL;
        add_need(pool, (struct need){.capability = CAPABILITY_FS_READ, .path = path}, arena);
        add_need(pool, (struct need){.capability = CAPABILITY_FS_WRITE, .path = path}, arena);
        add_need(pool, (struct need){.capability = CAPABILITY_CODE_RUN, .path = path}, arena);
    }
    add_need(pool, (struct need){.capability = CAPABILITY_CODE_RUN, .name = "python"}, arena);
    add_need(pool, (struct need){.capability = CAPABILITY_CODE_RUN, .name = "bash"}, arena);
}

static void add_hosts(struct needs_pool *pool, struct arena *arena)
{
    struct need need = {.capability = CAPABILITY_NET_HTTP, .is_loopback = true};

    add_need(pool, need, arena);
    need.is_loopback = false;
    for (size_t i = 0; i < ARRAY_SIZE(hosts); i++)
        for (size_t k = 0; k < ARRAY_SIZE(url_paths); k++) {
            need.host = hosts[i];
            need.url_path = url_paths[k];
            need.method = k % 2 ? "POST" : "GET";
            need.port = i % 2 ? 443 : 8443;
            add_need(pool, need, arena);
        }
}

static void add_programs(struct needs_pool *pool, struct arena *arena)
{
    static const char *const *const args[] = {args_a, args_b, args_p};

    for (uint64_t ino = 1; ino <= 3; ino++)
        for (size_t i = 0; i < ARRAY_SIZE(args); i++)
            for (size_t n = 0; n <= 2; n++)
                for (int any = 0; any <= 1; any++) {
                    struct need need = {.capability = CAPABILITY_EXEC_RUN,
                                        .program = ino < 3 ? rig_programs[ino - 1].real : NULL,
                                        .program_id = {1, ino},
                                        .args = args[i],
                                        .n_args = n,
                                        .has_patterns = any || i == 2,
                                        .any_args = any};
                    add_need(pool, need, arena);
                }
}

static void fill_needs(struct needs_pool *pool, struct arena *arena)
{
    pool->count = 0;
    add_places(pool, arena);
    add_hosts(pool, arena);
    add_programs(pool, arena);
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        add_need(pool,
                 (struct need){.capability = CAPABILITY_ENV_SET,
                               .name = names[i],
                               .must_be_named = strcmp(names[i], "LD_PRELOAD") == 0},
                 arena);
}

/* ---- policies -------------------------------------------------------------------------------- */

/* A policy with the rules it points to. */
struct layer_box {
    struct policy policy;
    struct rule rules[SECTIONS][VERDICTS][MAX_RULES];
};

static void draw_network(struct chance *chance, struct rule *rule)
{
    static const char *const own[] = {"example.com", "*.example.com", "evil.com"};
    static const char *const prefixes[] = {NULL, NULL, "/v1", "/v1/", "/admin"};
    static const uint16_t ports[] = {443, 8443};
    static const char *const methods[] = {"GET", "POST"};

    rule->is_loopback = draw(chance, 5) == 0;
    if (rule->is_loopback)
        return;
    rule->host = PICK(chance, own);
    rule->path_prefix = PICK(chance, prefixes);
    rule->ports = ports;
    rule->n_ports = draw(chance, 3);
    rule->methods = methods;
    rule->n_methods = draw(chance, 3);
}

static void draw_exec(struct chance *chance, struct rule *rule)
{
    static const char *const *const args[] = {args_a, args_b, args_p};

    rule->program = "x";
    rule->has_program_id = draw(chance, 8) > 0;
    rule->program_id = (struct file_id){1, 1 + draw(chance, 3)};
    rule->args = PICK(chance, args);
    rule->n_args = draw(chance, 3);
    rule->any_args = draw(chance, 2);
}

static void draw_rule(struct chance *chance, enum section section, enum verdict verdict,
                      struct rule *rule)
{
    static const char *const variables[] = {"A", "CI_*", "LD_*", "LD_PRELOAD", "PATH"};
    static const char *const languages[] = {"python", "bash"};

    *rule = (struct rule){.text = "rule", .line = 1, .verdict = verdict};
    rule->writes = draw(chance, 2);
    if (draw(chance, 8) == 0) {
        rule->is_any = true;
        return;
    }
    switch (section) {
    case SECTION_FILESYSTEM:
        rule->path = PICK(chance, paths);
        break;
    case SECTION_ENV:
        rule->name = PICK(chance, variables);
        break;
    case SECTION_NETWORK:
        draw_network(chance, rule);
        break;
    case SECTION_EXEC:
        draw_exec(chance, rule);
        break;
    default:
        if (draw(chance, 2))
            rule->name = PICK(chance, languages);
        else
            rule->path = PICK(chance, paths);
    }
}

static uint64_t draw_limit(struct chance *chance)
{
    static const uint64_t values[] = {0, 0, 1, 1000, 100000, 50000000000, UNITS_UNLIMITED};

    return PICK(chance, values);
}

static void draw_settings(struct chance *chance, struct policy *policy)
{
    policy->isolation_given = draw(chance, 2);
    policy->isolation = (enum isolation) draw(chance, 2);
    policy->refuses_generated = draw(chance, 6) == 0;
    for (size_t i = 0; i < LIMIT_COUNT; i++) {
        policy->limit_default[i] = draw_limit(chance);
        policy->limit_max[i] = draw_limit(chance);
    }
    for (size_t i = 0; i < CAPABILITIES; i++) {
        policy->risk[i] = (int) draw(chance, 2 * RISKS) - RISKS;
        policy->risk[i] = policy->risk[i] < 0 ? -1 : policy->risk[i];
        policy->per_hour[i] = draw(chance, 3) ? -1 : (int) draw(chance, 200);
    }
    for (size_t i = 0; i < RISKS; i++)
        policy->simulate[i] = draw(chance, 8) == 0;
    policy->audit = (enum audit_mode) draw(chance, 4);
    policy->durability = (enum durability) draw(chance, 3);
    policy->rotate_bytes = draw(chance, 3) * 1000;
    policy->keep_segments = (uint32_t) draw(chance, 3);
    policy->pending_ms = draw(chance, 3) * 700000;
    policy->ttl_ms = draw(chance, 3) * 400000;
    policy->uses = (uint32_t) draw(chance, 3);
}

static void draw_layer(struct chance *chance, enum layer layer, struct layer_box *box)
{
    *box = (struct layer_box){.policy = {.layer = layer, .where = "p"}};
    for (size_t s = 0; s < SECTIONS; s++)
        for (size_t v = 0; v < VERDICTS; v++) {
            size_t n = draw(chance, v == VERDICT_ALLOW ? MAX_RULES : 3);
            for (size_t i = 0; i < n; i++)
                draw_rule(chance, (enum section) s, (enum verdict) v, &box->rules[s][v][i]);
            box->policy.rules[s][v].count = n;
        }
    draw_settings(chance, &box->policy);
}

/* ---- a world --------------------------------------------------------------------------------- */

struct world {
    struct layer_box boxes[MAX_LAYERS];
    size_t n_boxes;
    struct grant grants[MAX_GRANTS];
    size_t n_grants;
    bool is_agent;
    /* made of them */
    struct policy layers[MAX_LAYERS];
    struct authority authority;
};

static void draw_grants(struct chance *chance, const struct needs_pool *pool, struct world *world)
{
    world->n_grants = draw(chance, MAX_GRANTS + 1);
    for (size_t i = 0; i < world->n_grants; i++) {
        const struct need *need = &pool->items[draw(chance, pool->count)];
        world->grants[i] = (struct grant){.holder = draw(chance, 8) ? "agent:bot" : "agent:other",
                                          .capability = need->capability,
                                          .scope = need->scope,
                                          .uses_left = 1,
                                          .is_bound = draw(chance, 2),
                                          .request.bytes = {(uint8_t) draw(chance, 2)}};
    }
}

static void draw_world(struct chance *chance, const struct needs_pool *pool, struct world *world)
{
    static const enum layer kinds[] = {LAYER_SYSTEM, LAYER_USER, LAYER_PROJECT, LAYER_TIER};

    world->n_boxes = 0;
    world->is_agent = draw(chance, 4) > 0;
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        if (draw(chance, 2))
            draw_layer(chance, kinds[i], &world->boxes[world->n_boxes++]);
    draw_grants(chance, pool, world);
}

static void settle(struct world *world)
{
    for (size_t i = 0; i < world->n_boxes; i++) {
        world->layers[i] = world->boxes[i].policy;
        for (size_t s = 0; s < SECTIONS; s++)
            for (size_t v = 0; v < VERDICTS; v++)
                world->layers[i].rules[s][v].items = world->boxes[i].rules[s][v];
    }
    world->authority = (struct authority){.layers = world->layers,
                                          .n_layers = world->n_boxes,
                                          .grants = world->grants,
                                          .n_grants = world->n_grants};
    if (world->is_agent)
        world->authority.principal = (struct principal){true, "agent:bot"};
    else
        principal_owner(&world->authority.principal);
}
