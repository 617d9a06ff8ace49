#include "gate/approval.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/redact.h"
#include "gate/record.h"
#include "plan/words.h"
#include "report/explain.h"

/* What a policy does not say. */
#define PENDING_MS (15ULL * 60 * 1000)
#define TTL_MS (10ULL * 60 * 1000)
#define USES 1

#define PLAN_MAX_BYTES ((size_t) 8 << 20)

/* ---- what is asked --------------------------------------------------------------------------- */

/* What is approved is kept and shown as it is, so it must hold none. */
static bool shows_secret(const struct gate *gate, const char *text)
{
    _cleanup_(buf_release) struct buf out = BUF_INIT(PLAN_MAX_BYTES);
    struct redactor redactor;

    if (!gate->secrets)
        return false;
    redactor_init(&redactor, gate->secrets, false);
    bool failed = redactor_add(&redactor, text, strlen(text), &out) < 0 ||
                  redactor_finish(&redactor, &out) < 0;
    bool shown = failed || redactor.count > 0;
    redactor_release(&redactor);
    return shown;
}

static int refuse_secret(const char *where, struct err *err)
{
    (void) err_set(err, ERR_DENIED, /* -1, as below */
                   "a registered secret stands in what would be approved: in %s", where);
    return err_hint(err, "give it by its variable alone");
}

static int check_secrets(const struct gate *gate, const struct request *request, struct err *err)
{
    for (size_t i = 0; request && i < request->n_args; i++)
        if (shows_secret(gate, request->args[i]))
            return refuse_secret("an argument", err);
    return 0;
}

static int list_items(struct gate *gate, struct approval *approval, struct err *err)
{
    approval->items = arena_array(gate->arena, gate->needs.count, sizeof(*approval->items));
    if (!approval->items)
        return err_no_memory(err);
    for (size_t i = 0; i < gate->needs.count; i++) {
        const struct judgement *judgement = &gate->decision.judgements[i];
        const struct need *need = &gate->needs.items[i];
        if (judgement->verdict != VERDICT_ASK)
            continue;
        if (shows_secret(gate, need->scope))
            return refuse_secret(capability_rows[need->capability].name, err);
        if (approval->n_items == APPROVAL_MAX_ITEMS)
            return err_set(err, ERR_DENIED, "more than %d things would have to be approved",
                           APPROVAL_MAX_ITEMS);
        approval->items[approval->n_items++] = (struct approval_item){
            .capability = need->capability,
            .scope = need->scope,
            .rule = record_rule(gate, judgement, need),
            .reason = judgement->rule ? judgement->rule->reason : NULL,
        };
    }
    return 0;
}

/* What would run, in one line, as a person reads it; the store's list escapes it. */
static const char *summarise(const struct request *request, struct arena *arena)
{
    _cleanup_(buf_release) struct buf text = BUF_INIT(4096);
    const char *what = request->source    ? request->language
                       : request->program ? request->program
                                          : request->module;
    int rc = buf_printf(&text, "%s", request_backend_names[request->backend]);

    if (rc == 0)
        rc = words_join(&text, &what, 1);
    /* quoted, so that a word with a space in it is not taken for two */
    for (size_t i = 0; rc == 0 && i < request->n_args; i++)
        rc = words_join(&text, &request->args[i], 1);
    if (rc < 0 && text.len > 3) /* cut, and seen to be */
        memcpy(text.data + text.len - 3, "...", 3);
    char *summary = arena_strdup(arena, text.data ? text.data : "?");
    if (summary) /* whether anything was taken is no matter */
        (void) redact_text(summary, strlen(summary) + 1, request->secrets);
    return summary;
}

