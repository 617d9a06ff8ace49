/*
 * Any bytes as a text, of which the first says how it is parted, and whose first line is a secret
 * if it is long enough: what comes out does not depend on the pieces and holds no secret.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/redact.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char marker[] = "[redacted]";

static void redact(const char *text, size_t len, uint32_t chance, const struct secrets *secrets,
                   bool with_shapes, struct buf *out)
{
    _cleanup_(redactor_release) struct redactor redactor;

    redactor_init(&redactor, secrets, with_shapes);
    for (size_t at = 0; at < len;) {
        size_t n = len - at;
        if (chance != 0) {
            chance = chance * 1664525 + 1013904223;
            n = 1 + (chance >> 24) % 7 < n ? 1 + (chance >> 24) % 7 : n;
        }
        assert(redactor_add(&redactor, text + at, n, out) == 0);
        size_t held = redactor.values.held.len - redactor.values.at + redactor.shapes.held.len -
                      redactor.shapes.at;
        assert(held <= REDACT_LOOKAHEAD + secrets->longest);
        at += n;
    }
    assert(redactor_finish(&redactor, out) == 0);
}

static void check(const char *text, size_t len, uint32_t chance, const struct secrets *secrets,
                  bool with_shapes)
{
    size_t max = 32 * len + 64;
    _cleanup_(buf_release) struct buf whole = BUF_INIT(max), parted = BUF_INIT(max);

    redact(text, len, 0, secrets, with_shapes, &whole);
    redact(text, len, chance | 1, secrets, with_shapes, &parted);
    assert(whole.len == parted.len);
    assert(whole.len == 0 || memcmp(whole.data, parted.data, whole.len) == 0);
}

/* Between two markers, where a secret that is part of one cannot look like a leak. */
static void check_gone(const char *text, size_t len, const char *secret, size_t secret_len,
                       const struct secrets *secrets)
{
    _cleanup_(buf_release) struct buf out = BUF_INIT(32 * len + 64);

    redact(text, len, 0, secrets, false, &out);
    const char *at = out.data ? out.data : "", *end = at + out.len;
    for (const char *next; at < end; at = next + sizeof(marker) - 1) {
        next = memmem(at, (size_t) (end - at), marker, sizeof(marker) - 1);
        size_t n = (size_t) ((next ? next : end) - at);
        assert(!memmem(at, n, secret, secret_len));
        if (!next)
            break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct secrets secrets = {0};

    if (size == 0)
        return 0;
    const char *text = (const char *) data + 1;
    size_t len = size - 1;
    const char *line_end = len > 0 ? memchr(text, '\n', len) : NULL;
    size_t secret_len = line_end ? (size_t) (line_end - text) : 0;
    bool has_secret = secret_len >= REDACT_MIN_VALUE && secret_len <= REDACT_MAX_VALUE;
    if (has_secret)
        assert(secrets_add(&secrets, text, secret_len) == 0);
    check(text, len, data[0], &secrets, false);
    check(text, len, data[0], &secrets, true);
    if (has_secret)
        check_gone(text, len, text, secret_len, &secrets);
    _cleanup_free_ char *copy = malloc(len + 32);
    assert(copy);
    if (len > 0)
        memcpy(copy, text, len);
    copy[len] = '\0';
    (void) redact_text(copy, len + 32, &secrets); /* found or not */
    assert(strnlen(copy, len + 32) < len + 32);
    secrets_release(&secrets);
    return 0;
}
