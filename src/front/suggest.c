#include "front/suggest.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Farther than this is a guess, not a typing mistake. */
#define FARTHEST 2

static size_t least(size_t a, size_t b, size_t c)
{
    size_t ab = a < b ? a : b;

    return ab < c ? ab : c;
}

/*
 * How many letters must be changed, added, left out or swapped with their neighbour; long words are
 * far from everything.
 */
static size_t distance(const char *a, const char *b)
{
    size_t a_len = strnlen(a, SUGGEST_MAX_WORD + 1), b_len = strnlen(b, SUGGEST_MAX_WORD + 1);
    size_t d[SUGGEST_MAX_WORD + 1]
            [SUGGEST_MAX_WORD + 1]; /* of the first i and the first j letters */

    if (a_len > SUGGEST_MAX_WORD || b_len > SUGGEST_MAX_WORD)
        return SUGGEST_MAX_WORD;
    for (size_t i = 0; i <= a_len; i++)
        for (size_t j = 0; j <= b_len; j++) {
            if (i == 0 || j == 0) {
                d[i][j] = i + j;
                continue;
            }
            d[i][j] =
                least(d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d[i][j] = least(d[i][j], d[i - 2][j - 2] + 1, SIZE_MAX);
        }
    return d[a_len][b_len];
}

void suggestion_init(struct suggestion *suggestion, const char *typed)
{
    *suggestion = (struct suggestion){.typed = typed, .distance = FARTHEST + 1};
}

/* "--dir" for "--allow-dir", "--mem" for "--memory": a part of the word, remembered right. */
static bool is_part(const char *typed, const char *word)
{
    const char *stem = typed + strspn(typed, "-");

    return strlen(stem) >= 3 && strstr(word, stem) != NULL;
}

void suggestion_offer(struct suggestion *suggestion, const char *word)
{
    size_t d = is_part(suggestion->typed, word) ? 1 : distance(suggestion->typed, word);

    /* Half of a short word replaced is another word. */
    if (d < suggestion->distance && 2 * d < strlen(word)) {
        suggestion->distance = d;
        suggestion->best = word;
    }
}
