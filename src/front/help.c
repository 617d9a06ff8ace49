#include "front/help.h"

#include <string.h>

#include "base/cleanup.h"

#define INDENT 10
#define COLUMNS 80

/* Characters that man(7) would take for its own. */
#define ROFF_SPECIAL "\\-"

/* Does it have any, required or not? */
static bool has_options(const struct syntax *syntax, bool required)
{
    struct option option;

    for (size_t i = 0; syntax_option(syntax, i, &option); i++)
        if (option.required == required)
            return true;
    return false;
}

void help_add_usage(struct page *page, const struct syntax *syntax)
{
    struct option option;

    page_add(page, "wasp %s", syntax->verb);
    for (size_t i = 0; syntax_option(syntax, i, &option); i++)
        if (option.required)
            page_add(page, " %s %s", option.name, option.metavar);
    page_add(page, "%s", has_options(syntax, false) ? " [OPTIONS]" : "");
    for (size_t i = 0; i < syntax->n_operands; i++) {
        const struct operand *operand = &syntax->operands[i];
        page_add(page, operand->optional ? " [%s]" : " %s", operand->name);
    }
    if (syntax->rest)
        page_add(page, syntax->needs_rest ? " -- %s" : " [-- %s]", syntax->rest);
}

/* Adds text in lines of at most COLUMNS, each indented; ends with a newline. */
static void add_wrapped(struct page *page, const char *text, size_t indent)
{
    size_t column = 0;

    while (*text) {
        size_t len = strcspn(text, " ");
        if (column > 0 && column + 1 + len > COLUMNS) {
            page_add(page, "\n");
            column = 0;
        }
        if (column == 0)
            page_add(page, "%*s", (int) indent, "");
        page_add(page, "%s%.*s", column ? " " : "", (int) len, text);
        column = (column ? column + 1 : indent) + len;
        text += len;
        text += strspn(text, " ");
    }
    page_add(page, "\n");
}

void help_add_overview(struct page *page, const struct verb *const *verbs)
{
    page_add(page, "wasp runs code that an agent wrote, and the machine survives it.\n\n");
    for (; *verbs; verbs++)
        page_add(page, "  wasp %-12s %s\n", (*verbs)->syntax->verb, (*verbs)->summary);
    page_add(page, "\n'wasp help VERB' tells what a verb takes.\n");
}

static void add_option(struct page *page, const struct option *option)
{
    page_add(page, "  %s%s%s\n", option->name, option->metavar ? " " : "",
             option->metavar ? option->metavar : "");
    add_wrapped(page, option->help, INDENT);
    if (option->repeatable)
        add_wrapped(page, "(may be given several times)", INDENT);
}

static void add_about(struct page *page, const struct verb *verb)
{
    page_add(page, "\n");
    add_wrapped(page, verb->about ? verb->about : verb->summary, 0);
}

/* A verb that has verbs of its own: theirs. */
static void add_verbs(struct page *page, const struct verb *verb)
{
    for (size_t i = 0; verb->verbs[i]; i++) {
        page_add(page, "%s", i == 0 ? "usage: " : "       ");
        help_add_usage(page, verb->verbs[i]->syntax);
        page_add(page, "\n");
    }
    add_about(page, verb);
    page_add(page, "\n");
    for (size_t i = 0; verb->verbs[i]; i++)
        page_add(page, "  %-10s %s\n", verb_word(verb->verbs[i]), verb->verbs[i]->summary);
    page_add(page, "\n'wasp help %s VERB' tells what each takes.\n", verb->syntax->verb);
}

void help_add_verb(struct page *page, const struct verb *verb)
{
    struct option option;

    if (verb->verbs) {
        add_verbs(page, verb);
        return;
    }
    page_add(page, "usage: ");
    help_add_usage(page, verb->syntax);
    page_add(page, "\n");
    add_about(page, verb);
    if (syntax_option(verb->syntax, 0, &option))
        page_add(page, "\noptions:\n");
    for (size_t i = 0; syntax_option(verb->syntax, i, &option); i++)
        add_option(page, &option);
}

int help_print_verb(const struct verb *verb)
{
    _cleanup_(page_release) struct page page = PAGE_INIT;

    help_add_verb(&page, verb);
    return page_print(&page);
}

static void add_man_option(struct page *page, const struct option *option)
{
    page_add(page, ".TP\n.B ");
    page_escape(page, option->name, ROFF_SPECIAL);
    if (option->metavar) {
        page_add(page, " \\fI");
        page_escape(page, option->metavar, ROFF_SPECIAL);
        page_add(page, "\\fR");
    }
    page_add(page, "\n\\&"); /* so that a help text may start with a quote or a full stop */
    page_escape(page, option->help, ROFF_SPECIAL);
    page_add(page, option->repeatable ? ". May be given several times.\n" : ".\n");
}

static void add_man_verb(struct page *page, const struct verb *verb)
{
    struct option option;

    page_add(page, ".SS ");
    help_add_usage(page, verb->syntax);
    page_add(page, "\n\\&");
    page_escape(page, verb->about ? verb->about : verb->summary, ROFF_SPECIAL);
    page_add(page, "\n");
    for (size_t i = 0; syntax_option(verb->syntax, i, &option); i++)
        add_man_option(page, &option);
}

void help_add_man(struct page *page, const struct verb *const *verbs)
{
    for (; *verbs; verbs++) {
        const struct verb *const *own = (*verbs)->verbs;
        if (!own)
            add_man_verb(page, *verbs);
        for (; own && *own; own++)
            add_man_verb(page, *own);
    }
}
