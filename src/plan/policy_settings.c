/*
 * policy_settings: what a policy says besides its lists: limits, approval, audit.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "plan/policy_reader.h"

#define MS_PER_DAY (24 * 60 * 60 * INT64_C(1000))

/* ---- limits ---------------------------------------------------------------------------------- */

/* The number that one of the backends takes; 0 and *err if none does. */
static uint64_t judge_limit(enum limit limit, const struct node *node, struct err *err)
{
    for (int backend = 0; backend < BACKENDS; backend++) {
        struct limits limits;
        limits_init(&limits, (enum backend) backend);
        if (!limit_exists(limit, (enum backend) backend))
            continue;
        int rc = node->kind == JSON_KIND_INT
                     ? limits_set_number(&limits, limit, node->number, err)
                     : limits_set_unlimited(&limits, limit, limit_rows[limit].key, err);
        if (rc == 0)
            return limits.value[limit];
    }
    return 0;
}

/* `into` is the list of values, by limit. */
static void read_limit(struct policy_reader *reader, struct found found, void *into)
{
    uint64_t *values = into;
    const struct node *node = found.node;
    bool is_unlimited = node->kind == JSON_KIND_STRING && strcmp(node->text, "unlimited") == 0;
    int limit = 0;
    struct err err;

    while (limit < LIMIT_COUNT && strcmp(limit_rows[limit].key, found.place->key) != 0)
        limit++;
    if (limit == LIMIT_COUNT) {
        (void) found_refuse(reader, found, "unknown limit: see 'wasp schema policy'");
        return;
    }
    if (node->kind != JSON_KIND_INT && !is_unlimited) {
        (void) found_refuse(reader, found, "must be a whole number or \"unlimited\"");
        return;
    }
    values[limit] = judge_limit((enum limit) limit, node, &err);
    if (values[limit] == 0)
        (void) found_refuse(reader, found, "%s", err.message);
}

static void read_limit_list(struct policy_reader *reader, struct found found, void *into)
{
    members_read(reader, found, read_limit, into);
}

static void read_limit_default(struct policy_reader *reader, struct found found, void *into)
{
    (void) into; /* it is the policy's */
    read_limit_list(reader, found, reader->policy->limit_default);
}

static void read_limit_max(struct policy_reader *reader, struct found found, void *into)
{
    (void) into; /* it is the policy's */
    read_limit_list(reader, found, reader->policy->limit_max);
}

void read_limits(struct policy_reader *reader, struct found found, void *into)
{
    static const struct field fields[] = {
        {"default", JSON_KIND_OBJECT, read_limit_default, .required = false},
        {"max", JSON_KIND_OBJECT, read_limit_max, .required = false},
    };
    const struct policy *policy = reader->policy;

    fields_read(reader, found, fields, ARRAY_SIZE(fields), into);
    for (int i = 0; i < LIMIT_COUNT; i++)
        if (policy->limit_max[i] != 0 && policy->limit_default[i] > policy->limit_max[i])
            (void) found_refuse(reader, found, "the default of %s is above its max: lower it",
                                limit_rows[i].key);
}

/* ---- approval -------------------------------------------------------------------------------- */

static int find_capability(struct policy_reader *reader, struct found found)
{
    int capability = capability_find(found.place->key);

    if (capability < 0)
        (void) found_refuse(reader, found,
                            "unknown capability: there are fs_read, fs_write, net_http, exec_run, "
                            "env_set, code_run");
    return capability;
}

static int find_risk(struct policy_reader *reader, struct found found)
{
    const char *names[RISKS + 1] = {NULL};

    for (int i = 0; i < RISKS; i++)
        names[i] = risk_rows[i].name;
    return found_choice(reader, found, names, 0);
}

static void read_one_risk(struct policy_reader *reader, struct found found, void *into)
{
    int capability = find_capability(reader, found);
    int risk = find_risk(reader, found);

    (void) into; /* it is the policy's, as with all below */
    if (capability >= 0)
        reader->policy->risk[capability] = risk;
}

