/*
 * redact_parts: what the files of redact share. For them alone.
 */
#pragma once

#include "base/redact.h"

/* Stands for what was taken out. */
#define REDACTED "[redacted]"

/* ---- redact_tree.c: the search for values ---------------------------------------------------- */

/* The root is number 0 and nobody's child or sibling, so 0 means none. */
struct secret_node {
    uint32_t child, sibling;
    uint32_t fail;  /* the longest end of this beginning that is a beginning, too */
    uint32_t depth; /* bytes from the root */
    uint32_t found; /* the longest form that ends here has so many; 0: none does */
    unsigned char byte;
    bool is_form; /* one ends exactly here */
};

/* Where one more byte leads. */
uint32_t secrets_step(const struct secrets *secrets, uint32_t node, unsigned char byte);
/* Adds one form to the tree; it is found once they are linked. 0, or -1 and errno. */
int secrets_add_form(struct secrets *secrets, const char *bytes, size_t len);

/* ---- redact_forms.c -------------------------------------------------------------------------- */

/* Adds the value in all its forms. 0, or -1 and errno. */
int secrets_add_forms(struct secrets *secrets, const char *bytes, size_t len);

/* ---- redact_shapes.c ------------------------------------------------------------------------- */

enum shape_answer {
    SHAPE_NONE,
    SHAPE_FOUND,
    SHAPE_WAIT, /* more bytes could make it one */
};

struct shape_find {
    const char *name;
    size_t keep; /* bytes before the secret that may be seen: the name it is assigned to */
    size_t len;  /* of the secret, as far as it was looked at; the rest says what more is of it */
    struct shape_rest rest;
};

/*
 * Whether a key begins at text[at]. is_all: nothing comes after len. What lies before `at` tells
 * whether a word begins there; SHAPE_CONTEXT bytes of it are enough.
 */
#define SHAPE_CONTEXT 4
enum shape_answer shape_look(const char *text, size_t at, size_t len, bool is_all,
                             struct shape_find *ret_find);
/* How many of the bytes still belong to the key; all of them: it goes on, rest->classes tells. */
size_t shape_take_rest(struct shape_rest *rest, const char *text, size_t len);
