/*
 * options: what a verb takes, as a table. Parsing, help, man page and completion all read the same
 * rows.
 *
 * `--name value` and `--name=value`; options and operands in any order; `--` ends both, and what
 * follows goes to the verb's `take_rest`. There are no abbreviations: a script that works today
 * works with every later version. A name of one letter, `-c value`, is for what every such program
 * calls so; its value is always the next word.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/limits.h"

enum option_kind {
    OPTION_FLAG,   /* sets a bool */
    OPTION_SET,    /* sets an enum to its `number`; takes no value either */
    OPTION_TEXT,   /* fills a `const char *` with its value as it is */
    OPTION_TAKE,   /* hands its value to `take` */
    OPTION_LIMITS, /* a row that stands for one option for each limit of a backend */
    OPTION_LIMIT,  /* one of those; made by syntax_option, never written in a table */
};

/* What completion offers for a value. */
enum values { VALUES_ANY, VALUES_FILE, VALUES_DIRECTORY, VALUES_VERB };

/* Judges a word and puts it where it belongs. target is what options_parse was given. */
typedef int take_word(void *target, struct arena *arena, const char *word, struct err *err);

struct option {
    const char *name;    /* "--env", "-c" */
    const char *metavar; /* "NAME=VALUE"; NULL for a flag */
    const char *help;    /* one line, no full stop */
    enum option_kind kind;
    size_t at;                  /* offset in the target of what it fills, but for OPTION_TAKE */
    take_word *take;            /* OPTION_TAKE */
    const char *const *choices; /* NULL-terminated; nothing else is taken. NULL: `take` judges */
    enum values values;
    bool repeatable;
    bool required;
    unsigned int number;  /* OPTION_SET */
    enum backend backend; /* OPTION_LIMITS */
    enum limit limit;     /* OPTION_LIMIT */
};

/* A word that is no option. It fills a `const char *` of the target. */
struct operand {
    const char *name; /* "MODULE.wasm" */
    size_t at;
    const char *const *choices; /* as above */
    enum values values;
    bool optional;
};

/* Rows that several verbs have in common, and with them the target. */
struct option_table {
    const struct option *options;
    size_t n_options;
};

struct syntax {
    const char *verb; /* "run", "sample build" */
    const struct option *options;
    size_t n_options;
    const struct option_table *const *shared; /* behind its own; NULL-terminated, or NULL */
    const struct operand *operands;
    size_t n_operands;
    const char *rest; /* "ARGS", what may stand behind `--`; NULL: nothing may */
    bool needs_rest;  /* something must */
    take_word *take_rest;
    /* Has options that this one cannot take: who writes one is told so. NULL: there is none. */
    const struct syntax *sibling;
    const char *instead; /* what this one is for: "a native program" */
};

/*
 * The option with that number, 0 and up, with OPTION_LIMITS unfolded; false past the last one. The
 * only way to walk the options.
 */
bool syntax_option(const struct syntax *syntax, size_t index, struct option *ret_option);
/*
 * Fills target from words, a NULL-terminated list. 0, or -1 and *err (ERR_USAGE, or what a `take`
 * says) about the first bad word. Those behind it are read all the same, so that options that say
 * how to answer count wherever they stand.
 */
int options_parse(const struct syntax *syntax, const char *const *words, void *target,
                  struct arena *arena, struct err *err);
/* True for "-c": it has no '=' before its value. */
bool option_is_short(const struct option *option);
/* Where text is in a list of choices, or -1. */
int choice_find(const char *const *choices, const char *text);
