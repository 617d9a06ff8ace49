/* Any bytes as a command: refused, or words that, quoted, are the same words again. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/utf8.h"
#include "plan/words.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* 'it'\''s' */
static void quote(struct buf *into, const char *word)
{
    int rc = buf_add_string(into, " '");

    for (; *word; word++)
        rc |= *word == '\'' ? buf_add_string(into, "'\\''") : buf_add_char(into, *word);
    assert((rc | buf_add_char(into, '\'')) == 0);
}

static void check_again(const char *const *words, size_t n, struct arena *arena)
{
    _cleanup_(buf_release) struct buf quoted = BUF_INIT((size_t) 64 << 20);
    const char *const *again;
    size_t n_again;
    struct err err;

    for (size_t i = 0; i < n; i++)
        quote(&quoted, words[i]);
    assert(words_split(quoted.data, arena, &again, &n_again, &err) == 0 && n_again == n);
    for (size_t i = 0; i < n; i++)
        assert(strcmp(words[i], again[i]) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_free_ char *text = calloc(1, size + 1);
    struct arena *arena = arena_new();
    const char *const *words;
    size_t n;
    struct err err = {0};

    assert(text && arena);
    memcpy(text, data, size);
    if (words_split(text, arena, &words, &n, &err) < 0) {
        assert(err.code == ERR_REQUEST && err.message[0] && !strchr(err.message, '\n'));
        assert(utf8_valid(err.message, strlen(err.message)));
    } else {
        assert(n > 0 && !words[n]);
        check_again(words, n, arena);
    }
    arena_free(arena);
    return 0;
}
