#include "plan/policy.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "plan/policy_reader.h"
#include "plan/yaml.h"

const char *const verdict_names[] = {"allow", "ask", "deny", NULL};
const char *const tier_names[] = {"none", "low", "medium", "high", NULL};
const char *const layer_names[] = {"system", "user", "project", "tier", NULL};
const char *const audit_mode_names[] = {"unsaid", "off", "best-effort", "required", NULL};
const char *const durability_names[] = {"unsaid", "kill", "power", NULL};

_Static_assert(sizeof(verdict_names) / sizeof(char *) == VERDICTS + 1, "one name each");
_Static_assert(sizeof(tier_names) / sizeof(char *) == TIERS + 1, "one name each");
_Static_assert(sizeof(layer_names) / sizeof(char *) == LAYERS + 1, "one name each");

#define ID_MAX_BYTES 64

static void read_version(struct policy_reader *reader, struct found found, void *into)
{
    (void) into; /* there is one */
    if (found.node->number != 1)
        (void) found_refuse(reader, found, "must be 1: this wasp knows no other");
}

static void read_id(struct policy_reader *reader, struct found found, void *into)
{
    (void) into; /* it is the policy's */
    reader->policy->id = found_text(reader, found);
    if (reader->policy->id && found.node->len > ID_MAX_BYTES)
        (void) found_refuse(reader, found, "longer than %d bytes", ID_MAX_BYTES);
}

static void read_tier(struct policy_reader *reader, struct found found, void *into)
{
    int tier = found_choice(reader, found, tier_names, TIER_LOW);

    (void) into; /* it is the policy's */
    reader->policy->tier = tier < 0 ? TIER_NONE : (enum tier) tier;
}

static const struct field fields[] = {
    {"version", JSON_KIND_INT, read_version, .required = true},
    {"id", JSON_KIND_STRING, read_id, .required = false},
    {"tier", JSON_KIND_STRING, read_tier, .required = false},
    {"filesystem", JSON_KIND_OBJECT, read_filesystem, .required = false},
    {"env", JSON_KIND_OBJECT, read_env, .required = false},
    {"network", JSON_KIND_OBJECT, read_network, .required = false},
    {"exec", JSON_KIND_OBJECT, read_exec, .required = false},
    {"code", JSON_KIND_OBJECT, read_code, .required = false},
    {"limits", JSON_KIND_OBJECT, read_limits, .required = false},
    {"approval", JSON_KIND_OBJECT, read_approval, .required = false},
    {"audit", JSON_KIND_OBJECT, read_audit, .required = false},
};

/* Why "~" cannot be used here; NULL: it can. */
static const char *judge_home(const char *home)
{
    if (!home)
        return "HOME is not set";
    size_t len = strlen(home);
    if (home[0] != '/' || strstr(home, "/../") || (len > 2 && strcmp(home + len - 3, "/..") == 0))
        return "HOME is no plain absolute path";
    if (home[strspn(home, "/")] == '\0')
        return "HOME is the root folder, and all beneath it would be everything";
    return NULL;
}

static void read_document(struct policy_reader *reader, const struct node *document)
{
    const struct place root = {.up = NULL};
    const struct found found = {document, &root};

    for (int i = 0; i < CAPABILITIES; i++)
        reader->policy->risk[i] = reader->policy->per_hour[i] = -1;
    if (found_is(reader, found, JSON_KIND_OBJECT))
        fields_read(reader, found, fields, ARRAY_SIZE(fields), NULL);
}

/* The first problem in words. */
static int fail(const struct policy_reader *reader, struct policy_problems *ret_problems,
                struct err *err)
{
    const struct policy_problems *found = &reader->problems.found;

    if (reader->problems.no_memory)
        return err_no_memory(err);
    const struct policy_problem *first = &found->items[0];
    if (ret_problems)
        *ret_problems = *found;
    char line[16] = "";
    if (first->line)
        (void) snprintf(line, sizeof(line), ":%u", first->line); /* fits */
    (void) err_set(err, ERR_REQUEST, "%s%s: %s%s%s", reader->context->where, line, first->key,
                   first->key[0] ? ": " : "", first->message); /* -1, as below */
    if (found->count > 1)
        return err_hint(err, "%zu more problems: see 'wasp policy check'",
                        found->count - 1 + found->omitted);
    return -1;
}

int policy_parse(const char *text, size_t len, const struct policy_context *context,
                 struct arena *arena, struct policy *ret_policy,
                 struct policy_problems *ret_problems, struct err *err)
{
    struct policy policy = {.layer = context->layer, .where = context->where};
    struct policy_reader reader = {
        .problems = {.arena = arena},
        .context = context,
        .no_home = judge_home(context->home),
        .policy = &policy,
    };
    struct node document;

    if (ret_problems)
        *ret_problems = (struct policy_problems){0};
    reader.home = reader.no_home ? NULL : context->home;
    int rc = context->is_yaml ? document_parse_yaml(text, len, &reader.problems, &document)
                              : document_parse_json(text, len, &reader.problems, &document);
    if (rc == 0)
        read_document(&reader, &document);
    problems_sort(&reader.problems);
    if (problems_any(&reader.problems))
        return fail(&reader, ret_problems, err);
    if (document_digest(&document, &policy.digest) < 0)
        return err_no_memory(err);
    *ret_policy = policy;
    return 0;
}
