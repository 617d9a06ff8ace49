/*
 * approvals, approve, deny: requests that wait for the owner's word, and his word.
 */
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "front/ledger.h"
#include "front/page.h"
#include "front/record.h"
#include "front/verb.h"
#include "report/grants.h"

static void write_one(struct json_writer *json, const struct approval *approval)
{
    json_open_object(json);
    json_key(json, "schema");
    json_put_string(json, "wasp.approval/1");
    approval_write(json, approval);
}

/* Each as an object of its own, a line. */
static int print_one(const struct approval *approval, bool as_json, uint64_t now_ms)
{
    _cleanup_(page_release) struct page page = PAGE_INIT;
    struct json_writer json;

    if (!as_json) {
        page.text.max = 8 * APPROVAL_MAX_BYTES; /* escaped it is longer */
        page.failed = approval_show(&page.text, approval, now_ms) < 0;
        return page_print(&page);
    }
    json_writer_init_fd(&json, STDOUT_FILENO);
    write_one(&json, approval);
    json_close_object(&json);
    return ledger_finish(&json);
}

/* ---- approvals ------------------------------------------------------------------------------- */

struct approvals_options {
    const char *id;
    bool json, all, watch;
};

static const struct option approvals_rows[] = {
    {"--all", NULL, "also those that were answered or have expired", .kind = OPTION_FLAG,
     .at = offsetof(struct approvals_options, all)},
    {"--watch", NULL, "then print new ones as they come, until a signal ends it",
     .kind = OPTION_FLAG, .at = offsetof(struct approvals_options, watch)},
    {"--json", NULL, "print them as JSON; with --watch one object a line", .kind = OPTION_FLAG,
     .at = offsetof(struct approvals_options, json)},
};

static const struct operand approvals_operand = {"ID", .at = offsetof(struct approvals_options, id),
                                                 .optional = true};

static const struct syntax approvals_syntax = {
    .verb = "approvals",
    .options = approvals_rows,
    .n_options = ARRAY_SIZE(approvals_rows),
    .operands = &approvals_operand,
    .n_operands = 1,
};

static int print_json(const struct approval_list *list)
{
    struct json_writer json;

    json_writer_init_fd(&json, STDOUT_FILENO);
    json_open_object(&json);
    json_key(&json, "schema");
    json_put_string(&json, "wasp.approvals/1");
    json_key(&json, "approvals");
    json_open_array(&json);
    for (size_t i = 0; i < list->count; i++) {
        json_open_object(&json);
        approval_write(&json, &list->items[i]);
        json_close_object(&json);
    }
    json_close_array(&json);
    json_close_object(&json);
    return ledger_finish(&json);
}

static int print_list(const struct approval_list *list, uint64_t now_ms)
{
    _cleanup_(page_release) struct page page = PAGE_INIT;
    int status = 0;

    if (list->count == 0) {
        page_add(&page, "nothing waits\n");
        return page_print(&page);
    }
    for (size_t i = 0; i < list->count && status == 0; i++)
        status = print_one(&list->items[i], false, now_ms);
    return status;
}

/* ---- watching -------------------------------------------------------------------------------- */

#define LOOK_AGAIN_MS 200

/* Whether it was among those that waited when we last looked. */
static bool has_id(const struct approval_list *list, const char *id)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i].id, id) == 0)
            return true;
    return false;
}

static void free_arena(struct arena **arena)
{
    arena_free(*arena);
}

/*
 * Prints those that wait and were not among the ones seen; *seen then is what was found, in *arena,
 * which replaces the old one. The exit status.
 */
static int print_new(const struct ledger *ledger, bool as_json, struct approval_list *seen,
                     struct arena **arena)
{
    _cleanup_(free_arena) struct arena *next = arena_new();
    uint64_t now_ms = ledger_now_ms();
    struct approval_list found;
    struct err err;
    int status = 0;

    if (!next || approvals_list(ledger->db, true, now_ms, next, &found, &err) < 0) {
        if (!next)
            (void) err_no_memory(&err); /* always -1 */
        return page_fail(&err);
    }
    for (size_t i = 0; i < found.count && status == 0; i++)
        if (!has_id(seen, found.items[i].id))
            status = print_one(&found.items[i], as_json, now_ms);
    *seen = found;
    arena_free(*arena);
    *arena = next;
    next = NULL;
    return status;
}

