/*
 * How long it takes to decide on ten needs by three layers of 1,000 rules: nanoseconds, the median
 * of so many rounds. For tests/bench/decide.py.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "plan/decide.h"
#include "plan/scope.h"

#define LAYERS_THERE 3
#define RULES 1000 /* a fifth for each section, in turn allowed, asked about and denied */

static void write_rule(struct buf *into, enum section section, int i)
{
    static const char *const formats[SECTIONS] = {
        [SECTION_FILESYSTEM] = "\"/home/u/project%d/src\"",
        [SECTION_ENV] = "\"VARIABLE_%d_*\"",
        [SECTION_NETWORK] = "{\"host\":\"host%d.example.com\",\"path_prefix\":\"/v1/\"}",
        [SECTION_EXEC] = "{\"program\":\"/usr/bin/tool%d\",\"args\":[\"status\",\"*\"]}",
        [SECTION_CODE] = "{\"module\":\"/srv/modules/%d\"}",
    };
    char rule[256];

    (void) snprintf(rule, sizeof(rule), formats[section], i); /* fits */
    if (buf_add_string(into, rule) < 0)
        abort();
}

static void write_policy(struct buf *into)
{
    int rc = buf_add_string(into, "{\"version\":1");

    for (int s = 0; s < SECTIONS; s++) {
        rc |= buf_printf(into, ",\"%s\":{", section_names[s]);
        for (int v = 0; v < VERDICTS; v++) {
            rc |= buf_printf(into, "%s\"%s\":[", v ? "," : "", verdict_names[v]);
            for (int i = v, first = 1; i < RULES / SECTIONS; i += VERDICTS, first = 0) {
                rc |= buf_add_string(into, first ? "" : ",");
                write_rule(into, (enum section) s, i);
            }
            rc |= buf_add_char(into, ']');
        }
        rc |= buf_add_char(into, '}');
    }
    if ((rc | buf_add_char(into, '}')) < 0)
        abort();
}

static void parse(const struct buf *text, struct arena *arena, struct policy *ret_policy)
{
    const struct policy_context context = {.layer = LAYER_USER, .where = "bench"};
    struct err err;

    if (policy_parse(text->data, text->len, &context, arena, ret_policy, NULL, &err) < 0) {
        (void) fprintf(stderr, "%s\n", err.message); /* it then ends */
        exit(1);
    }
    for (int v = 0; v < VERDICTS; v++)
        for (size_t i = 0; i < ret_policy->rules[SECTION_EXEC][v].count; i++) {
            struct rule *rule = &ret_policy->rules[SECTION_EXEC][v].items[i];
            rule->has_program_id = true;
            rule->program_id = (struct file_id){1, (uint64_t) rule->line * VERDICTS + v + i};
        }
}

/* The last rule that allows, for each; nothing is found early. */
static size_t fill_needs(struct need *needs, struct arena *arena)
{
    static const char *const args[] = {"status", "-s"};
    const struct need all[] = {
        {CAPABILITY_FS_READ, .path = "/home/u/project198/src/a"},
        {CAPABILITY_FS_READ, .path = "/home/u/project195/src"},
        {CAPABILITY_FS_READ, .path = "/home/u/other/src"},
        {CAPABILITY_ENV_SET, .name = "VARIABLE_198_X"},
        {CAPABILITY_ENV_SET, .name = "OTHER"},
        {CAPABILITY_NET_HTTP, .host = "host198.example.com", .port = 443, .method = "GET",
         .url_path = "/v1/x"},
        {CAPABILITY_NET_HTTP, .is_loopback = true},
        {CAPABILITY_EXEC_RUN, .program = "/usr/bin/tool", .program_id = {1, 1}, .args = args, 2},
        {CAPABILITY_CODE_RUN, .path = "/srv/modules/198/m.wasm"},
        {CAPABILITY_CODE_RUN, .name = "python"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
        needs[i] = all[i];
        needs[i].scope = scope_of(&all[i], "?", arena);
    }
    return ARRAY_SIZE(all);
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;

    return x < y ? -1 : x > y;
}

static unsigned long long median(uint64_t *times, size_t n)
{
    qsort(times, n, sizeof(*times), compare);
    return times[n / 2];
}

static unsigned long long measure_decide(const struct buf *text, uint64_t *times, size_t rounds)
{
    struct arena *arena = arena_new();
    struct policy layers[LAYERS_THERE];
    const struct authority authority = {
        .principal = {true, "agent:bot"}, .layers = layers, .n_layers = LAYERS_THERE};
    struct need items[16];
    struct needs needs = {items, fill_needs(items, arena)};
    struct decision decision;
    struct err err;

    for (size_t i = 0; i < LAYERS_THERE; i++)
        parse(text, arena, &layers[i]);
    for (size_t i = 0; i < rounds; i++) {
        struct arena *own = arena_new();
        uint64_t start = clock_monotonic_ns();
        if (decide_all(&authority, &needs, own, &decision, &err) < 0 ||
            decision.verdict != VERDICT_DENY)
            abort();
        times[i] = clock_monotonic_ns() - start;
        arena_free(own);
    }
    arena_free(arena);
    return median(times, rounds);
}

int main(int argc, char **argv)
{
    size_t rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 100;
    _cleanup_(buf_release) struct buf text = BUF_INIT(POLICY_MAX_BYTES);
    uint64_t *times = calloc(rounds + 1, sizeof(*times));

    if (!times || rounds == 0)
        return 1;
    write_policy(&text);
    printf("%llu\n", measure_decide(&text, times, rounds));
    free(times);
    return 0;
}
