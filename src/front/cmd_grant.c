/*
 * grant: revocable tokens for agents: list, create, revoke.
 */
#include <unistd.h>

#include "base/cleanup.h"
#include "front/ledger.h"
#include "front/page.h"
#include "front/record.h"
#include "front/scope_make.h"
#include "front/verb.h"
#include "plan/principal.h"
#include "report/grants.h"

#define DEFAULT_TTL_MS (10ULL * 60 * 1000)

/* One grant as the answer. */
static int print(const struct grant *grant, const char *done, bool as_json, uint64_t now_ms)
{
    _cleanup_(page_release) struct page page = PAGE_INIT;
    struct json_writer json;

    if (!as_json) {
        page_add(&page, "%s ", done);
        page.failed |= grant_show(&page.text, grant, now_ms) < 0;
        return page_print(&page);
    }
    json_writer_init_fd(&json, STDOUT_FILENO);
    json_open_object(&json);
    json_key(&json, "schema");
    json_put_string(&json, "wasp.grant/1");
    grant_write(&json, grant, now_ms);
    json_close_object(&json);
    return ledger_finish(&json);
}

/* An agent: the owner holds no grants, he makes them. */
static int parse_holder(const char *text, struct arena *arena, const char **ret_holder,
                        struct err *err)
{
    struct principal principal;

    if (principal_parse(text, &principal, err) < 0)
        return err_prefix(err, "--holder");
    if (!principal.is_agent)
        return err_set(err, ERR_USAGE, "--holder: '%s' needs no grant: it is for agent:NAME", text);
    *ret_holder = arena_strdup(arena, principal.name);
    return *ret_holder ? 0 : err_no_memory(err);
}

/* ---- list ------------------------------------------------------------------------------------ */

struct list_options {
    const char *holder;
    bool json, all;
};

static const struct option list_rows[] = {
    {"--holder", "agent:NAME", "only those of this agent", .kind = OPTION_TEXT,
     .at = offsetof(struct list_options, holder)},
    {"--all", NULL, "also those that are spent, expired or revoked", .kind = OPTION_FLAG,
     .at = offsetof(struct list_options, all)},
    {"--json", NULL, "print them as JSON", .kind = OPTION_FLAG,
     .at = offsetof(struct list_options, json)},
};

static const struct syntax list_syntax = {
    .verb = "grant list",
    .options = list_rows,
    .n_options = ARRAY_SIZE(list_rows),
};

static int print_json(const struct grant_list *list, uint64_t now_ms)
{
    struct json_writer json;

    json_writer_init_fd(&json, STDOUT_FILENO);
    json_open_object(&json);
    json_key(&json, "schema");
    json_put_string(&json, "wasp.grants/1");
    json_key(&json, "grants");
    json_open_array(&json);
    for (size_t i = 0; i < list->count; i++) {
        json_open_object(&json);
        grant_write(&json, &list->items[i], now_ms);
        json_close_object(&json);
    }
    json_close_array(&json);
    json_close_object(&json);
    return ledger_finish(&json);
}

/* A page each: all of them may be more than one holds. */
static int print_text(const struct grant_list *list, uint64_t now_ms)
{
    int status = 0;

    if (list->count == 0) {
        _cleanup_(page_release) struct page none = PAGE_INIT;
        page_add(&none, "no grants\n");
        return page_print(&none);
    }
    for (size_t i = 0; i < list->count && status == 0; i++) {
        _cleanup_(page_release) struct page page = PAGE_INIT;
        page.failed = grant_show(&page.text, &list->items[i], now_ms) < 0;
        status = page_print(&page);
    }
    return status;
}

static int list(const struct call *call)
{
    _cleanup_(ledger_release) struct ledger ledger = {0};
    struct list_options wanted = {0};
    struct grant_list found = {.items = NULL};
    struct err err;

    if (options_parse(&list_syntax, call->words, &wanted, call->arena, &err) < 0 ||
        (wanted.holder && parse_holder(wanted.holder, call->arena, &wanted.holder, &err) < 0) ||
        ledger_open(LEDGER_LOOK, call->arena, &ledger, &err) < 0 ||
        (ledger.db && grants_list(ledger.db, wanted.holder, !wanted.all, ledger.now_ms, call->arena,
                                  &found, &err) < 0))
        return page_fail(&err);
    return wanted.json ? print_json(&found, ledger.now_ms) : print_text(&found, ledger.now_ms);
}

static const struct verb verb_list = {
    .syntax = &list_syntax,
    .summary = "print the grants that can be used",
    .about = "Prints the grants that agents hold and can use now, the oldest first ('wasp schema "
             "grants').",
    .main = list,
};

/* ---- create ---------------------------------------------------------------------------------- */

struct create_options {
    const char *holder, *capability, *scope, *reason, *ttl, *uses;
    bool json;
};

static const char *const capabilities[] = {"fs_read", "fs_write", "net_http", "exec_run",
                                           "env_set", "code_run", NULL};
_Static_assert(ARRAY_SIZE(capabilities) == CAPABILITIES + 1, "each of capability.h, in its order");

