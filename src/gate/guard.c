/*
 * What a run rests on, watched while it goes on; and single uses of a capability.
 */
#include "base/cleanup.h"
#include "base/clock.h"
#include "gate/approval.h"
#include "gate/gate.h"
#include "gate/record.h"
#include "store/counters.h"

/* A grant that is taken back ends the run within a second. */
#define LOOK_NS (NS_PER_S / 4)

static int say_withdrawn(const struct grant *grant, uint64_t now_ms, struct err *err)
{
    (void) err_set(err, ERR_DENIED, "the grant %s (%s '%s') %s while the run rested on it",
                   grant->id, capability_rows[grant->capability].name, grant->scope,
                   now_ms >= grant->expires_ms ? "expired" : "was revoked"); /* -1, as below */
    return err_hint(err, "ask the owner for a new one");
}

static bool holds(void *data, uint64_t now_ns, uint64_t *ret_next_ns, struct err *ret_why)
{
    struct gate *gate = data;
    uint64_t now_ms = gate_now_ms();
    bool hold;
    size_t which;

    *ret_next_ns = now_ns + LOOK_NS;
    if (grants_hold(gate->db, gate->used, gate->n_used, now_ms, &hold, &which, ret_why) < 0) {
        ret_why->code = ERR_DENIED; /* whether it holds nobody can say */
        return false;
    }
    if (!hold)
        (void) say_withdrawn(gate->used[which], now_ms, ret_why); /* always -1 */
    return hold;
}

const struct guard *gate_guard(struct gate *gate)
{
    if (gate->n_used == 0)
        return NULL;
    gate->guard = (struct guard){.data = gate, .holds = holds};
    return &gate->guard;
}

static int check_grants(struct gate *gate, struct err *err)
{
    uint64_t next;

    return gate->n_used == 0 || holds(gate, 0, &next, err) ? 0 : -1;
}

/* What a call goes on to do ends when the grant does. */
static int rest_on(struct gate *gate, const struct grant *grant, struct err *err)
{
    gate->used = arena_array(gate->arena, 1, sizeof(void *));
    if (!gate->used)
        return err_no_memory(err);
    gate->used[0] = grant;
    gate->n_used = 1;
    gate->leave.grants = gate->used;
    gate->leave.n_grants = 1;
    return 0;
}

/* A grant that the run does not rest on already is used for this. */
static int use_grant(struct gate *gate, const struct grant *grant, struct err *err)
{
    for (size_t i = 0; i < gate->n_used; i++)
        if (gate->used[i] == grant)
            return 0;
    if (grants_use(gate->db, &grant, 1, gate_now_ms(), err) < 0 || record_use(gate, grant, err) < 0)
        return -1;
    return gate->call ? rest_on(gate, grant, err) : 0;
}

/* A guest in its run cannot wait for a person; a call that stands alone can be made again. */
static int ask_for(struct gate *gate, const struct need *need, struct judgement *judgement,
                   struct err *err)
{
    if (judgement->verdict != VERDICT_ASK || !gate->call)
        return decide_refuse(need, judgement, &gate->options->principal, err);
    gate->needs = (struct needs){.items = (struct need *) need, .count = 1};
    gate->decision = (struct decision){.verdict = VERDICT_ASK, .judgements = judgement};
    if (approval_get(gate, NULL, err) < 0)
        return -1;
    *judgement = gate->decision.judgements[0];
    return 0;
}

static int check_simulated(struct gate *gate, const struct judgement *judgement, struct err *err)
{
    if (!gate->call || (!judgement->simulate && !gate->options->simulated))
        return 0; /* a run's were looked at when it was admitted */
    gate->decision.simulate = judgement->simulate;
    return gate_check_simulated(gate, NULL, err);
}

static int judge_use(struct gate *gate, const struct need *need, struct judgement *judgement,
                     struct err *err)
{
    const struct principal *principal = &gate->options->principal;

    decide_need(&gate->authority, need, judgement);
    if (judgement->verdict != VERDICT_DENY && check_simulated(gate, judgement, err) < 0)
        return -1;
    if ((judgement->verdict != VERDICT_ALLOW && ask_for(gate, need, judgement, err) < 0) ||
        check_grants(gate, err) < 0)
        return -1;
    struct counter counter = {.capability = need->capability, .per_hour = judgement->per_hour};
    if (principal->is_agent && judgement->per_hour != PER_HOUR_ANY) {
        if (!gate->db && db_open(gate->places->state_dir, &gate->db, err) < 0)
            return -1;
        if (counters_use(gate->db, principal->name, &counter, 1, gate_now_ms(), NULL, err) < 0)
            return -1;
    }
    return judgement->grant ? use_grant(gate, judgement->grant, err) : 0;
}

static int record_call(struct gate *gate, const struct need *need,
                       const struct judgement *judgement, int rc, struct err *err)
{
    struct audit_record record;
    struct err failed;

    record_init(gate, "call", &record);
    record.decision = verdict_names[rc == 0 ? VERDICT_ALLOW : VERDICT_DENY];
    record.capability = capability_rows[need->capability].name;
    record.scope = need->scope;
    record.rule = record_rule(gate, judgement, need);
    record.reason = rc < 0 ? err->message : NULL;
    if (record_write(gate, &record, &failed) < 0) {
        *err = failed;
        return -1;
    }
    return rc;
}

int gate_check(struct gate *gate, const struct need *need, struct err *err)
{
    struct judgement judgement = {.verdict = VERDICT_ALLOW};
    int rc = gate_stands_open(gate) ? check_simulated(gate, &judgement, err)
                                    : judge_use(gate, need, &judgement, err);

    return record_call(gate, need, &judgement, rc, err);
}

int gate_peek(struct gate *gate, const struct need *need, struct err *err)
{
    struct judgement judgement;

    if (gate_stands_open(gate))
        return 0;
    decide_need(&gate->authority, need, &judgement);
    if (judgement.verdict != VERDICT_DENY)
        return 0;
    const struct need told = gate_as_asked(gate, need, &judgement);
    int rc = decide_refuse(&told, &judgement, &gate->options->principal, err);
    return record_call(gate, need, &judgement, rc, err);
}