/* With directories where they are: what "." is, whoever approves it cannot know. */
static const char *write_plan(const struct gate *gate, const struct request *request)
{
    _cleanup_(buf_release) struct buf plan = BUF_INIT(PLAN_MAX_BYTES);
    struct request shown = *request;
    struct json_writer json;

    shown.dirs = arena_array(gate->arena, request->n_dirs + 1, sizeof(*shown.dirs));
    if (!shown.dirs)
        return NULL;
    for (size_t i = 0; i < request->n_dirs; i++) {
        shown.dirs[i] = request->dirs[i];
        if (gate->facts.dirs[i].is_known)
            shown.dirs[i].host = gate->facts.dirs[i].real;
    }
    json_writer_init_buf(&json, &plan);
    if (explain_put(&json, &shown, true) < 0 || json_finish(&json) < 0)
        return NULL;
    return arena_strndup(gate->arena, plan.data, plan.len - 1); /* without its newline */
}

static int describe(struct gate *gate, const struct request *request, struct approval *approval,
                    struct err *err)
{
    const struct settings *settings = &gate->settings;

    *approval = (struct approval){
        .holder = gate->options->principal.name,
        .request = gate->leave.request,
        .summary = request ? summarise(request, gate->arena) : gate->call,
        .plan = request ? write_plan(gate, request) : gate->call,
        .created_ms = gate_now_ms(),
        .max_ttl_ms = settings->ttl_ms,
        .max_uses = settings->uses,
    };
    approval->expires_ms =
        approval->created_ms + (settings->pending_ms ? settings->pending_ms : PENDING_MS);
    if (!approval->summary || !approval->plan)
        return err_set(err, ERR_DENIED, "the request is too large to be shown to a person");
    if (check_secrets(gate, request, err) < 0)
        return -1;
    return list_items(gate, approval, err);
}

/* ---- the answer ------------------------------------------------------------------------------ */

static int record_approval(struct gate *gate, const char *event, const struct approval *approval,
                           const char *decision, struct err *err)
{
    struct audit_record record;

    record_init(gate, event, &record);
    record.approval = approval->id;
    record.decision = decision;
    record.by = approval->answered_by;
    record.capability = capability_rows[approval->items[0].capability].name;
    record.scope = approval->items[0].scope;
    record.rule = approval->items[0].rule;
    return record_write(gate, &record, err);
}

/* Somebody said no to this very request, and the time it could have waited is not over. */
static int check_denied(struct gate *gate, struct err *err)
{
    struct approval last;
    uint64_t now_ms = gate_now_ms();
    char when[CLOCK_TEXT_SIZE], until[CLOCK_TEXT_SIZE];
    struct err none;

    if (approvals_last(gate->db, gate->options->principal.name, &gate->leave.request, now_ms,
                       gate->arena, &last, &none) < 0) {
        if (none.code == ERR_NOT_FOUND)
            return 0;
        *err = none;
        return -1;
    }
    if (last.state != APPROVAL_DENIED || now_ms >= last.expires_ms)
        return 0;
    clock_format(last.answered_ms * NS_PER_MS, when);
    clock_format(last.expires_ms * NS_PER_MS, until);
    (void) err_set(err, ERR_DENIED, "a person denied this request at %s, which stands until %s",
                   when, until); /* -1, as below */
    return err_hint(err, "ask for something else; the owner can allow it: wasp help grant create");
}

static int file_request(struct gate *gate, struct approval *approval, struct err *err)
{
    bool is_new;

    if (check_denied(gate, err) < 0 ||
        approvals_ask(gate->db, approval, gate_now_ms(), &is_new, err) < 0)
        return -1;
    gate->leave.approval = arena_strdup(gate->arena, approval->id);
    gate->leave.approval_expires_ms = approval->expires_ms;
    if (!gate->leave.approval)
        return err_no_memory(err);
    if (is_new &&
        record_approval(gate, "approval_requested", approval, verdict_names[VERDICT_ASK], err) < 0)
        return -1;
    return 0;
}

static int say_waiting(const struct gate *gate, const struct approval *approval, struct err *err)
{
    const struct approval_item *item = &approval->items[0];

    if (approval->n_items > 1)
        (void) err_set(err, ERR_APPROVAL, /* -1, as below */
                       "%s needs a person's approval for %s '%s' and %zu more",
                       gate->options->principal.name, capability_rows[item->capability].name,
                       item->scope, approval->n_items - 1);
    else
        (void) err_set(err, ERR_APPROVAL, "%s needs a person's approval for %s '%s'",
                       gate->options->principal.name, capability_rows[item->capability].name,
                       item->scope);
    if (item->reason)
        return err_hint(err, "%s; the owner runs 'wasp approve %s', then repeat the request",
                        item->reason, approval->id);
    return err_hint(err, "the owner runs 'wasp approve %s', then repeat the request", approval->id);
}

