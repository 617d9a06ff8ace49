/*
 * Myers' O(ND) algorithm in linear space: the path from both ends at once, split where they meet,
 * then each half by itself. Whatever the point, a split leaves two smaller problems whose answers
 * put together are right; how good the point is only decides how short the answer is.
 */
#include "store/diff.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* ---- lines ----------------------------------------------------------------------------------- */

static size_t count_lines(const char *text, size_t len)
{
    size_t count = 0;

    for (const char *end = text + len; text < end; count++) {
        const char *newline = memchr(text, '\n', (size_t) (end - text));
        text = newline ? newline + 1 : end;
    }
    return count;
}

static int split(const char *text, size_t len, struct diff_side *side)
{
    size_t count = len > DIFF_MAX_BYTES ? SIZE_MAX : count_lines(text, len);

    if (count > DIFF_MAX_LINES) {
        errno = EFBIG;
        return -1;
    }
    side->lines = calloc(count + 1, sizeof(*side->lines));
    if (!side->lines)
        return -1;
    for (const char *end = text + len; text < end; side->count++) {
        const char *newline = memchr(text, '\n', (size_t) (end - text));
        const char *next = newline ? newline + 1 : end;
        side->lines[side->count] =
            (struct diff_line){.text = text, .len = (uint32_t) (next - text)};
        text = next;
    }
    return 0;
}

static int compare_lines(const void *left, const void *right)
{
    const struct diff_line *a = *(struct diff_line *const *) left;
    const struct diff_line *b = *(struct diff_line *const *) right;
    int order = memcmp(a->text, b->text, a->len < b->len ? a->len : b->len);

    return order != 0 ? order : (a->len > b->len) - (a->len < b->len);
}

/* By sorting, whose time no choice of lines can spoil as it could that of a hash. */
static int number_lines(struct diff_side *a, struct diff_side *b)
{
    size_t count = a->count + b->count;
    _cleanup_free_ struct diff_line **all = calloc(count + 1, sizeof(struct diff_line *));

    if (!all)
        return -1;
    for (size_t i = 0; i < a->count; i++)
        all[i] = &a->lines[i];
    for (size_t i = 0; i < b->count; i++)
        all[a->count + i] = &b->lines[i];
    qsort(all, count, sizeof(struct diff_line *), compare_lines);
    for (size_t i = 1; i < count; i++)
        all[i]->id = all[i - 1]->id + (compare_lines(&all[i - 1], &all[i]) != 0);
    return 0;
}

/* ---- the path -------------------------------------------------------------------------------- */

/* Part of both sides: from a up to a_end, from b up to b_end. */
struct box {
    struct diff_line *a, *a_end, *b, *b_end;
};

/*
 * How far along the lines of a (x) each diagonal (k = x - y) was reached, from the start and from
 * the end; -1 where it was not. Diagonals go from -M to N, so M is added to find one.
 */
struct reach {
    int32_t *forward, *backward;
    int64_t *budget;
    bool coarse;
};

static bool is_equal(const struct box *box, bool backward, int32_t x, int32_t y)
{
    const struct diff_line *a = backward ? box->a_end - 1 - x : box->a + x;
    const struct diff_line *b = backward ? box->b_end - 1 - y : box->b + y;

    return a->id == b->id;
}

/* One step further on the diagonal k, then as far as lines are equal. -1: out of the box. */
static int32_t advance(const struct box *box, const int32_t *reach, bool backward, int32_t d,
                       int32_t k, int64_t *budget)
{
    int32_t n = (int32_t) (box->a_end - box->a), m = (int32_t) (box->b_end - box->b);
    int32_t right = k > -m && reach[k - 1] >= 0 && reach[k - 1] < n ? reach[k - 1] + 1 : -1;
    int32_t down = k < n && reach[k + 1] >= 0 && reach[k + 1] - k <= m ? reach[k + 1] : -1;
    int32_t x = d == 0 ? 0 : right > down ? right : down;

    if (x < 0)
        return -1;
    int32_t from = x;
    while (x < n && x - k < m && is_equal(box, backward, x, x - k))
        x++;
    *budget -= 1 + (x - from);
    return x;
}

/*
 * Takes step d from one end on all its diagonals. True if it met the other end's path there;
 * *ret_x and *ret_k are then where, seen from this end.
 */
