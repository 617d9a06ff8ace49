/*
 * help: what there is, and what a verb takes. --man is for the build, which makes the man page of
 * it.
 */
#include "base/cleanup.h"
#include "front/help.h"
#include "front/verb.h"

struct help_options {
    const char *words[3]; /* "sample", "build"; NULL at the end */
    bool man;
};

static const struct option options[] = {
    {"--man", NULL, "print the verbs in man(7) macros", .kind = OPTION_FLAG,
     .at = offsetof(struct help_options, man)},
};

static const struct operand operands[] = {
    {"VERB", .at = offsetof(struct help_options, words[0]), .values = VALUES_VERB,
     .optional = true},
    {"ITS-VERB", .at = offsetof(struct help_options, words[1]), .optional = true},
};

static const struct syntax syntax = {
    .verb = "help",
    .options = options,
    .n_options = ARRAY_SIZE(options),
    .operands = operands,
    .n_operands = ARRAY_SIZE(operands),
};

static int help_about(const struct call *call, const char *const *words)
{
    struct err err;
    const struct verb *verb = verb_find(call->verbs, *words++, &err);

    if (verb && *words)
        verb = verb_follow(verb, &words, &err);
    if (verb && *words) {
        (void) err_set(&err, ERR_USAGE, "'%s' has no verbs of its own", verb->syntax->verb);
        verb = NULL;
    }
    return verb ? help_print_verb(verb) : page_fail(&err);
}

static int help(const struct call *call)
{
    _cleanup_(page_release) struct page page = PAGE_INIT;
    struct help_options wanted = {0};
    struct err err;

    if (options_parse(&syntax, call->words, &wanted, call->arena, &err) < 0)
        return page_fail(&err);
    if (wanted.words[0])
        return help_about(call, wanted.words);
    if (wanted.man)
        help_add_man(&page, call->verbs);
    else
        help_add_overview(&page, call->verbs);
    return page_print(&page);
}

const struct verb verb_help = {
    .syntax = &syntax,
    .summary = "tell what a verb takes",
    .main = help,
};