static void read_one_per_hour(struct policy_reader *reader, struct found found, void *into)
{
    int capability = find_capability(reader, found);
    int64_t number = -1;

    (void) into;
    (void) found_number(reader, found, 0, 1000000, &number); /* or -1: a problem says it */
    if (capability >= 0)
        reader->policy->per_hour[capability] = (int) number;
}

static void read_one_simulate(struct policy_reader *reader, struct found found, void *into)
{
    int risk = find_risk(reader, found);

    (void) into;
    if (risk >= 0)
        reader->policy->simulate[risk] = true;
}

static void read_risk(struct policy_reader *reader, struct found found, void *into)
{
    members_read(reader, found, read_one_risk, into);
}

static void read_per_hour(struct policy_reader *reader, struct found found, void *into)
{
    members_read(reader, found, read_one_per_hour, into);
}

static void read_simulate(struct policy_reader *reader, struct found found, void *into)
{
    elements_read(reader, found, read_one_simulate, into);
}

static void read_pending(struct policy_reader *reader, struct found found, void *into)
{
    int64_t number = 0;

    (void) into;
    (void) found_number(reader, found, 1000, 30 * MS_PER_DAY, &number); /* or 0, as below */
    reader->policy->pending_ms = (uint64_t) number;
}

static void read_ttl(struct policy_reader *reader, struct found found, void *into)
{
    int64_t number = 0;

    (void) into;
    (void) found_number(reader, found, 1000, 366 * MS_PER_DAY, &number);
    reader->policy->ttl_ms = (uint64_t) number;
}

static void read_uses(struct policy_reader *reader, struct found found, void *into)
{
    int64_t number = 0;

    (void) into;
    (void) found_number(reader, found, 1, 1000000, &number);
    reader->policy->uses = (uint32_t) number;
}

void read_approval(struct policy_reader *reader, struct found found, void *into)
{
    static const struct field fields[] = {
        {"risk", JSON_KIND_OBJECT, read_risk, .required = false},
        {"per_hour", JSON_KIND_OBJECT, read_per_hour, .required = false},
        {"simulate", JSON_KIND_ARRAY, read_simulate, .required = false},
        {"pending_ms", JSON_KIND_INT, read_pending, .required = false},
        {"ttl_ms", JSON_KIND_INT, read_ttl, .required = false},
        {"uses", JSON_KIND_INT, read_uses, .required = false},
    };

    fields_read(reader, found, fields, ARRAY_SIZE(fields), into);
}

/* ---- audit ----------------------------------------------------------------------------------- */

static void read_mode(struct policy_reader *reader, struct found found, void *into)
{
    int mode = found_choice(reader, found, audit_mode_names, AUDIT_OFF);

    (void) into;
    reader->policy->audit = mode < 0 ? AUDIT_UNSAID : (enum audit_mode) mode;
}

static void read_durability(struct policy_reader *reader, struct found found, void *into)
{
    int durability = found_choice(reader, found, durability_names, DURABILITY_KILL);

    (void) into;
    reader->policy->durability = durability < 0 ? DURABILITY_UNSAID : (enum durability) durability;
}

/* Smaller segments would be more names than records. */
static void read_rotate(struct policy_reader *reader, struct found found, void *into)
{
    int64_t number = 0;

    (void) into;
    (void) found_number(reader, found, INT64_C(1) << 20, INT64_C(1) << 40, &number);
    reader->policy->rotate_bytes = (uint64_t) number;
}

static void read_keep(struct policy_reader *reader, struct found found, void *into)
{
    int64_t number = 0;

    (void) into;
    (void) found_number(reader, found, 1, 1000000, &number);
    reader->policy->keep_segments = (uint32_t) number;
}

void read_audit(struct policy_reader *reader, struct found found, void *into)
{
    static const struct field fields[] = {
        {"mode", JSON_KIND_STRING, read_mode, .required = false},
        {"durability", JSON_KIND_STRING, read_durability, .required = false},
        {"rotate_bytes", JSON_KIND_INT, read_rotate, .required = false},
        {"keep_segments", JSON_KIND_INT, read_keep, .required = false},
    };

    fields_read(reader, found, fields, ARRAY_SIZE(fields), into);
}
