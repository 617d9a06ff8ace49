/*
 * Decisions, as tables: tests/data/decide/NAME.txt. A line is one of
 *
 *     policy NAME LAYER JSON…        a policy; it goes on over the lines that begin with a blank
 *     grant NAME CAPABILITY SCOPE [HOW…]   one of agent:bot's; SCOPE is a word, quoted if need be;
 *                                    HOW: bound, bound-to-other, spent, revoked, of-other
 *     set LAYERS PRINCIPAL [GRANTS]  what holds for the rows below; "-" is none, "tier:low" a tier
 *     REQUEST => OUTCOME             a row
 *
 * REQUEST is the words of a verb (run, exec, code), or "url METHOD HOST PORT PATH". OUTCOME is what
 * the first need with the strictest verdict gives:
 *
 *     allow [GRANT]      deny|ask LAYER RULE [missing CAPABILITY SCOPE]
 *
 * RULE is the rule's text, "-" where none decided. Run from the project's root.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "decide_rig.h"
#include "front/run_options.h"
#include "plan/language.h"
#include "plan/need.h"
#include "plan/scope.h"
#include "plan/words.h"
#include "tap.h"

#define FOLDER "tests/data/decide"
#define MAX_POLICIES 128
#define MAX_GRANTS 64
#define MAX_LINE 8192

/* A file while it is read. */
struct table {
    const char *file;
    unsigned int line;
    struct arena *arena;
    struct policy policies[MAX_POLICIES];
    const char *policy_names[MAX_POLICIES];
    size_t n_policies;
    struct grant grants[MAX_GRANTS];
    size_t n_grants;
    /* what `set` says */
    struct policy layers[8];
    struct grant held[MAX_GRANTS];
    struct authority authority;
    size_t n_rows;
};

static void fail(const struct table *table, const char *why)
{
    printf("Bail out! %s:%u: %s\n", table->file, table->line, why);
    exit(1);
}

static size_t split(struct table *table, const char *text, const char *const **ret_words)
{
    struct err err;
    size_t n;

    if (words_split_patterns(text, table->arena, ret_words, &n, &err) < 0)
        fail(table, err.message);
    return n;
}

