#include "plan/words.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "tap.h"

static const struct {
    const char *command;
    const char *words; /* each in brackets; NULL: refused, */
    const char *says;  /* with this in the message */
} rows[] = {
    {"ls", "[ls]", NULL},
    {"ls -l /tmp", "[ls][-l][/tmp]", NULL},
    {"  ls\t -l  ", "[ls][-l]", NULL},
    {"echo ''", "[echo][]", NULL},
    {"echo \"\"", "[echo][]", NULL},
    {"echo 'a b'", "[echo][a b]", NULL},
    {"echo \"a b\"", "[echo][a b]", NULL},
    {"echo a' 'b", "[echo][a b]", NULL},
    {"echo 'it'\\''s'", "[echo][it's]", NULL},
    {"echo a\\ b", "[echo][a b]", NULL},
    {"echo \\\\", "[echo][\\]", NULL},
    {"echo '\\n'", "[echo][\\n]", NULL},
    {"echo \"\\n\"", "[echo][\\n]", NULL},
    {"echo \"\\\"\\\\\\$\\`\"", "[echo][\"\\$`]", NULL},
    {"echo '|&;<>()$`*?[#~'", "[echo][|&;<>()$`*?[#~]", NULL},
    {"echo \"|&;<>()*?[#~\"", "[echo][|&;<>()*?[#~]", NULL},
    {"echo \\| \\& \\; \\< \\> \\( \\) \\$ \\` \\* \\? \\[ \\# \\~",
     "[echo][|][&][;][<][>][(][)][$][`][*][?][[][#][~]", NULL},
    {"echo a#b a~b x=1", "[echo][a#b][a~b][x=1]", NULL},
    {"find . -exec rm {} +", "[find][.][-exec][rm][{}][+]", NULL},
    {"echo 'two\nlines'", "[echo][two\nlines]", NULL},
    {"echo \"two\nlines\"", "[echo][two\nlines]", NULL},
    {"caf\xc3\xa9 \xff", "[caf\xc3\xa9][\xff]", NULL},
    {"'FOO=bar' x", "[FOO=bar][x]", NULL},
    {"=x", "[=x]", NULL},
    {"", NULL, "the command is empty"},
    {" \t ", NULL, "the command is empty"},
    {"ls | wc", NULL, "'|', at byte 4"},
    {"ls|wc", NULL, "'|', at byte 3"},
    {"a && b", NULL, "'&', at byte 3"},
    {"a; b", NULL, "';', at byte 2"},
    {"a > f", NULL, "'>', at byte 3"},
    {"a 2>&1", NULL, "'>', at byte 4"},
    {"a < f", NULL, "'<', at byte 3"},
    {"(a)", NULL, "'(', at byte 1"},
    {"a )", NULL, "')', at byte 3"},
    {"echo $HOME", NULL, "'$', at byte 6"},
    {"echo \"$HOME\"", NULL, "'$', at byte 7"},
    {"echo `id`", NULL, "'`', at byte 6"},
    {"echo \"`id`\"", NULL, "'`', at byte 7"},
    {"ls *.c", NULL, "'*', at byte 4"},
    {"ls a?", NULL, "'?', at byte 5"},
    {"ls [ab]", NULL, "'[', at byte 4"},
    {"ls ~/x", NULL, "'~', at byte 4"},
    {"ls # x", NULL, "'#', at byte 4"},
    {"a\nb", NULL, "the end of a line, at byte 2"},
    {"a\r", NULL, "the end of a line, at byte 2"},
    {"a \\\nb", NULL, "the end of a line"},
    {"a \"\\\nb\"", NULL, "means something to a shell"},
    {"echo 'a", NULL, "a ' in the command is never closed"},
    {"echo \"a", NULL, "a \" in the command is never closed"},
    {"echo \"a\\\"", NULL, "a \" in the command is never closed"},
    {"echo a\\", NULL, "ends in a backslash"},
    {"FOO=bar make", NULL, "begins with 'FOO='"},
    {"  _x1= make", NULL, "begins with '_x1='"},
};

static void test_row(size_t i, struct arena *arena)
{
    _cleanup_(buf_release) struct buf found = BUF_INIT(4096);
    const char *const *words;
    struct err err = {0};
    size_t n = 0;
    int rc = words_split(rows[i].command, arena, &words, &n, &err);

    for (size_t k = 0; rc == 0 && k < n; k++)
        if (buf_printf(&found, "[%s]", words[k]) < 0)
            abort();
    if (!rows[i].words)
        ok(rc == -1 && err.code == ERR_REQUEST && strstr(err.message, rows[i].says),
           "command %zu is refused: %s", i, err.message);
    else if (!ok(rc == 0 && !words[n] && strcmp(found.data, rows[i].words) == 0,
                 "command %zu is taken apart", i))
        printf("# %s, not %s\n", rc == 0 ? found.data : err.message, rows[i].words);
}

/* Words that, joined, are the same words again. */
static void test_join(struct arena *arena)
{
    static const char *const words[] = {"/bin/a b", "", "it's", "x=1", "*", "$(id)", "a\nb", "~"};
    _cleanup_(buf_release) struct buf text = BUF_INIT(4096);
    const char *const *again;
    struct err err = {0};
    size_t n = 0;
    bool same = words_join(&text, words, ARRAY_SIZE(words)) == 0 &&
                words_split(text.data, arena, &again, &n, &err) == 0 && n == ARRAY_SIZE(words);

    for (size_t i = 0; same && i < n; i++)
        same = strcmp(words[i], again[i]) == 0;
    ok(same, "words that were joined are taken apart again");
}

static void test_first(struct arena *arena)
{
    static const char *const words[] = {"FOO=bar", "A=b"};
    _cleanup_(buf_release) struct buf text = BUF_INIT(4096);
    const char *const *again;
    struct err err = {0};
    size_t n = 0;

    ok(words_join(&text, words, 2) == 0 && words_split(text.data, arena, &again, &n, &err) == 0 &&
           n == 2 && strcmp(again[0], "FOO=bar") == 0,
       "a program that looks like a variable stays a program");
}

static void test_patterns(struct arena *arena)
{
    const char *const *words;
    struct err err = {0};
    size_t n = 0;

    ok(words_split_patterns("git log -n* '*.c' *", arena, &words, &n, &err) == 0 && n == 5 &&
           strcmp(words[2], "-n*") == 0 && strcmp(words[3], "*.c") == 0 &&
           strcmp(words[4], "*") == 0,
       "a pattern needs no quotes where patterns are meant, and is the same with them");
    ok(words_split_patterns("ls a?", arena, &words, &n, &err) == -1 &&
           strstr(err.message, "'?', at byte 5"),
       "whatever else means something to a shell is refused there, too: %s", err.message);
}

int main(void)
{
    struct arena *arena = arena_new();

    if (!arena)
        return 1;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        test_row(i, arena);
    test_join(arena);
    test_first(arena);
    test_patterns(arena);
    arena_free(arena);
    return done();
}