/* Ends by a signal, an error, or with whoever reads what is printed. */
static int watch(const struct ledger *ledger, bool as_json)
{
    _cleanup_(free_arena) struct arena *arena = NULL;
    struct approval_list seen = {.items = NULL};
    struct pollfd reader = {.fd = STDOUT_FILENO, .events = 0};
    int status = 0;

    do {
        if (db_has_changed(ledger->db))
            status = print_new(ledger, as_json, &seen, &arena);
    } while (status == 0 && poll(&reader, 1, LOOK_AGAIN_MS) >= 0 && !(reader.revents & POLLERR));
    return status;
}

/* One, with its plan. */
static int show(const struct ledger *ledger, const struct approvals_options *wanted,
                struct arena *arena)
{
    struct approval approval;
    struct err err;

    if (!ledger->db)
        (void) err_set(&err, ERR_NOT_FOUND, "there is no approval '%s'", wanted->id); /* -1 */
    else if (approvals_find(ledger->db, wanted->id, ledger->now_ms, arena, &approval, &err) == 0)
        return print_one(&approval, wanted->json, ledger->now_ms);
    return page_fail(&err);
}

static int look(const struct approvals_options *wanted, struct arena *arena)
{
    _cleanup_(ledger_release) struct ledger ledger = {0};
    struct approval_list found = {.items = NULL};
    struct err err;

    /* who waits for what is to come needs a place where it comes to lie */
    if (ledger_open(wanted->watch ? LEDGER_CHANGE : LEDGER_LOOK, arena, &ledger, &err) < 0)
        return page_fail(&err);
    if (wanted->watch)
        return watch(&ledger, wanted->json);
    if (wanted->id)
        return show(&ledger, wanted, arena);
    if (ledger.db &&
        approvals_list(ledger.db, !wanted->all, ledger.now_ms, arena, &found, &err) < 0)
        return page_fail(&err);
    return wanted->json ? print_json(&found) : print_list(&found, ledger.now_ms);
}

static int approvals(const struct call *call)
{
    struct approvals_options wanted = {0};
    struct err err;

    if (options_parse(&approvals_syntax, call->words, &wanted, call->arena, &err) < 0)
        return page_fail(&err);
    if (wanted.watch + wanted.all + (wanted.id != NULL) > 1) {
        (void) err_set(&err, ERR_USAGE, "only one of --watch, --all and ID can be given"); /* -1 */
        return page_fail(&err);
    }
    return look(&wanted, call->arena);
}

const struct verb verb_approvals = {
    .syntax = &approvals_syntax,
    .summary = "print the requests that wait for your word",
    .about = "Prints what agents ask for and a policy leaves to you: who, since when and until "
             "when, exactly what would run, and each thing it needs with the rule that asks and "
             "its reason ('wasp schema approvals'). With ID that one, its whole plan included. "
             "Characters that could deceive the eye are escaped.",
    .main = approvals,
};

/* ---- approve, deny --------------------------------------------------------------------------- */

struct answer_options {
    const char *id, *ttl, *uses;
    bool json;
};

static const struct option approve_rows[] = {
    {"--ttl", "TIME",
     "how long what it asks for is granted; 10m unless given, or the policy's most",
     .kind = OPTION_TEXT, .at = offsetof(struct answer_options, ttl)},
    {"--uses", "N", "how often the request may run; 1 unless given", .kind = OPTION_TEXT,
     .at = offsetof(struct answer_options, uses)},
    {"--json", NULL, "print it as JSON", .kind = OPTION_FLAG,
     .at = offsetof(struct answer_options, json)},
};

static const struct option deny_rows[] = {
    {"--json", NULL, "print it as JSON", .kind = OPTION_FLAG,
     .at = offsetof(struct answer_options, json)},
};

static const struct operand answer_operand = {"ID", .at = offsetof(struct answer_options, id)};

static const struct syntax approve_syntax = {
    .verb = "approve",
    .options = approve_rows,
    .n_options = ARRAY_SIZE(approve_rows),
    .operands = &answer_operand,
    .n_operands = 1,
};

