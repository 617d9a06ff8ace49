#include "front/options.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "front/suggest.h"

/* One bit an option in `seen`. */
#define MAX_OPTIONS 64

static const char *const limit_metavars[] = {
    [UNIT_DURATION] = "TIME", [UNIT_SIZE] = "SIZE", [UNIT_COUNT] = "N"};

struct parse {
    const struct syntax *syntax;
    void *target;
    struct arena *arena;
    uint64_t seen;
    size_t n_operands;
};

static void option_of_limit(const struct option *row, enum limit limit, struct option *ret_option)
{
    const struct limit_row *from = &limit_rows[limit];

    *ret_option = (struct option){
        .name = from->option,
        .metavar = limit_metavars[from->unit],
        .help = from->of[row->backend].help,
        .kind = OPTION_LIMIT,
        .at = row->at,
        .limit = limit,
    };
}

/* The limits that the row's backend has: how many, and which one has that number. */
static size_t count_limits(const struct option *row)
{
    size_t count = 0;

    for (size_t i = 0; i < LIMIT_COUNT; i++)
        count += limit_exists((enum limit) i, row->backend);
    return count;
}

static enum limit nth_limit(const struct option *row, size_t index)
{
    size_t i = 0;

    for (;; i++)
        if (limit_exists((enum limit) i, row->backend) && index-- == 0)
            return (enum limit) i;
}

/* As syntax_option, in one table; if it is not in there, *index is what is left to go. */
static bool table_option(const struct option_table *table, size_t *index, struct option *ret_option)
{
    for (size_t i = 0; i < table->n_options; i++) {
        const struct option *row = &table->options[i];
        size_t stands_for = row->kind == OPTION_LIMITS ? count_limits(row) : 1;
        if (*index >= stands_for) {
            *index -= stands_for;
            continue;
        }
        if (row->kind == OPTION_LIMITS)
            option_of_limit(row, nth_limit(row, *index), ret_option);
        else
            *ret_option = *row;
        return true;
    }
    return false;
}

bool syntax_option(const struct syntax *syntax, size_t index, struct option *ret_option)
{
    const struct option_table own = {syntax->options, syntax->n_options};

    if (table_option(&own, &index, ret_option))
        return true;
    for (size_t i = 0; syntax->shared && syntax->shared[i]; i++)
        if (table_option(syntax->shared[i], &index, ret_option))
            return true;
    return false;
}

int choice_find(const char *const *choices, const char *text)
{
    for (int i = 0; choices[i]; i++)
        if (strcmp(choices[i], text) == 0)
            return i;
    return -1;
}

/* "full, landlock" into a fixed buffer; choices are ours and few. */
static void join_choices(const char *const *choices, char *to, size_t size)
{
    to[0] = '\0';
    for (size_t i = 0; choices[i]; i++) {
        if (i > 0)
            strncat(to, ", ", size - strlen(to) - 1);
        strncat(to, choices[i], size - strlen(to) - 1);
    }
}

static int check_choice(const char *const *choices, const char *name, const char *word,
                        struct err *err)
{
    char all[384];

    if (!choices || choice_find(choices, word) >= 0)
        return 0;
    join_choices(choices, all, sizeof(all));
    return err_set(err, ERR_USAGE, "%s must be one of %s, not '%s'", name, all, word);
}

static bool has_option(const struct syntax *syntax, const char *name, struct option *ret_option,
                       size_t *ret_index)
{
    for (size_t i = 0; syntax_option(syntax, i, ret_option); i++)
        if (strcmp(ret_option->name, name) == 0) {
            *ret_index = i;
            return true;
        }
    return false;
}

/* The form as a hint, for a verb that is nothing without what follows `--`. */
static int hint_rest(const struct syntax *syntax, struct err *err)
{
    if (syntax->needs_rest)
        return err_hint(err, "write: wasp %s [OPTIONS] -- %s", syntax->verb, syntax->rest);
    return err_hint(err, "what is for the guest goes after '--'");
}

static int unknown_option(const struct parse *parse, const char *name, struct err *err)
{
    const struct syntax *syntax = parse->syntax;
    struct suggestion suggestion;
    struct option option;
    size_t index;

    if (syntax->sibling && has_option(syntax->sibling, name, &option, &index))
        return err_set(err, ERR_USAGE, "option '%s' is not there for %s: leave it out", name,
                       syntax->instead);
    suggestion_init(&suggestion, name);
    for (size_t i = 0; syntax_option(syntax, i, &option); i++)
        suggestion_offer(&suggestion, option.name);
    (void) err_set(err, ERR_USAGE, "unknown option '%s'", name); /* -1 is returned below */
    if (suggestion.best)
        return err_hint(err, "did you mean '%s'?", suggestion.best);
    if (syntax->rest)
        return err_hint(err, "see 'wasp help %s'; what is for the guest goes after '--'",
                        syntax->verb);
    return err_hint(err, "see 'wasp help %s'", syntax->verb);
}

/* name is what stands before a '='. */
static int find_option(const struct parse *parse, const char *name, struct option *ret_option,
                       size_t *ret_index, struct err *err)
{
    return has_option(parse->syntax, name, ret_option, ret_index)
               ? 0
               : unknown_option(parse, name, err);
}

bool option_is_short(const struct option *option)
{
    return option->name[1] != '-';
}

