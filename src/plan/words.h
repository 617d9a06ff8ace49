/*
 * words: a command in one string, taken apart by quoting rules and nothing else. No shell is
 * involved, so what would mean something to one is refused where it is not quoted: a command that
 * did something else than it says would be worse.
 */
#pragma once

#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

/*
 * Words are apart by spaces and tabs. '…' is literal; in "…" a backslash goes before '"', '\', '$',
 * '`'; elsewhere it makes the next character an ordinary one. *ret_words is NULL-terminated, lies
 * in the arena and has at least one word. -1 and *err (ERR_REQUEST) for a command without one, a
 * quote that does not end, and for | & ; < > ( ) $ ` * ? [ # ~ and line ends that are not quoted.
 */
int words_split(const char *command, struct arena *arena, const char *const **ret_words,
                size_t *ret_n_words, struct err *err);
/*
 * The same for a command whose words are patterns: '*' needs no quotes, and quotes take nothing
 * from it: there is no way to write one that is only a character.
 */
int words_split_patterns(const char *command, struct arena *arena, const char *const **ret_words,
                         size_t *ret_n_words, struct err *err);
/*
 * Adds words as a command that both of the above take apart again, after a space if there is
 * something already. 0, or -1 if the buffer is full.
 */
int words_join(struct buf *into, const char *const *words, size_t n_words);
