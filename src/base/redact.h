/*
 * redact: takes secrets out of text: values that are known (registered), and shapes of well-known
 * keys. What is found becomes "[redacted]" or "[redacted:SHAPE]".
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define REDACT_MIN_VALUE 4 /* a shorter value is refused: it would blank out ordinary text */
#define REDACT_MAX_VALUE 65536
#define REDACT_MAX_VALUES 256

/* Values that must not be seen. The bytes are copied, and wiped at the end. */
struct secrets {
    struct secret_value {
        char *bytes;
        size_t len;
    } values[REDACT_MAX_VALUES];
    size_t count;
};

/* 0; -1 and errno: EINVAL (too short or too long), ENOSPC (too many), ENOMEM. */
int secrets_add(struct secrets *secrets, const void *bytes, size_t len);
void secrets_release(struct secrets *secrets);

/*
 * A stream: bytes in, in any pieces; bytes out, with what looked like the beginning of a secret
 * held back until it is known. What is held back is bounded.
 */
struct redactor {
    const struct secrets *secrets; /* may be NULL or empty */
    bool with_shapes;              /* also the shapes of well-known keys */
    uint64_t count;                /* how many were taken out */
    struct buf held;
};

void redactor_init(struct redactor *redactor, const struct secrets *secrets, bool with_shapes);
void redactor_release(struct redactor *redactor);
/* Adds to `out` what can be let go. 0, or -1 when `out` or memory is full. */
int redactor_add(struct redactor *redactor, const void *bytes, size_t len, struct buf *out);
/* What is held back, at the end. */
int redactor_finish(struct redactor *redactor, struct buf *out);

/*
 * A whole text in place of itself, with shapes; secrets may be NULL. It never grows beyond `size`,
 * the room it has; true if anything was taken out.
 */
bool redact_text(char *text, size_t size, const struct secrets *secrets);
