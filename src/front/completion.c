#include "front/completion.h"

#include <string.h>

/* Inside an _arguments specification and inside fish's single quotes. */
#define ZSH_SPECIAL "\\[]:"
#define FISH_SPECIAL "\\'"

static void add_words(struct page *page, const char *const *words)
{
    for (size_t i = 0; words[i]; i++)
        page_add(page, "%s%s", i ? " " : "", words[i]);
}

static void add_verbs(struct page *page, const struct verb *const *verbs)
{
    for (size_t i = 0; verbs[i]; i++)
        page_add(page, "%s%s", i ? " " : "", verbs[i]->syntax->verb);
}

/* ---- bash ------------------------------------------------------------------------------------ */

static void add_bash_words(struct page *page, const char *const *choices, enum values values,
                           const struct verb *const *verbs)
{
    if (choices || values == VALUES_VERB) {
        page_add(page, "mapfile -t COMPREPLY < <(compgen -W '");
        if (choices)
            add_words(page, choices);
        else
            add_verbs(page, verbs);
        page_add(page, "' -- \"$cur\")");
    } else if (values == VALUES_FILE || values == VALUES_DIRECTORY) {
        page_add(page, "compopt -o filenames; mapfile -t COMPREPLY < <(compgen -%c -- \"$cur\")",
                 values == VALUES_FILE ? 'f' : 'd');
    } else {
        page_add(page, ":"); /* nothing to offer */
    }
}

static void add_bash_verb(struct page *page, const struct verb *verb,
                          const struct verb *const *verbs)
{
    const struct syntax *syntax = verb->syntax;
    struct option option;

    page_add(page, "    %s)\n        case $prev in\n", syntax->verb);
    for (size_t i = 0; syntax_option(syntax, i, &option); i++) {
        if (!option.metavar)
            continue;
        page_add(page, "        %s) ", option.name);
        add_bash_words(page, option.choices, option.values, verbs);
        page_add(page, "; return ;;\n");
    }
    page_add(page, "        esac\n        if [[ $cur == -* ]]; then\n"
                   "            mapfile -t COMPREPLY < <(compgen -W '");
    for (size_t i = 0; syntax_option(syntax, i, &option); i++)
        page_add(page, "%s%s", i ? " " : "", option.name);
    page_add(page, "' -- \"$cur\")\n            return\n        fi\n        ");
    if (syntax->n_operands > 0)
        add_bash_words(page, syntax->operands[0].choices, syntax->operands[0].values, verbs);
    else
        page_add(page, ":");
    page_add(page, "\n        ;;\n");
}

void completion_add_bash(struct page *page, const struct verb *const *verbs)
{
    page_add(page, "# bash completion for wasp; made by 'wasp completion bash'\n"
                   "_wasp()\n{\n"
                   "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
                   "    COMPREPLY=()\n"
                   "    if ((COMP_CWORD == 1)); then\n"
                   "        mapfile -t COMPREPLY < <(compgen -W '");
    add_verbs(page, verbs);
    page_add(page, "' -- \"$cur\")\n        return\n    fi\n    case ${COMP_WORDS[1]} in\n");
    for (size_t i = 0; verbs[i]; i++)
        add_bash_verb(page, verbs[i], verbs);
    page_add(page, "    esac\n}\ncomplete -F _wasp wasp\n");
}

/* ---- zsh ------------------------------------------------------------------------------------- */

static void add_zsh_action(struct page *page, const char *const *choices, enum values values,
                           const struct verb *const *verbs)
{
    if (choices || values == VALUES_VERB) {
        page_add(page, "(");
        if (choices)
            add_words(page, choices);
        else
            add_verbs(page, verbs);
        page_add(page, ")");
    } else if (values == VALUES_FILE) {
        page_add(page, "_files");
    } else if (values == VALUES_DIRECTORY) {
        page_add(page, "_files -/");
    }
}

/* help texts may hold single quotes: closed, escaped, opened again. */
static void add_zsh_text(struct page *page, const char *text)
{
    for (; *text; text++) {
        char one[2] = {*text, '\0'};
        if (*text == '\'')
            page_add(page, "'\\''");
        else
            page_escape(page, one, ZSH_SPECIAL);
    }
}

