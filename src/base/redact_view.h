/*
 * redact_view: the text that the functions for shapes look at, and its characters. For redact_*.c.
 */
#pragma once

#include "base/redact_parts.h"

enum redact_class {
    LOWER = 1 << 0,
    UPPER = 1 << 1,
    DIGIT = 1 << 2,
    JOIN = 1 << 3, /* _ - */
    DOT = 1 << 4,
    BASE64 = 1 << 5, /* + / = */
    ESCAPE = 1 << 6, /* % ~, of URLs */
    PUNCT = 1 << 7,  /* what else a password may have in it where no quote ends it */
    HEX = 1 << 8,    /* in small letters */
    SPACE = 1 << 9,  /* within a line */
    LABEL = 1 << 10, /* between the words of a private key's first line */
    BODY = 1 << 11,  /* of a private key: base64, headers, line ends that may be escaped */
    ALNUM = LOWER | UPPER | DIGIT,
    KEY = ALNUM | JOIN, /* what a word is made of */
    TOKEN68 = KEY | DOT | BASE64 | ESCAPE,
    VALUE = TOKEN68 | PUNCT,
};

/* By byte. */
extern const uint16_t redact_classes[256];

static inline bool is(int c, unsigned int wanted)
{
    return c >= 0 && (redact_classes[c] & wanted) != 0;
}

/* What can be looked at, and whether more would have been. */
struct view {
    const char *text;
    size_t len;
    bool is_all;
    bool ran_out;
};

/* The byte there; -1 at the end. */
int view_peek(struct view *view, size_t at);
/* How many characters of these classes come from `at` on, up to max. */
size_t view_span(struct view *view, size_t at, unsigned int wanted, size_t max);
/* '?' stands for any letter. Of the view, capitals may stand for the small letters of the text. */
bool view_has(struct view *view, size_t at, const char *text, bool any_case);

/* Whether a key begins there. */
typedef bool look_function(struct view *view, size_t at, struct shape_find *ret_find);

/* redact_around.c: what is told by what stands around it. */
look_function look_url, look_scheme, look_assignment;
