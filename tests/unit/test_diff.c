/* Lines that differ: right for any two texts, smallest while the budget lasts, bounded always. */
#include "store/diff.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "tap.h"

#define MOST 48

static unsigned seed = 1;

static unsigned chance(unsigned below)
{
    seed = seed * 1103515245U + 12345U;
    return (seed >> 16) % below;
}

/* A text of one-letter lines. */
struct text {
    char letters[2 * MOST];
    size_t count;
    char bytes[4 * MOST];
};

static void make_bytes(struct text *text)
{
    for (size_t i = 0; i < text->count; i++) {
        text->bytes[2 * i] = text->letters[i];
        text->bytes[2 * i + 1] = '\n';
    }
}

static void make_any(struct text *text, unsigned letters)
{
    text->count = chance(MOST);
    for (size_t i = 0; i < text->count; i++)
        text->letters[i] = (char) ('a' + chance(letters));
}

static void make_similar(struct text *text, const struct text *to, unsigned letters)
{
    text->count = 0;
    for (size_t i = 0; i < to->count && text->count + 2 < MOST; i++) {
        unsigned fate = chance(8);
        if (fate == 1)
            text->letters[text->count++] = (char) ('a' + chance(letters));
        if (fate != 0)
            text->letters[text->count++] = to->letters[i];
    }
}

/* How many lines both can have in common, at most. */
static size_t most_common(const struct text *a, const struct text *b)
{
    static size_t table[MOST + 1][MOST + 1];

    for (size_t i = 1; i <= a->count; i++)
        for (size_t j = 1; j <= b->count; j++) {
            size_t up = table[i - 1][j], left = table[i][j - 1];
            table[i][j] = a->letters[i - 1] == b->letters[j - 1] ? table[i - 1][j - 1] + 1
                          : up > left                            ? up
                                                                 : left;
        }
    return table[a->count][b->count];
}

/* What is not marked must be the same on both sides. Returns how much, or SIZE_MAX. */
static size_t count_common(const struct diff_side *a, const struct diff_side *b)
{
    size_t i = 0, j = 0, common = 0;

    for (;; i++, j++, common++) {
        while (i < a->count && a->lines[i].changed)
            i++;
        while (j < b->count && b->lines[j].changed)
            j++;
        if (i == a->count && j == b->count)
            return common;
        if (i == a->count || j == b->count || a->lines[i].len != b->lines[j].len ||
            memcmp(a->lines[i].text, b->lines[j].text, a->lines[i].len) != 0)
            return SIZE_MAX;
    }
}

static bool try_texts(const struct text *a, const struct text *b, int64_t budget)
{
    _cleanup_(diff_release) struct diff_side left, right;
    bool coarse, plenty = budget > 100000;

    if (diff_texts(a->bytes, 2 * a->count, b->bytes, 2 * b->count, &budget, &left, &right,
                   &coarse) < 0)
        return false;
    size_t common = count_common(&left, &right), most = most_common(a, b);
    return left.count == a->count && right.count == b->count && common <= most &&
           (coarse ? !plenty : common == most);
}

static void test_random(void)
{
    struct text a, b;
    bool right = true;

    for (int i = 0; i < 20000 && right; i++) {
        unsigned letters = 1 + chance(6);
        make_any(&a, letters);
        if (chance(2))
            make_any(&b, letters);
        else
            make_similar(&b, &a, letters);
        make_bytes(&a);
        make_bytes(&b);
        right = try_texts(&a, &b, chance(3) ? 1000000 : chance(300));
    }
    ok(right,
       "any two texts are told apart right, and as shortly as can be while the budget lasts");
}

static void test_edges(void)
{
    static const struct {
        const char *a, *b;
        size_t a_lines, b_lines, common;
    } rows[] = {
        {"", "", 0, 0, 0},           {"a", "", 1, 0, 0},        {"", "a\n", 0, 1, 0},
        {"a", "a\n", 1, 1, 0},       {"a\n", "a\n", 1, 1, 1},   {"a\nb", "a\nb", 2, 2, 2},
        {"\n\n\n", "\n\n", 3, 2, 2}, {"a\r\n", "a\n", 1, 1, 0},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_(diff_release) struct diff_side a, b;
        int64_t budget = 1000;
        bool coarse;
        ok(diff_texts(rows[i].a, strlen(rows[i].a), rows[i].b, strlen(rows[i].b), &budget, &a, &b,
                      &coarse) == 0 &&
               a.count == rows[i].a_lines && b.count == rows[i].b_lines &&
               count_common(&a, &b) == rows[i].common,
           "%zu and %zu lines have %zu in common", a.count, b.count, rows[i].common);
    }
}

/* Lines of a text that are all different, and none in order. */
static size_t fill(char *text, size_t lines, unsigned step)
{
    size_t len = 0;

    for (size_t i = 0; i < lines; i++)
        len += (size_t) sprintf(text + len, "%05zu\n", i * step % 99991); /* six bytes each */
    return len;
}

static void test_bounds(void)
{
    static char a[2 * DIFF_MAX_BYTES], b[2 * DIFF_MAX_BYTES];
    _cleanup_(diff_release) struct diff_side left = {0}, right = {0}, more_left = {0},
                                             more_right = {0};
    int64_t budget = 8000000;
    bool coarse = false;
    size_t a_len = fill(a, 90000, 7919), b_len = fill(b, 90000, 104729 % 99991);

    ok(diff_texts(a, a_len, b, b_len, &budget, &left, &right, &coarse) == 0 && coarse &&
           budget > -20000000 && count_common(&left, &right) != SIZE_MAX,
       "two texts that differ throughout end with the budget, and are told apart right");
    memset(a, '\n', sizeof(a));
    ok(diff_texts(a, DIFF_MAX_LINES + 1, b, 1, &budget, &more_left, &more_right, &coarse) < 0 &&
           errno == EFBIG,
       "a text of too many lines is refused");
    memset(a, 'a', sizeof(a));
    diff_release(&more_left);
    diff_release(&more_right);
    ok(diff_texts(a, DIFF_MAX_BYTES + 1, b, 1, &budget, &more_left, &more_right, &coarse) < 0 &&
           errno == EFBIG,
       "and one of too many bytes");
}

int main(void)
{
    test_random();
    test_edges();
    test_bounds();
    return done();
}
