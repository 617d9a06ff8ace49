#include "plan/words.h"

#include <stdbool.h>
#include <string.h>

#define BLANKS " \t"
/* What means something to a shell wherever it stands, and what does so at the start of a word. */
#define SPECIAL "|&;<>()$`*?[\r\n"
#define SPECIAL_AT_START "#~"
/* What a backslash in double quotes goes before. */
#define ESCAPED_IN_QUOTES "\"\\$`"
/* What never needs quotes. */
#define PLAIN_CHARACTERS NAME_CHARACTERS "-./:,+@%"
#define NAME_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789"

/* The words are put behind one another, each with its NUL: never more than the command has. */
struct splitter {
    const char *command;
    const char *at;
    char *to;
    struct err *err;
    bool takes_star;
};

static int refuse_special(const struct splitter *splitter)
{
    const char *shown = *splitter->at == '\n' || *splitter->at == '\r' ? "the end of a line" : NULL;
    char quoted[] = {'\'', *splitter->at, '\'', '\0'};

    (void) err_set(splitter->err, ERR_REQUEST,
                   "%s, at byte %zu of the command, means something to a shell, and none reads it",
                   shown ? shown : quoted,
                   (size_t) (splitter->at - splitter->command) + 1); /* -1, as below */
    return err_hint(splitter->err, "quote it if it is meant as it is; for a shell, use kind 'code' "
                                   "with language 'bash'");
}

/* at is the opening quote. */
static int take_single_quoted(struct splitter *splitter)
{
    const char *end = strchr(splitter->at + 1, '\'');

    if (!end)
        return err_set(splitter->err, ERR_REQUEST, "a ' in the command is never closed");
    size_t len = (size_t) (end - splitter->at) - 1;
    memcpy(splitter->to, splitter->at + 1, len);
    splitter->to += len;
    splitter->at = end + 1;
    return 0;
}

/* at is the opening quote. */
static int take_double_quoted(struct splitter *splitter)
{
    for (splitter->at++; *splitter->at != '"'; splitter->at++) {
        if (*splitter->at == '\\' && splitter->at[1] && strchr(ESCAPED_IN_QUOTES, splitter->at[1]))
            splitter->at++;
        else if (*splitter->at == '$' || *splitter->at == '`')
            return refuse_special(splitter);
        else if (*splitter->at == '\\' && splitter->at[1] == '\n')
            return refuse_special(splitter);
        if (*splitter->at == '\0')
            return err_set(splitter->err, ERR_REQUEST, "a \" in the command is never closed");
        *splitter->to++ = *splitter->at;
    }
    splitter->at++;
    return 0;
}

/* at is no quote. A backslash at the end of a line would join two to a shell. */
static int take_character(struct splitter *splitter, bool at_start)
{
    char c = *splitter->at;

    if ((strchr(SPECIAL, c) && !(splitter->takes_star && c == '*')) ||
        (at_start && strchr(SPECIAL_AT_START, c)))
        return refuse_special(splitter);
    if (c == '\\') {
        splitter->at++;
        if (*splitter->at == '\0')
            return err_set(splitter->err, ERR_REQUEST, "the command ends in a backslash");
        if (*splitter->at == '\n')
            return refuse_special(splitter);
    }
    *splitter->to++ = *splitter->at++;
    return 0;
}

/* at is the first character of a word. */
static int take_word(struct splitter *splitter)
{
    const char *start = splitter->at;

    while (*splitter->at && !strchr(BLANKS, *splitter->at)) {
        int rc = *splitter->at == '\''  ? take_single_quoted(splitter)
                 : *splitter->at == '"' ? take_double_quoted(splitter)
                                        : take_character(splitter, splitter->at == start);
        if (rc < 0)
            return -1;
    }
    *splitter->to++ = '\0';
    return 0;
}

/* "NAME=value program": to a shell it is a variable. */
static int check_first(const char *word, struct err *err)
{
    size_t len = strspn(word, NAME_CHARACTERS);

    if (len == 0 || word[len] != '=')
        return 0;
    (void) err_set(err, ERR_REQUEST,
                   "the command begins with '%.*s=', which sets a variable for a shell, and none "
                   "reads it",
                   (int) (len < 64 ? len : 64), word); /* -1, as below */
    return err_hint(err, "give the variable in 'env'");
}

static int split(const char *command, bool takes_star, struct arena *arena,
                 const char *const **ret_words, size_t *ret_n_words, struct err *err)
{
    size_t room = strlen(command) + 1, n = 0;
    struct splitter splitter = {command, command, arena_alloc(arena, room), err, takes_star};
    /* Between any two words is a blank. */
    const char **words = arena_array(arena, room / 2 + 2, sizeof(*words));

    if (!splitter.to || !words)
        return err_no_memory(err);
    splitter.at += strspn(command, BLANKS);
    if (check_first(splitter.at, err) < 0)
        return -1;
    for (; *splitter.at; splitter.at += strspn(splitter.at, BLANKS)) {
        words[n++] = splitter.to;
        if (take_word(&splitter) < 0)
            return -1;
    }
    if (n == 0)
        return err_set(err, ERR_REQUEST,
                       "the command is empty: write a program, then its "
                       "arguments");
    *ret_words = words;
    *ret_n_words = n;
    return 0;
}

int words_split(const char *command, struct arena *arena, const char *const **ret_words,
                size_t *ret_n_words, struct err *err)
{
    return split(command, false, arena, ret_words, ret_n_words, err);
}

int words_split_patterns(const char *command, struct arena *arena, const char *const **ret_words,
                         size_t *ret_n_words, struct err *err)
{
    return split(command, true, arena, ret_words, ret_n_words, err);
}

/* 'it'\''s'; "NAME=" at the start of a command would be a variable. */
static int join_word(struct buf *into, const char *word, bool is_first)
{
    if (word[0] && word[strspn(word, is_first ? PLAIN_CHARACTERS : PLAIN_CHARACTERS "=")] == '\0')
        return buf_add_string(into, word);
    int rc = buf_add_char(into, '\'');
    for (; rc == 0 && *word; word++)
        rc = *word == '\'' ? buf_add_string(into, "'\\''") : buf_add_char(into, *word);
    return rc == 0 ? buf_add_char(into, '\'') : rc;
}

int words_join(struct buf *into, const char *const *words, size_t n_words)
{
    for (size_t i = 0; i < n_words; i++)
        if ((into->len > 0 && buf_add_char(into, ' ') < 0) ||
            join_word(into, words[i], into->len == 0) < 0)
            return -1;
    return 0;
}
