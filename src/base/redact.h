/*
 * redact: takes secrets out of text: values that are known (registered), and shapes of well-known
 * keys. What is found becomes "[redacted]" or "[redacted:SHAPE]".
 *
 * This is for accidents: a key in a path, in a message, in what a tool prints of its environment.
 * It is no wall. Whoever holds a secret and wants to pass it on can reverse it, split it by other
 * bytes or encrypt it, and no search finds it then; what a guest must not give away it must not be
 * given. A registered value is found as it is and in the forms that tools make of it without being
 * asked: base64 (also in the middle of more, as in "Authorization: Basic"), hex, in a URL and in a
 * JSON string. Of a value of several lines each line of 16 bytes or more counts by itself:
 * terminals and JSON write the line ends differently.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define REDACT_MIN_VALUE 4 /* a shorter value is refused: it would blank out ordinary text */
#define REDACT_MAX_VALUE 65536
#define REDACT_MAX_VALUES 256
/* Forms of a shorter value would turn up in any long base64 by chance. */
#define REDACT_MIN_ENCODED 8
/* How far is looked ahead to tell the shape of a key. */
#define REDACT_LOOKAHEAD 2048

/*
 * Values that must not be seen, as a tree of all their forms: however many there are, a byte is
 * looked at once. Initialise with {0}. Everything in it is wiped at the end.
 */
struct secrets {
    size_t count;      /* values, not forms */
    size_t longest;    /* form, in bytes */
    uint32_t n_nodes;  /* of all forms together; the first is the root */
    uint32_t capacity; /* of nodes */
    struct secret_node *nodes;
    uint32_t first[256]; /* the root's children */
};

/*
 * 0; -1 and errno: EINVAL (too short or too long), ENOSPC (too many, or too large together),
 * ENOMEM; of the last two nothing can be done but secrets_release. The same value twice counts
 * twice and is found once. Not while a redactor uses them.
 */
int secrets_add(struct secrets *secrets, const void *bytes, size_t len);
void secrets_release(struct secrets *secrets);

/*
 * A stream: bytes in, in any pieces; bytes out, with what looked like the beginning of a secret
 * held back until it is known. What comes out does not depend on the pieces. Held back are at most
 * as many bytes as the longest form of a value has and, with shapes, REDACT_LOOKAHEAD more.
 */
struct redactor {
    const struct secrets *secrets; /* may be NULL or empty */
    bool with_shapes;              /* also the shapes of well-known keys */
    uint64_t count;                /* how many were taken out */

    /* the search for values */
    struct redact_values {
        uint32_t node;             /* the longest beginning of a form that the stream ends in */
        struct buf held;           /* bytes from `at` on are held back */
        size_t at;                 /* those before it are gone */
        uint64_t origin;           /* where in the stream held.data is */
        struct redact_span *spans; /* what was found and is not let go yet, in order */
        size_t first_span, n_spans, spans_capacity;
    } values;
    /* the search for shapes, in what the first one lets go */
    struct redact_shapes {
        struct buf held;
        size_t at;
        size_t wait; /* look again when so many are there */
        struct shape_rest {
            uint16_t classes; /* of characters that still belong to the key; 0: none do */
            char until;       /* the quote that ends it; '\0': none */
            bool is_pem;
            uint8_t dashes, rules; /* of a private key: in a row, and rows so far */
            uint32_t left;         /* so many bytes may still belong to it */
        } rest;
    } shapes;
};

void redactor_init(struct redactor *redactor, const struct secrets *secrets, bool with_shapes);
void redactor_release(struct redactor *redactor);
/*
 * Adds to `out` what can be let go. 0, or -1 when `out` or memory is full: what was not let go by
 * then is lost, and nothing but redactor_release may follow.
 */
int redactor_add(struct redactor *redactor, const void *bytes, size_t len, struct buf *out);
/* What is held back, at the end. */
int redactor_finish(struct redactor *redactor, struct buf *out);

/*
 * A whole text in place of itself, with shapes; secrets may be NULL. It never grows beyond `size`,
 * the room it has; true if anything was taken out. The beginning of a value counts, too, where the
 * text was cut: it fills its room or ends in "...". Without memory nothing of the text is left.
 */
bool redact_text(char *text, size_t size, const struct secrets *secrets);
/* Adds the text to `out`, with shapes; secrets may be NULL. 0, or -1: `out` or memory is full. */
int redact_copy(const char *text, size_t len, const struct secrets *secrets, struct buf *out);
/* True if something in the text has the shape of a key. */
bool redact_has_shape(const char *text);
/*
 * True if a variable, option or field of that name holds a credential: TOKEN, PASSWORD, API_KEY as
 * words in it, however they are joined (githubToken, x-api-key).
 */
bool redact_name_tells(const char *name, size_t len);