static int find_name(const char *const *names, const char *name)
{
    for (int i = 0; names[i]; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return -1;
}

static struct digest this_request(void)
{
    struct digest digest = {.bytes = {7}};

    return digest;
}

/* ---- what there is --------------------------------------------------------------------------- */

static void read_policy(struct table *table, const char *text)
{
    char name[64], layer[64];
    int at = 0;

    if (sscanf(text, "%63s %63s %n", name, layer, &at) < 2 || table->n_policies == MAX_POLICIES)
        fail(table, "policy NAME LAYER JSON");
    int number = find_name(layer_names, layer);
    if (number < 0)
        fail(table, "no such layer");
    const char *kept = arena_strdup(table->arena, name);
    rig_policy(text + at, (enum layer) number, kept, table->arena,
               &table->policies[table->n_policies]);
    table->policy_names[table->n_policies++] = kept;
}

static void read_grant(struct table *table, const char *text)
{
    static const char *const hows[] = {"bound",   "bound-to-other", "spent",
                                       "revoked", "of-other",       NULL};
    const char *const *words;
    size_t n = split(table, text, &words);
    struct grant grant = {.holder = "agent:bot", .uses_left = 1, .request = this_request()};

    if (n < 3 || table->n_grants == MAX_GRANTS || capability_find(words[1]) < 0)
        fail(table, "grant NAME CAPABILITY SCOPE [HOW…]");
    (void) snprintf(grant.id, sizeof(grant.id), "%s", words[0]);
    grant.capability = (enum capability) capability_find(words[1]);
    grant.scope = words[2];
    for (size_t i = 3; i < n; i++) {
        int how = find_name(hows, words[i]);
        if (how < 0)
            fail(table, "no such way of a grant");
        grant.is_bound |= how <= 1;
        grant.request.bytes[1] |= how == 1;
        grant.uses_left -= how == 2;
        grant.revoked_ms = how == 3 ? 1 : grant.revoked_ms;
        grant.holder = how == 4 ? "agent:other" : grant.holder;
    }
    table->grants[table->n_grants++] = grant;
}

static void add_layer(struct table *table, const char *name)
{
    struct authority *authority = &table->authority;
    struct policy *layer = &table->layers[authority->n_layers++];

    if (authority->n_layers > ARRAY_SIZE(table->layers))
        fail(table, "too many layers");
    if (strncmp(name, "tier:", 5) == 0) {
        int tier = find_name(tier_names, name + 5);
        if (tier <= TIER_NONE)
            fail(table, "no such tier");
        rig_tier((enum tier) tier, table->arena, layer);
        return;
    }
    for (size_t i = 0; i < table->n_policies; i++)
        if (strcmp(table->policy_names[i], name) == 0) {
            *layer = table->policies[i];
            return;
        }
    fail(table, "no such policy");
}

static void add_grant(struct table *table, const char *name)
{
    for (size_t i = 0; i < table->n_grants; i++)
        if (strcmp(table->grants[i].id, name) == 0) {
            table->held[table->authority.n_grants++] = table->grants[i];
            return;
        }
    fail(table, "no such grant");
}

static void each(struct table *table, const char *list,
                 void (*add)(struct table *table, const char *name))
{
    char *rest, *copy = arena_strdup(table->arena, list);

    for (char *name = strtok_r(copy, ",", &rest); name; name = strtok_r(NULL, ",", &rest))
        if (strcmp(name, "-") != 0)
            add(table, name);
}

static void read_set(struct table *table, const char *text)
{
    const char *const *words;
    size_t n = split(table, text, &words);
    struct err err;

    table->authority = (struct authority){
        .layers = table->layers, .grants = table->held, .request = this_request()};
    if (n < 2 || principal_parse(words[1], &table->authority.principal, &err) < 0)
        fail(table, "set LAYERS PRINCIPAL [GRANTS]");
    each(table, words[0], add_layer);
    if (n > 2)
        each(table, words[2], add_grant);
}

/* ---- a row ----------------------------------------------------------------------------------- */

static void read_url(struct table *table, const char *const *words, size_t n, struct needs *needs)
{
    struct need *need = arena_alloc(table->arena, sizeof(*need));

    if (n != 5 || !need)
        fail(table, "url METHOD HOST PORT PATH");
    *need = (struct need){.capability = CAPABILITY_NET_HTTP,
                          .method = words[1],
                          .host = words[2],
                          .port = (uint16_t) strtoul(words[3], NULL, 10),
                          .url_path = words[4]};
    need->scope = scope_of(need, "", table->arena);
    *needs = (struct needs){need, 1};
}

static void read_request(struct table *table, const char *const *words, struct needs *needs)
{
    static const struct syntax *const verbs[] = {&run_syntax, &exec_syntax, &code_syntax};
    struct run_options *options = arena_alloc(table->arena, sizeof(*options));
    struct facts facts;
    struct err err;

    for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
        if (strcmp(verbs[i]->verb, words[0]) != 0)
            continue;
        run_options_init(options, i == 0 ? BACKEND_WASM : BACKEND_NATIVE);
        if (options_parse(verbs[i], words + 1, options, table->arena, &err) < 0 ||
            (options->source && request_set_source(&options->request, table->arena, options->source,
                                                   strlen(options->source), &err) < 0) ||
            (options->source && language_put(&options->request, table->arena, &err) < 0))
            fail(table, err.message);
        rig_facts(&options->request, table->arena, &facts);
        if (needs_of(&options->request, &facts, table->arena, needs, &err) < 0)
            fail(table, err.message);
        return;
    }
    fail(table, "no such verb");
}