static int apply_value(struct parse *parse, const struct option *option, const char *value,
                       struct err *err)
{
    char *field = (char *) parse->target + option->at;

    if (check_choice(option->choices, option->name, value, err) < 0)
        return -1;
    if (option->kind == OPTION_LIMIT)
        return limits_set_text((struct limits *) field, option->limit, value, err);
    if (option->kind == OPTION_TAKE)
        return option->take(parse->target, parse->arena, value, err);
    *(const char **) field = value;
    return 0;
}

static int apply_flag(struct parse *parse, const struct option *option, const char *value,
                      struct err *err)
{
    if (value)
        return err_set(err, ERR_USAGE, "%s takes no value", option->name);
    void *field = (char *) parse->target + option->at;
    if (option->kind == OPTION_SET)
        *(unsigned int *) field = option->number;
    else
        *(bool *) field = true;
    return 0;
}

/* (*word)[0] starts with '-'. Moves *word on to the value if that is a word of its own. */
static int parse_option(struct parse *parse, const char *const **word, struct err *err)
{
    const char *text = **word;
    const char *value = text[1] == '-' ? strchr(text, '=') : NULL;
    const char *name = value ? arena_strndup(parse->arena, text, (size_t) (value - text)) : text;
    struct option option;
    size_t index = 0;

    if (!name)
        return err_no_memory(err);
    if (find_option(parse, name, &option, &index, err) < 0)
        return -1;
    if (value)
        value++;
    if (!option.metavar)
        return apply_flag(parse, &option, value, err);

    assert(index < MAX_OPTIONS);
    if (!option.repeatable && parse->seen & UINT64_C(1) << index)
        return err_set(err, ERR_USAGE, "%s is given twice", option.name);
    parse->seen |= UINT64_C(1) << index;
    if (!value && (*word)[1])
        value = *++*word;
    if (!value)
        return err_set(err, ERR_USAGE, "%s needs a value: %s %s", option.name, option.name,
                       option.metavar);
    return apply_value(parse, &option, value, err);
}

static int parse_operand(struct parse *parse, const char *word, struct err *err)
{
    const struct syntax *syntax = parse->syntax;

    if (parse->n_operands == syntax->n_operands) {
        (void) err_set(err, ERR_USAGE, "unexpected '%s'", word); /* -1 is returned below */
        if (syntax->rest)
            return hint_rest(syntax, err);
        return err_hint(err, "see 'wasp help %s'", syntax->verb);
    }
    const struct operand *operand = &syntax->operands[parse->n_operands++];
    if (check_choice(operand->choices, operand->name, word, err) < 0)
        return -1;
    *(const char **) ((char *) parse->target + operand->at) = word;
    return 0;
}

/* words is what follows `--`, and so empty without one. */
static int parse_rest(struct parse *parse, const char *const *words, struct err *err)
{
    const struct syntax *syntax = parse->syntax;

    if (*words && !syntax->rest)
        return err_set(err, ERR_USAGE, "nothing may follow '--' here, not '%s'", *words);
    if (!*words && syntax->needs_rest) {
        (void) err_set(err, ERR_USAGE, "no %.*s is given", (int) strcspn(syntax->rest, " "),
                       syntax->rest); /* -1, as below */
        return hint_rest(syntax, err);
    }
    for (; *words; words++)
        if (syntax->take_rest(parse->target, parse->arena, *words, err) < 0)
            return -1;
    return 0;
}

static int check_operands(const struct parse *parse, struct err *err)
{
    const struct syntax *syntax = parse->syntax;

    if (parse->n_operands == syntax->n_operands || syntax->operands[parse->n_operands].optional)
        return 0;
    const char *missing = syntax->operands[parse->n_operands].name;
    (void) err_set(err, ERR_USAGE, "no %s is given", missing); /* -1 is returned below */
    return err_hint(err, "see 'wasp help %s'", syntax->verb);
}

static int check_required(const struct parse *parse, struct err *err)
{
    struct option option;

    for (size_t i = 0; syntax_option(parse->syntax, i, &option); i++)
        if (option.required && !(parse->seen & UINT64_C(1) << i)) {
            (void) err_set(err, ERR_USAGE, "no %s %s is given", option.name,
                           option.metavar); /* -1 is returned below */
            return err_hint(err, "see 'wasp help %s'", parse->syntax->verb);
        }
    return 0;
}

/* Moves *word to the last one that it took; there is always one. */
static int parse_word(struct parse *parse, const char *const **word, struct err *err)
{
    const char *text = **word;

    if (text[0] != '-' || text[1] == '\0')
        return parse_operand(parse, text, err);
    return parse_option(parse, word, err);
}

int options_parse(const struct syntax *syntax, const char *const *words, void *target,
                  struct arena *arena, struct err *err)
{
    struct parse parse = {.syntax = syntax, .target = target, .arena = arena};
    struct err ignored; /* the first error is the one to tell */
    int rc = 0;

    for (; *words && strcmp(*words, "--") != 0; words++)
        if (parse_word(&parse, &words, rc < 0 ? &ignored : err) < 0)
            rc = -1;
    /* What is missing is told before words behind `--` are judged: it is the likelier mistake. */
    if (rc < 0 || check_operands(&parse, err) < 0 || check_required(&parse, err) < 0)
        return -1;
    return parse_rest(&parse, *words ? words + 1 : words, err);
}