/* The new grants, and the decision once more: nothing is assumed of what they cover. */
static int adopt(struct gate *gate, struct grant *grants, size_t n_grants, struct err *err)
{
    struct grant *all =
        arena_array(gate->arena, gate->grants.count + n_grants, sizeof(struct grant));

    if (!all)
        return err_no_memory(err);
    if (gate->grants.count > 0)
        memcpy(all, gate->grants.items, gate->grants.count * sizeof(*all));
    memcpy(all + gate->grants.count, grants, n_grants * sizeof(*all));
    gate->grants = (struct grant_list){.items = all, .count = gate->grants.count + n_grants};
    gate->authority.grants = all;
    gate->authority.n_grants = gate->grants.count;
    if (decide_all(&gate->authority, &gate->needs, gate->arena, &gate->decision, err) < 0)
        return -1;
    return gate->decision.verdict == VERDICT_ALLOW
               ? 0
               : err_set(err, ERR_DENIED, "what was approved does not cover the request");
}

static int answer(struct gate *gate, struct approval *approval, bool yes, struct err *err)
{
    uint64_t ttl_ms = gate->settings.ttl_ms ? gate->settings.ttl_ms : TTL_MS;
    struct approval kept;
    struct grant *grants;
    size_t n_grants;
    char by[32];

    (void) snprintf(by, sizeof(by), "uid:%u", (unsigned int) getuid()); /* fits */
    if (!yes) {
        if (approvals_deny(gate->db, approval->id, by, gate_now_ms(), gate->arena, &kept, err) <
                0 ||
            record_approval(gate, "denied", &kept, verdict_names[VERDICT_DENY], err) < 0)
            return -1;
        return err_set(err, ERR_DENIED, "the person at the terminal said no");
    }
    if (approvals_approve(gate->db, approval->id, ttl_ms < TTL_MS ? ttl_ms : TTL_MS, USES, by,
                          gate_now_ms(), gate->arena, &kept, &grants, &n_grants, err) < 0 ||
        record_approval(gate, "approved", &kept, verdict_names[VERDICT_ALLOW], err) < 0)
        return -1;
    for (size_t i = 0; i < n_grants; i++)
        if (record_grant(gate, "grant_created", &grants[i], 0, err) < 0)
            return -1;
    return adopt(gate, grants, n_grants, err);
}

/* He holds no grants: his word is good for this run. */
static int ask_owner(struct gate *gate, const struct request *request, struct err *err)
{
    struct approval approval;

    if (describe(gate, request, &approval, err) < 0)
        return -1;
    approval.answered_by = gate->options->principal.name;
    if (gate->options->ask && gate->options->ask(&approval) == WORD_YES)
        return record_approval(gate, "approved", &approval, verdict_names[VERDICT_ALLOW], err);
    (void) err_set(err, ERR_DENIED, "a policy wants %s '%s' to be confirmed, and nobody did",
                   capability_rows[approval.items[0].capability].name,
                   approval.items[0].scope); /* -1, as below */
    return err_hint(err, "run it on a terminal and answer there, or have the policy allow it");
}

int approval_get(struct gate *gate, const struct request *request, struct err *err)
{
    struct approval approval;

    if (!gate->options->principal.is_agent)
        return ask_owner(gate, request, err);
    if (!gate->db && db_open(gate->places->state_dir, &gate->db, err) < 0)
        return -1;
    if (describe(gate, request, &approval, err) < 0 || file_request(gate, &approval, err) < 0)
        return -1;
    enum gate_word word = gate->options->ask ? gate->options->ask(&approval) : WORD_NONE;
    if (word == WORD_NONE)
        return say_waiting(gate, &approval, err);
    return answer(gate, &approval, word == WORD_YES, err);
}
