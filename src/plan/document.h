/*
 * document: a policy as a tree, whatever it was written in: JSON (document.c) or YAML (yaml.h).
 *
 * base/json.h reads JSON, too. It neither tells the line of a value nor every problem, and takes
 * 1.7 ms for a thousand rules, where a decision on all of them may take one. What one of them takes
 * the other takes (fuzz_document compares them).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/digest.h"
#include "base/json.h"
#include "plan/problems.h"

/* No object that wasp knows has half as many keys; it bounds the search for one that is doubled. */
#define DOCUMENT_MAX_KEYS 64

/* Small, for there are thousands, and fresh memory is dear. */
struct node {
    const char *key;   /* its name in the object that holds it; NULL: an array does, or nothing */
    struct node *next; /* in what holds it, as written */
    union {
        bool truth;
        int64_t number;
        const char *text;   /* no NUL in it but at its end */
        struct node *first; /* of an array or object */
    };
    union {
        uint32_t len;   /* of the text */
        uint32_t count; /* of an array or object */
    };
    uint32_t line : 24;    /* from 1; of the key, where there is one */
    uint32_t kind : 4;     /* enum json_kind */
    uint32_t is_plain : 1; /* a text of printable ASCII without quotes and backslashes: most are */
};
_Static_assert(JSON_MAX_BYTES < 1 << 24, "a line's number and a text's length fit");

/*
 * Strict, as json_parse; what is no problem of the form (a number with a fraction, a key twice) is
 * kept in *problems, and reading goes on. 0 and a tree in problems->arena if there is one, -1 if
 * not; problems_any tells whether it is whole.
 */
int document_parse_json(const char *text, size_t len, struct problems *problems,
                        struct node *ret_document);

/* What both readers check before they read: size, UTF-8, no byte order mark. 0 or -1. */
int document_check_text(const char *text, size_t len, struct problems *problems);
/* An object or array while its members are read, and where the next one goes. */
struct node_list {
    struct node *holder;
    struct node **end;
    const struct place *place;
};
void node_list_init(struct node_list *list, struct node *holder, enum json_kind kind,
                    const struct place *place);
/*
 * Room for the next one; a key that is there already is a problem, and its value goes nowhere. NULL
 * if reading cannot go on: too many keys, or memory is exhausted.
 */
struct node *node_list_add(struct node_list *list, const char *key, uint32_t line,
                           struct problems *problems);
/* How many printable ASCII characters but '"' and '\\' a text begins with. */
size_t plain_run(const char *text);
/* Makes it a string; the text is the node's from now on. */
void node_set_text(struct node *node, const char *text, size_t len);
/* Depth and size of numbers, as base/json.h has them: a problem, and -1, if it is beyond. */
int node_check_depth(int depth, uint32_t line, const struct place *place,
                     struct problems *problems);
int node_set_number(struct node *node, const char *digits, size_t len, const struct place *place,
                    struct problems *problems);

/*
 * The canonical form: compact JSON, keys sorted by their bytes. YAML and JSON that mean the same
 * have the same.
 */
void document_write(const struct node *document, struct json_writer *json);
/* Its SHA-256. 0, or -1 if memory is exhausted. */
int document_digest(const struct node *document, struct digest *ret_digest);