static bool take_step(const struct box *box, struct reach *reach, bool backward, int32_t d,
                      int32_t *ret_x, int32_t *ret_k)
{
    int32_t n = (int32_t) (box->a_end - box->a), m = (int32_t) (box->b_end - box->b);
    int32_t *own = (backward ? reach->backward : reach->forward) + m;
    const int32_t *other = (backward ? reach->forward : reach->backward) + m;

    for (int32_t k = -d; k <= d; k += 2) {
        if (k < -m || k > n)
            continue;
        int32_t x = advance(box, own, backward, d, k, reach->budget);
        if (x < 0)
            continue;
        own[k] = x;
        int32_t facing = other[n - m - k]; /* the same diagonal, seen from the other end */
        if (facing >= 0 && x + facing >= n) {
            *ret_x = x;
            *ret_k = k;
            return true;
        }
    }
    return false;
}

/* A point to split the box at, not at one of its ends; false if the budget ended first. */
static bool find_split(const struct box *box, struct reach *reach, size_t *ret_x, size_t *ret_y)
{
    int32_t n = (int32_t) (box->a_end - box->a), m = (int32_t) (box->b_end - box->b);
    size_t diagonals = (size_t) n + (size_t) m + 1;
    int32_t x, k;

    memset(reach->forward, 0xff, diagonals * sizeof(*reach->forward)); /* -1 each */
    memset(reach->backward, 0xff, diagonals * sizeof(*reach->backward));
    *reach->budget -= (int64_t) diagonals / 4;
    for (int32_t d = 0; d <= n + m && *reach->budget > 0; d++) {
        bool backward = !take_step(box, reach, false, d, &x, &k);
        if (backward && !take_step(box, reach, true, d, &x, &k))
            continue;
        *ret_x = (size_t) (backward ? n - x : x);
        *ret_y = (size_t) (backward ? m - (x - k) : x - k);
        return *ret_x + *ret_y > 0 && *ret_x + *ret_y < (size_t) n + (size_t) m;
    }
    return false;
}

static void mark(struct diff_line *from, const struct diff_line *end)
{
    for (; from < end; from++)
        from->changed = true;
}

/* As deep as splits go: each about halves the differences, and each takes from the budget. */
static void compare_box(struct box box, struct reach *reach)
{
    size_t x, y;

    while (box.a < box.a_end && box.b < box.b_end && box.a->id == box.b->id)
        box.a++, box.b++;
    while (box.a < box.a_end && box.b < box.b_end && box.a_end[-1].id == box.b_end[-1].id)
        box.a_end--, box.b_end--;
    bool one_sided = box.a == box.a_end || box.b == box.b_end;
    if (one_sided || !find_split(&box, reach, &x, &y)) {
        reach->coarse |= !one_sided;
        mark(box.a, box.a_end);
        mark(box.b, box.b_end);
        return;
    }
    compare_box((struct box){box.a, box.a + x, box.b, box.b + y}, reach);
    compare_box((struct box){box.a + x, box.a_end, box.b + y, box.b_end}, reach);
}

int diff_texts(const char *a, size_t a_len, const char *b, size_t b_len, int64_t *budget,
               struct diff_side *ret_a, struct diff_side *ret_b, bool *ret_coarse)
{
    *ret_a = *ret_b = (struct diff_side){0};
    if (split(a, a_len, ret_a) < 0 || split(b, b_len, ret_b) < 0 || number_lines(ret_a, ret_b) < 0)
        return -1;
    size_t diagonals = ret_a->count + ret_b->count + 1;
    _cleanup_free_ int32_t *forward = calloc(diagonals, sizeof(*forward));
    _cleanup_free_ int32_t *backward = calloc(diagonals, sizeof(*backward));
    if (!forward || !backward)
        return -1;
    struct reach reach = {.forward = forward, .backward = backward, .budget = budget};
    struct box box = {ret_a->lines, ret_a->lines + ret_a->count, ret_b->lines,
                      ret_b->lines + ret_b->count};
    compare_box(box, &reach);
    *ret_coarse = reach.coarse;
    return 0;
}

void diff_release(struct diff_side *side)
{
    free(side->lines);
    *side = (struct diff_side){0};
}
