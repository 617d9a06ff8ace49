/*
 * completion: a script that lets a shell complete wasp's verbs, options and values.
 */
#include "base/cleanup.h"
#include "front/completion.h"
#include "front/verb.h"

static const char *const shells[] = {"bash", "zsh", "fish", NULL};

/* In the order of `shells`. */
static void (*const writers[])(struct page *, const struct verb *const *) = {
    completion_add_bash,
    completion_add_zsh,
    completion_add_fish,
};

struct completion_options {
    const char *shell;
};

static const struct operand operands[] = {
    {"SHELL", .at = offsetof(struct completion_options, shell), .choices = shells},
};

static const struct syntax syntax = {
    .verb = "completion",
    .operands = operands,
    .n_operands = ARRAY_SIZE(operands),
};

static int completion(const struct call *call)
{
    _cleanup_(page_release) struct page page = PAGE_INIT;
    struct completion_options wanted = {0};
    struct err err;

    if (options_parse(&syntax, call->words, &wanted, call->arena, &err) < 0)
        return page_fail(&err);
    writers[choice_find(shells, wanted.shell)](&page, call->verbs);
    return page_print(&page);
}

const struct verb verb_completion = {
    .syntax = &syntax,
    .summary = "print a completion script for bash, zsh or fish",
    .about =
        "Prints a script for the shell named. For bash, now: source <(wasp completion bash). For "
        "good: wasp completion bash > ~/.local/share/bash-completion/completions/wasp, in a "
        "folder that exists.",
    .main = completion,
};
