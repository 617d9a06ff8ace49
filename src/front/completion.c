#include "front/completion.h"

#include <stdio.h>
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
        page_add(page, "%s%s", i ? " " : "", verb_word(verbs[i]));
}

typedef void add_verb(struct page *page, const struct verb *verb, const struct verb *const *verbs);

/* Adds each verb that is no mere name for others, with all verbs there are. */
static void each_leaf(struct page *page, const struct verb *const *verbs, add_verb *add)
{
    for (size_t i = 0; verbs[i]; i++) {
        const struct verb *const *own = verbs[i]->verbs;
        if (!own)
            add(page, verbs[i], verbs);
        for (; own && *own; own++)
            add(page, *own, verbs);
    }
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

    page_add(page, "    '%s')\n        case $prev in\n", syntax->verb);
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

/* The second word belongs to the verb's name. */
static void add_bash_group(struct page *page, const struct verb *verb)
{
    if (!verb->verbs)
        return;
    page_add(page,
             "    %s)\n        if ((COMP_CWORD == 2)); then\n"
             "            mapfile -t COMPREPLY < <(compgen -W '",
             verb->syntax->verb);
    add_verbs(page, verb->verbs);
    page_add(page, "' -- \"$cur\")\n            return\n        fi\n"
                   "        verb+=\" ${COMP_WORDS[2]}\"\n        ;;\n");
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
    page_add(page, "' -- \"$cur\")\n        return\n    fi\n"
                   "    local verb=${COMP_WORDS[1]}\n    case $verb in\n");
    for (size_t i = 0; verbs[i]; i++)
        add_bash_group(page, verbs[i]);
    page_add(page, "    esac\n    case $verb in\n");
    each_leaf(page, verbs, add_bash_verb);
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
             option->metavar && !option_is_short(option) ? "=" : "");
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

    page_add(page, "    '%s')\n        _arguments", syntax->verb);
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

/* Offers them where the second word stands, then makes the words begin there. */
static void add_zsh_choice(struct page *page, const struct verb *const *verbs)
{
    page_add(page, "if ((CURRENT == 2)); then\n    local -a verbs=(");
    for (size_t i = 0; verbs[i]; i++) {
        page_add(page, "\n        '%s:", verb_word(verbs[i]));
        add_zsh_text(page, verbs[i]->summary);
        page_add(page, "'");
    }
    page_add(page, "\n    )\n    _describe verb verbs\n    return\nfi\n"
                   "shift words\n((CURRENT--))\n");
}

void completion_add_zsh(struct page *page, const struct verb *const *verbs)
{
    page_add(page, "#compdef wasp\n"
                   "# zsh completion for wasp; made by 'wasp completion zsh'\n");
    add_zsh_choice(page, verbs);
    page_add(page, "local verb=${words[1]}\ncase $verb in\n");
    for (size_t i = 0; verbs[i]; i++) {
        if (!verbs[i]->verbs)
            continue;
        page_add(page, "%s)\n", verbs[i]->syntax->verb);
        add_zsh_choice(page, verbs[i]->verbs);
        page_add(page, "verb+=\" ${words[1]}\"\n;;\n");
    }
    page_add(page, "esac\ncase $verb in\n");
    each_leaf(page, verbs, add_zsh_verb);
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

    for (size_t i = 0; syntax_option(syntax, i, &option); i++) {
        page_add(page, "complete -c wasp -n '__wasp_after %s' -%c %s -d '", syntax->verb,
                 option_is_short(&option) ? 's' : 'l', option.name + strspn(option.name, "-"));
        page_escape(page, option.help, FISH_SPECIAL);
        page_add(page, "'");
        if (option.metavar && option.values != VALUES_FILE)
            page_add(page, " -x"); /* a value is needed and files are not it */
        if (option.metavar)
            add_fish_values(page, option.choices, option.values, verbs);
        page_add(page, "\n");
    }
    for (size_t i = 0; i < syntax->n_operands; i++) {
        page_add(page, "complete -c wasp -n '__wasp_after %s'", syntax->verb);
        add_fish_values(page, syntax->operands[i].choices, syntax->operands[i].values, verbs);
        page_add(page, "\n");
    }
}

/* Offers the verbs where the words so far are just the one they belong to. */
static void add_fish_choice(struct page *page, const char *before, const struct verb *const *verbs)
{
    for (size_t i = 0; verbs[i]; i++) {
        page_add(page, "complete -c wasp -n '__wasp_at%s' -a %s -d '", before, verb_word(verbs[i]));
        page_escape(page, verbs[i]->summary, FISH_SPECIAL);
        page_add(page, "'\n");
    }
}

void completion_add_fish(struct page *page, const struct verb *const *verbs)
{
    page_add(page, "# fish completion for wasp; made by 'wasp completion fish'\n"
                   "function __wasp_at\n"
                   "    set -l words (commandline -opc)\n"
                   "    test \"$words[2..-1]\" = \"$argv\"\nend\n"
                   "function __wasp_after\n"
                   "    set -l words (commandline -opc)\n"
                   "    string match -q -- \"$argv *\" \"$words[2..-1] \"\nend\n"
                   "complete -c wasp -f\n");
    add_fish_choice(page, "", verbs);
    for (size_t i = 0; verbs[i]; i++) {
        char before[64];
        if (!verbs[i]->verbs)
            continue;
        (void) snprintf(before, sizeof(before), " %s", verbs[i]->syntax->verb); /* ours: fits */
        add_fish_choice(page, before, verbs[i]->verbs);
    }
    each_leaf(page, verbs, add_fish_verb);
}