static void add_zsh_option(struct page *page, const struct option *option,
                           const struct verb *const *verbs)
{
    page_add(page, " \\\n            '%s%s%s[", option->repeatable ? "*" : "", option->name,
             option->metavar ? "=" : "");
    add_zsh_text(page, option->help);
    page_add(page, "]");
    if (option->metavar) {
        page_add(page, ":");
        add_zsh_text(page, option->metavar);
        page_add(page, ":");
        add_zsh_action(page, option->choices, option->values, verbs);
    }
    page_add(page, "'");
}

static void add_zsh_verb(struct page *page, const struct verb *verb,
                         const struct verb *const *verbs)
{
    const struct syntax *syntax = verb->syntax;
    struct option option;

    page_add(page, "    %s)\n        _arguments", syntax->verb);
    for (size_t i = 0; syntax_option(syntax, i, &option); i++)
        add_zsh_option(page, &option, verbs);
    for (size_t i = 0; i < syntax->n_operands; i++) {
        page_add(page, " \\\n            '%zu:%s:", i + 1, syntax->operands[i].name);
        add_zsh_action(page, syntax->operands[i].choices, syntax->operands[i].values, verbs);
        page_add(page, "'");
    }
    if (syntax->rest)
        page_add(page, " \\\n            '*::%s:_default'", syntax->rest);
    page_add(page, "\n        ;;\n");
}

void completion_add_zsh(struct page *page, const struct verb *const *verbs)
{
    page_add(page, "#compdef wasp\n"
                   "# zsh completion for wasp; made by 'wasp completion zsh'\n"
                   "if ((CURRENT == 2)); then\n    local -a verbs=(");
    for (size_t i = 0; verbs[i]; i++) {
        page_add(page, "\n        '%s:", verbs[i]->syntax->verb);
        add_zsh_text(page, verbs[i]->summary);
        page_add(page, "'");
    }
    page_add(page, "\n    )\n    _describe verb verbs\n    return\nfi\n"
                   "shift words\n((CURRENT--))\ncase ${words[1]} in\n");
    for (size_t i = 0; verbs[i]; i++)
        add_zsh_verb(page, verbs[i], verbs);
    page_add(page, "esac\n");
}

/* ---- fish ------------------------------------------------------------------------------------ */

static void add_fish_values(struct page *page, const char *const *choices, enum values values,
                            const struct verb *const *verbs)
{
    if (choices || values == VALUES_VERB) {
        page_add(page, " -a '");
        if (choices)
            add_words(page, choices);
        else
            add_verbs(page, verbs);
        page_add(page, "'");
    } else if (values == VALUES_FILE) {
        page_add(page, " -r -F");
    } else if (values == VALUES_DIRECTORY) {
        page_add(page, " -a '(__fish_complete_directories)'");
    }
}

static void add_fish_verb(struct page *page, const struct verb *verb,
                          const struct verb *const *verbs)
{
    const struct syntax *syntax = verb->syntax;
    struct option option;

    page_add(page, "complete -c wasp -n __fish_use_subcommand -a %s -d '", syntax->verb);
    page_escape(page, verb->summary, FISH_SPECIAL);
    page_add(page, "'\n");
    for (size_t i = 0; syntax_option(syntax, i, &option); i++) {
        page_add(page, "complete -c wasp -n '__fish_seen_subcommand_from %s' -l %s -d '",
                 syntax->verb, option.name + strlen("--"));
        page_escape(page, option.help, FISH_SPECIAL);
        page_add(page, "'");
        if (option.metavar && option.values != VALUES_FILE)
            page_add(page, " -x"); /* a value is needed and files are not it */
        if (option.metavar)
            add_fish_values(page, option.choices, option.values, verbs);
        page_add(page, "\n");
    }
    for (size_t i = 0; i < syntax->n_operands; i++) {
        page_add(page, "complete -c wasp -n '__fish_seen_subcommand_from %s'", syntax->verb);
        add_fish_values(page, syntax->operands[i].choices, syntax->operands[i].values, verbs);
        page_add(page, "\n");
    }
}

void completion_add_fish(struct page *page, const struct verb *const *verbs)
{
    page_add(page, "# fish completion for wasp; made by 'wasp completion fish'\n"
                   "complete -c wasp -f\n");
    for (size_t i = 0; verbs[i]; i++)
        add_fish_verb(page, verbs[i], verbs);
}
