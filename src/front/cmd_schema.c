/*
 * schema: the published shapes, embedded at build time from schemas/.
 */
#include "base/cleanup.h"
#include "front/page.h"
#include "front/verb.h"

/* scripts/embed.py makes one SCHEMA(name, text) of each file. */
static const char *const names[] = {
#define SCHEMA(name, text) name,
#include "front/schemas.inc"
#undef SCHEMA
    NULL,
};

static const char *const texts[] = {
#define SCHEMA(name, text) text,
#include "front/schemas.inc"
#undef SCHEMA
};

struct schema_options {
    const char *name;
};

static const struct operand operands[] = {
    {"NAME", .at = offsetof(struct schema_options, name), .choices = names, .optional = true},
};

static const struct syntax syntax = {
    .verb = "schema",
    .operands = operands,
    .n_operands = ARRAY_SIZE(operands),
};

static int schema(const struct call *call)
{
    _cleanup_(page_release) struct page page = PAGE_INIT;
    struct schema_options wanted = {0};
    struct err err;

    if (options_parse(&syntax, call->words, &wanted, call->arena, &err) < 0)
        return page_fail(&err);
    if (wanted.name)
        page_add(&page, "%s", texts[choice_find(names, wanted.name)]);
    for (size_t i = 0; !wanted.name && names[i]; i++)
        page_add(&page, "%s\n", names[i]);
    return page_print(&page);
}

const struct verb verb_schema = {
    .syntax = &syntax,
    .summary = "print the JSON Schema of what wasp reads or prints",
    .about =
        "Prints a JSON Schema (2020-12), or without a name those there are: 'result' is what a "
        "run answers, 'request' a run as a manifest, 'plan' what --dry-run shows, 'events' a "
        "line of --events, 'audit' a record of the audit log, 'audit-verify' what 'audit verify "
        "--json' prints, 'answer' what a verb answers that runs no guest, 'samples' what "
        "'sample list' prints, 'runtimes' what 'runtime list' prints, 'changes' what is kept of an "
        "overlay, 'policy' a policy file, 'judgement' what 'policy explain' prints, 'grants' and "
        "'approvals' what the verbs about those print with --json, 'policy-check', 'policy-show', "
        "'doctor', 'gc' and 'version' what those verbs print with --json.",
    .main = schema,
};
