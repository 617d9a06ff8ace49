/*
 * diff: which lines of two texts differ.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DIFF_MAX_BYTES (4 * 1024 * 1024) /* of a text */
#define DIFF_MAX_LINES (256 * 1024)

struct diff_line {
    const char *text; /* in the text that was given */
    uint32_t len;     /* with its newline, which the last one may lack */
    uint32_t id;      /* equal lines have equal ones, on both sides */
    bool changed;     /* it has no counterpart */
};

struct diff_side {
    struct diff_line *lines;
    size_t count;
};

/*
 * Splits both texts and marks what is deleted from one and added in the other; what is not marked
 * is the same on both sides, in its order. *budget is how many steps may be taken, and goes down;
 * where it ends, more is marked than needs be, and *ret_coarse is set. 0, or -1 and errno: EFBIG if
 * a text is too large, ENOMEM. diff_release in both cases.
 */
int diff_texts(const char *a, size_t a_len, const char *b, size_t b_len, int64_t *budget,
               struct diff_side *ret_a, struct diff_side *ret_b, bool *ret_coarse);
void diff_release(struct diff_side *side);
