#include "gate/record.h"

#include "base/clock.h"

enum audit_mode record_mode(const struct gate *gate)
{
    const struct gate_options *options = gate->options;
    enum audit_mode standard = options->principal.is_agent || gate->policies.count > 0
                                   ? AUDIT_REQUIRED
                                   : AUDIT_BEST_EFFORT;
    enum audit_mode said = gate->settings.audit != AUDIT_UNSAID ? gate->settings.audit : standard;

    /* Who has a policy over him can only ask for more. */
    if (options->audit == AUDIT_UNSAID || (gate->policies.count > 0 && options->audit < said))
        return said;
    return options->audit;
}

int record_open(struct gate *gate, struct err *err)
{
    enum audit_mode mode = record_mode(gate);
    const struct audit_settings settings = {
        .durability = gate->settings.durability,
        .rotate_bytes = gate->settings.rotate_bytes,
        .keep_segments = gate->settings.keep_segments,
        .secrets = gate->secrets,
    };

    if (gate->audit || mode == AUDIT_OFF)
        return 0;
    gate->leave.audits = true;
    if (audit_open(gate->places->state_dir, &settings, &gate->audit, &gate->audit_err) == 0)
        return 0;
    gate->leave.audit_error = gate->audit_err.message;
    if (mode != AUDIT_REQUIRED)
        return 0;
    *err = gate->audit_err;
    return err_prefix(err, "the audit log is required");
}

/* The lowest that anybody named, or that is in force for want of a policy. */
static const char *find_tier(const struct gate *gate)
{
    enum tier lowest = gate->options->tier;
    bool has_tier = false;

    for (size_t i = 0; i < gate->policies.count; i++) {
        const struct policy *layer = &gate->policies.layers[i];
        has_tier = has_tier || layer->layer == LAYER_TIER;
        if (layer->tier != TIER_NONE && (lowest == TIER_NONE || layer->tier < lowest))
            lowest = layer->tier;
    }
    if (!has_tier)
        return NULL;
    return tier_names[lowest == TIER_NONE ? TIER_LOW : lowest];
}

void record_init(const struct gate *gate, const char *event, struct audit_record *ret_record)
{
    *ret_record = (struct audit_record){
        .event = event,
        .run_id = gate->run_id,
        .principal = gate->options->principal.name,
        .backend = gate->backend,
        .policy = gate->policies.count > 0 ? &gate->policies.digest : NULL,
        .request = gate->leave.has_request ? &gate->leave.request : NULL,
        .tier = find_tier(gate),
    };
}

int record_write(struct gate *gate, const struct audit_record *record, struct err *err)
{
    if (!gate->audit)
        return 0; /* off; or it could not be opened, which was told and put up with */
    if (audit_append(gate->audit, record, &gate->leave.place, &gate->audit_err) == 0) {
        gate->leave.has_place = true;
        return 0;
    }
    gate->leave.has_place = false;
    gate->leave.audit_error = gate->audit_err.message;
    if (record_mode(gate) != AUDIT_REQUIRED)
        return 0;
    *err = gate->audit_err;
    return err_prefix(err, "the audit log is required");
}

int record_grant(struct gate *gate, const char *event, const struct grant *grant, uint64_t at_ms,
                 struct err *err)
{
    const char *ids[] = {grant->id};
    struct audit_record record;

    record_init(gate, event, &record);
    record.principal = grant->holder;
    record.capability = capability_rows[grant->capability].name;
    record.scope = grant->scope;
    record.grants = ids;
    record.n_grants = 1;
    record.approval = grant->approval;
    record.by = grant->approved_by;
    record.at_ms = at_ms;
    return record_write(gate, &record, err);
}

/* By the store's word: other runs may have used it, too. */
static bool is_spent(struct gate *gate, const struct grant *grant)
{
    struct grant kept;
    struct err ignored; /* then it is not said that it is spent, which the next use will say */

    return grants_find(gate->db, grant->id, gate->arena, &kept, &ignored) == 0 &&
           kept.uses_left == 0;
}

int record_use(struct gate *gate, const struct grant *grant, struct err *err)
{
    if (record_grant(gate, "grant_used", grant, 0, err) < 0)
        return -1;
    return is_spent(gate, grant) ? record_grant(gate, "grant_spent", grant, 0, err) : 0;
}

int record_expired(struct gate *gate, uint64_t now_ms, struct err *err)
{
    struct approval_list approvals;
    struct grant_list grants;
    struct audit_record record;

    if (grants_take_expired(gate->db, now_ms, gate->arena, &grants, err) < 0 ||
        approvals_take_expired(gate->db, now_ms, gate->arena, &approvals, err) < 0)
        return -1;
    for (size_t i = 0; i < grants.count; i++)
        if (record_grant(gate, "grant_expired", &grants.items[i], grants.items[i].expires_ms, err) <
            0)
            return -1;
    for (size_t i = 0; i < approvals.count; i++) {
        const struct approval *approval = &approvals.items[i];
        record_init(gate, "approval_expired", &record);
        record.run_id = NULL;
        record.principal = approval->holder;
        record.approval = approval->id;
        record.request = &approval->request;
        record.decision = verdict_names[VERDICT_DENY];
        record.at_ms = approval->expires_ms;
        if (record_write(gate, &record, err) < 0)
            return -1;
    }
    return 0;
}

const char *record_rule(const struct gate *gate, const struct judgement *judgement,
                        const struct need *need)
{
    const struct policy *layer = judgement->layer;
    const char *section = section_names[capability_rows[need->capability].section];

    if (!layer)
        return NULL;
    if (!judgement->rule)
        return arena_printf(gate->arena, "%s: no rule of %s", layer->where, section);
    return arena_printf(gate->arena, "%s:%u %s '%s'", layer->where, judgement->rule->line, section,
                        judgement->rule->text);
}