static const struct syntax deny_syntax = {
    .verb = "deny",
    .options = deny_rows,
    .n_options = ARRAY_SIZE(deny_rows),
    .operands = &answer_operand,
    .n_operands = 1,
};

/* What was answered, and what it granted. */
static int print_answer(const struct approval *approval, const struct grant *grants,
                        size_t n_grants, bool as_json, uint64_t now_ms)
{
    struct json_writer json;
    int status = 0;

    if (as_json) {
        json_writer_init_fd(&json, STDOUT_FILENO);
        write_one(&json, approval);
        json_key(&json, "grants");
        json_open_array(&json);
        for (size_t i = 0; i < n_grants; i++) {
            json_open_object(&json);
            grant_write(&json, &grants[i], now_ms);
            json_close_object(&json);
        }
        json_close_array(&json);
        json_close_object(&json);
        return ledger_finish(&json);
    }
    struct approval shown = *approval;
    shown.plan = NULL; /* he has seen it, or did not want to */
    status = print_one(&shown, false, now_ms);
    for (size_t i = 0; i < n_grants && status == 0; i++) {
        _cleanup_(page_release) struct page page = PAGE_INIT;
        page_add(&page, "granted ");
        page.failed |= grant_show(&page.text, &grants[i], now_ms) < 0;
        status = page_print(&page);
    }
    return status;
}

static int approve(const struct call *call)
{
    _cleanup_(ledger_release) struct ledger ledger = {0};
    struct answer_options wanted = {0};
    struct approval approval;
    struct grant *grants = NULL;
    size_t n_grants = 0;
    uint64_t ttl_ms = 0;
    uint32_t uses = 0;
    struct err err;

    if (options_parse(&approve_syntax, call->words, &wanted, call->arena, &err) < 0 ||
        (wanted.ttl && ledger_parse_ttl(wanted.ttl, &ttl_ms, &err) < 0) ||
        (wanted.uses && ledger_parse_uses(wanted.uses, &uses, &err) < 0) ||
        ledger_open(LEDGER_CHANGE, call->arena, &ledger, &err) < 0 ||
        approvals_approve(ledger.db, wanted.id, ttl_ms, uses, ledger.by, ledger.now_ms, call->arena,
                          &approval, &grants, &n_grants, &err) < 0)
        return page_fail(&err);
    if (record_change(&ledger, "approved", &approval, grants, n_grants, call->arena, &err) < 0)
        return page_fail(&err);
    for (size_t i = 0; i < n_grants; i++)
        if (record_change(&ledger, "grant_created", &approval, &grants[i], 1, call->arena, &err) <
            0)
            return page_fail(&err);
    return print_answer(&approval, grants, n_grants, wanted.json, ledger.now_ms);
}

const struct verb verb_approve = {
    .syntax = &approve_syntax,
    .summary = "let a request that waits run",
    .about = "Grants what the request asks for, to this very request: asked again it runs, a "
             "changed one needs another approval. ID may be the beginning of one, 8 characters at "
             "least, that no other has. Prints what was granted ('wasp schema approvals').",
    .main = approve,
};

static int deny(const struct call *call)
{
    _cleanup_(ledger_release) struct ledger ledger = {0};
    struct answer_options wanted = {0};
    struct approval approval;
    struct err err;

    if (options_parse(&deny_syntax, call->words, &wanted, call->arena, &err) < 0 ||
        ledger_open(LEDGER_CHANGE, call->arena, &ledger, &err) < 0 ||
        approvals_deny(ledger.db, wanted.id, ledger.by, ledger.now_ms, call->arena, &approval,
                       &err) < 0)
        return page_fail(&err);
    if (record_change(&ledger, "denied", &approval, NULL, 0, call->arena, &err) < 0)
        return page_fail(&err);
    return print_answer(&approval, NULL, 0, wanted.json, ledger.now_ms);
}

const struct verb verb_deny = {
    .syntax = &deny_syntax,
    .summary = "refuse a request that waits",
    .about = "Refuses the request; it is told so when it is made again. ID is as with 'wasp "
             "approve'.",
    .main = deny,
};