static const struct option create_rows[] = {
    {"--holder", "agent:NAME", "who may use it", .kind = OPTION_TEXT,
     .at = offsetof(struct create_options, holder), .required = true},
    {"--capability", "NAME", "what it is for", .kind = OPTION_TEXT,
     .at = offsetof(struct create_options, capability), .choices = capabilities, .required = true},
    {"--scope", "SCOPE",
     "how far it reaches: a path and all beneath it; a program and its arguments; a variable's "
     "name; a language or module:PATH; loopback or 'METHOD URL'",
     .kind = OPTION_TEXT, .at = offsetof(struct create_options, scope), .required = true},
    {"--ttl", "TIME", "how long it lasts; 10m unless given", .kind = OPTION_TEXT,
     .at = offsetof(struct create_options, ttl)},
    {"--uses", "N", "how many runs or calls may use it; 1 unless given", .kind = OPTION_TEXT,
     .at = offsetof(struct create_options, uses)},
    {"--reason", "TEXT", "why, for whoever reads the list", .kind = OPTION_TEXT,
     .at = offsetof(struct create_options, reason)},
    {"--json", NULL, "print it as JSON", .kind = OPTION_FLAG,
     .at = offsetof(struct create_options, json)},
};

static const struct syntax create_syntax = {
    .verb = "grant create",
    .options = create_rows,
    .n_options = ARRAY_SIZE(create_rows),
};

/* The grant that the options ask for, but for what the ledger knows. */
static int judge(const struct create_options *options, struct arena *arena, uint64_t *ret_ttl_ms,
                 struct grant *ret_grant, struct err *err)
{
    struct grant grant = {.uses_left = 1, .reason = options->reason};
    uint64_t ttl_ms = DEFAULT_TTL_MS;

    grant.capability = (enum capability) capability_find(options->capability);
    if (parse_holder(options->holder, arena, &grant.holder, err) < 0 ||
        (options->ttl && ledger_parse_ttl(options->ttl, &ttl_ms, err) < 0) ||
        (options->uses && ledger_parse_uses(options->uses, &grant.uses_left, err) < 0))
        return -1;
    if (scope_make(grant.capability, options->scope, arena, &grant.scope, err) < 0)
        return -1;
    *ret_ttl_ms = ttl_ms;
    *ret_grant = grant;
    return 0;
}

static int create(const struct call *call)
{
    _cleanup_(ledger_release) struct ledger ledger = {0};
    struct create_options wanted = {0};
    struct grant grant;
    uint64_t ttl_ms;
    struct err err;

    if (options_parse(&create_syntax, call->words, &wanted, call->arena, &err) < 0 ||
        judge(&wanted, call->arena, &ttl_ms, &grant, &err) < 0 ||
        ledger_open(LEDGER_CHANGE, call->arena, &ledger, &err) < 0)
        return page_fail(&err);
    grant.created_ms = ledger.now_ms;
    grant.expires_ms = ledger.now_ms + ttl_ms;
    grant.approved_by = ledger.by;
    if (grants_create(ledger.db, &grant, &err) < 0)
        return page_fail(&err);
    if (record_change(&ledger, "grant_created", NULL, &grant, 1, call->arena, &err) < 0)
        return page_fail(&err);
    return print(&grant, "granted", wanted.json, ledger.now_ms);
}

static const struct verb verb_create = {
    .syntax = &create_syntax,
    .summary = "let an agent do one thing, for a while",
    .about = "Makes a grant: the agent may use what the scope names until it expires, has no uses "
             "left or is revoked. Paths and programs are those that are meant now: links are "
             "followed, a bare program name is looked for where cells look for it. A grant allows "
             "what a policy asks about or does not mention; never what a 'deny' rule names, nor "
             "what the system's policy does not mention.",
    .main = create,
};

/* ---- revoke ---------------------------------------------------------------------------------- */

struct revoke_options {
    const char *id;
    bool json;
};

static const struct option revoke_rows[] = {
    {"--json", NULL, "print it as JSON", .kind = OPTION_FLAG,
     .at = offsetof(struct revoke_options, json)},
};

static const struct operand revoke_operand = {"ID", .at = offsetof(struct revoke_options, id)};

static const struct syntax revoke_syntax = {
    .verb = "grant revoke",
    .options = revoke_rows,
    .n_options = ARRAY_SIZE(revoke_rows),
    .operands = &revoke_operand,
    .n_operands = 1,
};

static int take_back(const struct call *call)
{
    _cleanup_(ledger_release) struct ledger ledger = {0};
    struct revoke_options wanted = {0};
    struct grant grant;
    struct err err;

    if (options_parse(&revoke_syntax, call->words, &wanted, call->arena, &err) < 0 ||
        ledger_open(LEDGER_CHANGE, call->arena, &ledger, &err) < 0 ||
        grants_revoke(ledger.db, wanted.id, ledger.now_ms, call->arena, &grant, &err) < 0)
        return page_fail(&err);
    if (record_change(&ledger, "grant_revoked", NULL, &grant, 1, call->arena, &err) < 0)
        return page_fail(&err);
    return print(&grant, "revoked", wanted.json, ledger.now_ms);
}

static const struct verb verb_revoke = {
    .syntax = &revoke_syntax,
    .summary = "take a grant back",
    .about = "Takes the grant back at once: it cannot be used any more, and a run that has a "
             "directory or a variable by it ends. ID may be the beginning of one, 8 characters at "
             "least, that no other has.",
    .main = take_back,
};

static const struct verb *const verbs[] = {&verb_list, &verb_create, &verb_revoke, NULL};

static const struct syntax syntax = {.verb = "grant"};

const struct verb verb_grant = {
    .syntax = &syntax,
    .summary = "what agents may do beyond the policy, for a while",
    .verbs = verbs,
};