static void show(const struct needs *needs, const struct decision *decision, struct buf *into)
{
    size_t i = 0;
    int rc;

    if (decision->verdict == VERDICT_ALLOW) {
        rc = buf_add_string(into, "allow");
        for (; i < needs->count; i++)
            if (decision->judgements[i].grant)
                rc |= buf_printf(into, " %s", decision->judgements[i].grant->id);
    } else {
        while (decision->judgements[i].verdict != decision->verdict)
            i++;
        const struct judgement *judgement = &decision->judgements[i];
        rc = buf_printf(into, "%s %s %s", verdict_names[judgement->verdict],
                        judgement->layer ? judgement->layer->where : "-",
                        judgement->rule ? judgement->rule->text : "-");
        if (judgement->grant_would_do)
            rc |=
                buf_printf(into, " missing %s %s", capability_rows[needs->items[i].capability].name,
                           needs->items[i].scope);
    }
    if (rc < 0)
        abort();
}

static void read_row(struct table *table, char *text)
{
    _cleanup_(buf_release) struct buf shown = BUF_INIT(MAX_LINE);
    char *outcome = strstr(text, " => ");
    const char *const *words;
    struct decision decision;
    struct needs needs;
    struct err err;

    if (!outcome)
        fail(table, "REQUEST => OUTCOME");
    *outcome = '\0';
    outcome += 4;
    size_t n = split(table, text, &words);
    if (strcmp(words[0], "url") == 0)
        read_url(table, words, n, &needs);
    else
        read_request(table, words, &needs);
    if (decide_all(&table->authority, &needs, table->arena, &decision, &err) < 0)
        abort();
    show(&needs, &decision, &shown);
    table->n_rows++;
    if (!ok(strcmp(shown.data, outcome) == 0, "%s:%u: %s => %s", table->file, table->line, text,
            outcome))
        printf("# but: %s\n", shown.data);
}

/* ---- files ----------------------------------------------------------------------------------- */

static void read_entry(struct table *table, char *text)
{
    static const struct {
        const char *word;
        void (*read)(struct table *table, const char *text);
    } entries[] = {{"policy ", read_policy}, {"grant ", read_grant}, {"set ", read_set}};

    for (size_t i = 0; i < ARRAY_SIZE(entries); i++)
        if (strncmp(text, entries[i].word, strlen(entries[i].word)) == 0) {
            entries[i].read(table, text + strlen(entries[i].word));
            return;
        }
    read_row(table, text);
}

/* An entry ends where a line begins that does not begin with a blank. */
static void read_table(const char *name)
{
    char path[512], line[MAX_LINE], entry[MAX_LINE] = "";
    struct table *table = calloc(1, sizeof(*table));

    (void) snprintf(path, sizeof(path), FOLDER "/%s", name);
    FILE *file = fopen(path, "re");
    if (!file || !table || !(table->arena = arena_new()))
        abort();
    table->file = name;
    for (unsigned int number = 1; fgets(line, sizeof(line), file); number++) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] == '#' || line[0] == '\0')
            continue;
        if (line[0] != ' ' && entry[0]) {
            read_entry(table, entry);
            entry[0] = '\0';
        }
        table->line = entry[0] ? table->line : number;
        if (strlen(entry) + strlen(line) >= sizeof(entry))
            fail(table, "too long");
        strcat(entry, line);
    }
    if (entry[0])
        read_entry(table, entry);
    ok(table->n_rows > 0, "%s has rows: %zu", name, table->n_rows);
    (void) fclose(file); /* it was only read */
    arena_free(table->arena);
    free(table);
}

static int is_table(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');

    return dot && strcmp(dot, ".txt") == 0;
}

int main(void)
{
    struct dirent **names;
    int n = scandir(FOLDER, &names, is_table, alphasort);

    if (n <= 0) {
        printf("Bail out! no tables in " FOLDER ": run it from the project's root\n");
        return 1;
    }
    for (int i = 0; i < n; i++) {
        read_table(names[i]->d_name);
        free(names[i]);
    }
    free(names);
    return done();
}
