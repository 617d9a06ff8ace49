/*
 * What is a secret and what is not, in whatever pieces it comes. The cases are in
 * tests/data/redact, one a line, with tabs between: \n, \r and \\ are escapes, and a '~' is taken
 * out (it keeps those who scan repositories for keys from taking ours for real ones).
 */
#include "base/redact.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "tap.h"

#define DATA "tests/data/redact/"
#define MAX_OUT ((size_t) 1 << 24)

/* ---- the cases ------------------------------------------------------------------------------- */

static void unescape(char *text)
{
    char *to = text;

    for (; *text; text++) {
        if (*text == '~' || *text == '\n')
            continue;
        if (*text == '\\' && text[1]) {
            text++;
            *to++ = *text == 'n' ? '\n' : *text == 'r' ? '\r' : *text;
        } else {
            *to++ = *text;
        }
    }
    *to = '\0';
}

/* Calls it with the fields of each line. */
static void each_case(const char *name, size_t n_fields, void (*check)(char *const *fields))
{
    FILE *file = fopen(name, "r");
    char line[8192];
    int n = 0;

    while (file && fgets(line, sizeof(line), file)) {
        char *fields[3] = {line, NULL, NULL};
        for (size_t i = 1; i < n_fields; i++) {
            fields[i] = strchr(fields[i - 1], '\t');
            if (!fields[i])
                abort();
            *fields[i]++ = '\0';
        }
        for (size_t i = 0; i < n_fields; i++)
            unescape(fields[i]);
        check(fields);
        n++;
    }
    ok(n > 5, "%s is there (the tests run in the project's folder)", name);
    if (file)
        (void) fclose(file); /* only read */
}

/* ---- pieces ---------------------------------------------------------------------------------- */

/* What is held back, by both searches. */
static size_t held(const struct redactor *redactor)
{
    return redactor->values.held.len - redactor->values.at + redactor->shapes.held.len -
           redactor->shapes.at;
}

/* The text in pieces that end at `first` and `second`, and every `step` bytes (0: no more). */
static bool in_pieces(const char *text, size_t first, size_t second, size_t step,
                      const struct secrets *secrets, const char *expected)
{
    _cleanup_(redactor_release) struct redactor redactor;
    _cleanup_(buf_release) struct buf out = BUF_INIT(MAX_OUT);
    size_t len = strlen(text), bound = REDACT_LOOKAHEAD + (secrets ? secrets->longest : 0);
    bool is_bounded = true;

    redactor_init(&redactor, secrets, true);
    for (size_t at = 0; at < len;) {
        size_t n = at < first ? first - at : at < second ? second - at : step ? step : len - at;
        n = n < len - at ? n : len - at;
        if (redactor_add(&redactor, text + at, n, &out) < 0)
            return false;
        is_bounded = is_bounded && held(&redactor) <= bound;
        at += n;
    }
    return redactor_finish(&redactor, &out) == 0 && is_bounded && out.len == strlen(expected) &&
           (out.len == 0 || memcmp(out.data, expected, out.len) == 0);
}

/* Every place for one border, some for two, and byte by byte. */
static bool in_all_pieces(const char *text, const struct secrets *secrets, const char *expected)
{
    size_t len = strlen(text);

    for (size_t i = 0; i <= len; i++)
        for (size_t j = i; j <= len; j += 1 + len / 8)
            if (!in_pieces(text, i, j, 0, secrets, expected)) {
                printf("# differs when parted at %zu and %zu\n", i, j);
                return false;
            }
    for (size_t step = 1; step < 6; step++)
        if (!in_pieces(text, 0, 0, step, secrets, expected)) {
            printf("# differs in pieces of %zu\n", step);
            return false;
        }
    return true;
}

static const char *show(const char *text)
{
    static char shown[160];

    (void) snprintf(shown, sizeof(shown), "%s", text); /* what fits tells */
    for (char *c = shown; *c; c++)
        if (*c == '\n' || *c == '\r' || *c == '#')
            *c = ' ';
    return shown;
}

static void say_got(const char *text, const struct secrets *secrets)
{
    _cleanup_(buf_release) struct buf out = BUF_INIT(MAX_OUT);

    if (redact_copy(text, strlen(text), secrets, &out) == 0)
        printf("# got: %s\n", show(out.data ? out.data : ""));
}

/* ---- shapes ---------------------------------------------------------------------------------- */

static void check_key(char *const *fields)
{
    if (!ok(in_all_pieces(fields[0], NULL, fields[1]), "%s", show(fields[1])))
        say_got(fields[0], NULL);
    ok(in_pieces(fields[1], 0, 0, 0, NULL, fields[1]) && redact_has_shape(fields[0]),
       "what was taken out is not taken out twice");
}

static void check_ordinary(char *const *fields)
{
    if (!ok(in_all_pieces(fields[0], NULL, fields[0]), "untouched: %s", show(fields[0])))
        say_got(fields[0], NULL);
}

static void check_values(char *const *fields)
{
    struct secrets secrets = {0};

    for (char *value = strtok(fields[0], "|"); value; value = strtok(NULL, "|"))
        if (secrets_add(&secrets, value, strlen(value)) < 0)
            abort();
    if (!ok(in_all_pieces(fields[1], &secrets, fields[2]), "%s", show(fields[2])))
        say_got(fields[1], &secrets);
    secrets_release(&secrets);
}

/* Base64 of chance has every beginning of a key in it sooner or later, but hardly a whole one. */
static void test_noise(void)
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    _cleanup_free_ char *text = malloc((1 << 20) + 1);
    _cleanup_(buf_release) struct buf out = BUF_INIT(MAX_OUT);
    uint32_t chance = 1;

    if (!text)
        abort();
    for (size_t i = 0; i < 1 << 20; i++) {
        chance = chance * 1664525 + 1013904223;
        text[i] = i % 77 == 76 ? '\n' : alphabet[chance >> 26];
    }
    text[1 << 20] = '\0';
    ok(redact_copy(text, 1 << 20, NULL, &out) == 0 && out.len == 1 << 20 &&
           memcmp(out.data, text, out.len) == 0,
       "a mebibyte of base64 stays as it is");
}

/* ---- values ---------------------------------------------------------------------------------- */

static void test_refused(void)
{
    static char large[REDACT_MAX_VALUE + 1];
    struct secrets secrets = {0};
    char value[16];
    int rc = 0;

    memset(large, 'x', sizeof(large));
    ok(secrets_add(&secrets, "abc", 3) == -1 && errno == EINVAL && secrets.count == 0,
       "a value of three bytes is refused");
    ok(secrets_add(&secrets, large, sizeof(large)) == -1 && errno == EINVAL,
       "a value that is too large is refused");
    ok(secrets_add(&secrets, large, sizeof(large) - 1) == 0, "the largest is not");
    for (int i = 1; i < REDACT_MAX_VALUES; i++) {
        int n = snprintf(value, sizeof(value), "value%d", i);
        rc |= secrets_add(&secrets, value, (size_t) n);
    }
    ok(rc == 0 && secrets.count == REDACT_MAX_VALUES, "there may be 256 values");
    ok(secrets_add(&secrets, "one more", 8) == -1 && errno == ENOSPC, "and not one more");
    ok(in_pieces("x value7 value256 value99", 0, 0, 3, &secrets,
                 "x [redacted] [redacted]6 [redacted]"),
       "all of them are found");
    secrets_release(&secrets);
    ok(secrets.count == 0 && !secrets.nodes, "released, they are gone");
}

/* Without shapes, as for what a guest writes. */
static void test_guest_output(void)
{
    static const char text[] =
        "password=a1B2c3D4e5F6 ghp_abcdefghijklmnopqrstuvwxyz0123456789 abcd";
    _cleanup_(buf_release) struct buf out = BUF_INIT(MAX_OUT);
    _cleanup_(redactor_release) struct redactor redactor;
    struct secrets secrets = {0};

    if (secrets_add(&secrets, "abcd", 4) < 0)
        abort();
    redactor_init(&redactor, &secrets, false);
    ok(redactor_add(&redactor, text, strlen(text), &out) == 0 &&
           redactor_finish(&redactor, &out) == 0 && redactor.count == 2 &&
           strcmp(out.data, "password=a1B2c3D4e5F6 ghp_[redacted]efghijklmnopqrstuvwxyz0123456789 "
                            "[redacted]") == 0,
       "without shapes only values are taken out, and counted");
    secrets_release(&secrets);
}

static void test_let_go(void)
{
    _cleanup_(buf_release) struct buf out = BUF_INIT(MAX_OUT);
    _cleanup_(redactor_release) struct redactor redactor;
    struct secrets secrets = {0};

    if (secrets_add(&secrets, "hunter2", 7) < 0)
        abort();
    redactor_init(&redactor, &secrets, false);
    ok(redactor_add(&redactor, "prompt> ", 8, &out) == 0 && out.len == 8,
       "what begins no value is let go at once");
    ok(redactor_add(&redactor, "hunt", 4, &out) == 0 && out.len == 8,
       "what may become one is held back");
    ok(redactor_add(&redactor, "ing", 3, &out) == 0 && strcmp(out.data, "prompt> hunting") == 0,
       "and let go when it does not");
    secrets_release(&secrets);
}

/* ---- texts ----------------------------------------------------------------------------------- */

static void check_text(const char *before, size_t size, const struct secrets *secrets,
                       const char *after, const char *sentence)
{
    char text[128] = "";

    memcpy(text, before, strlen(before) + 1);
    bool found = redact_text(text, size, secrets);
    if (!ok(strcmp(text, after) == 0 && found == (strcmp(before, after) != 0), "%s", sentence))
        printf("# got: %s\n", text);
}

static void test_texts(void)
{
    struct secrets secrets = {0};

    if (secrets_add(&secrets, "hunter2hunter2", 14) < 0)
        abort();
    check_text("no such file 'hunter2hunter2'", 128, &secrets, "no such file '[redacted]'",
               "a value in a message is taken out");
    check_text("no such file 'hunter2hunter2'", 128, NULL, "no such file 'hunter2hunter2'",
               "and stays where it is not registered");
    check_text("a://b:c@d", 16, NULL, "a://b:[redac...", "a text that grows is cut at its room");
    check_text("x hunter2hunt...", 64, &secrets, "x [redacted]...",
               "of a message that was cut, the beginning of a value is taken out");
    check_text("x hunter2hunt", 64, &secrets, "x hunter2hunt", "and of one that was not it stays");
    check_text("x hunter2hunt", 14, &secrets, "x [redacted]",
               "a text that fills its room may have been cut");
    check_text("x hun...", 64, &secrets, "x hun...", "three bytes give nothing away");
    check_text("", 64, &secrets, "", "an empty text stays empty");
    check_text("\xc3\xbc\xc3\xbc a://b:c@d", 13, NULL, "\xc3\xbc\xc3\xbc a://...",
               "a character is not parted");
    secrets_release(&secrets);
}

/* ---- hostile input --------------------------------------------------------------------------- */

/* Repeats `unit` up to len bytes, in pieces of `piece`; counts on its ending at all. */
static bool is_survived(const char *unit, size_t len, size_t piece, const struct secrets *secrets)
{
    _cleanup_(redactor_release) struct redactor redactor;
    _cleanup_free_ char *text = malloc(len);
    size_t n = strlen(unit), bound = REDACT_LOOKAHEAD + (secrets ? secrets->longest : 0);
    bool is_bounded = true;

    if (!text)
        abort();
    for (size_t i = 0; i < len; i++)
        text[i] = unit[i % n];
    redactor_init(&redactor, secrets, true);
    for (size_t at = 0; at < len && is_bounded; at += piece) {
        _cleanup_(buf_release) struct buf out = BUF_INIT(MAX_OUT);
        is_bounded =
            redactor_add(&redactor, text + at, piece < len - at ? piece : len - at, &out) == 0 &&
            held(&redactor) <= bound;
    }
    return is_bounded;
}

static void test_hostile(void)
{
    static const char *const units[] = {
        "eyJ",         "eyJ.",    "sk-",   "://a:", "token=", "password",          "SG.", "a", "--",
        "-----BEGIN ", "Bearer ", "[reda", "\\n",   "%3D",    "token=\"a1B2c3D4e5"};
    static char value[REDACT_MAX_VALUE];
    struct secrets secrets = {0};

    memset(value, 'a', sizeof(value));
    value[sizeof(value) - 1] = 'b';
    if (secrets_add(&secrets, value, sizeof(value)) < 0)
        abort();
    for (size_t i = 0; i < ARRAY_SIZE(units); i++)
        ok(is_survived(units[i], 1 << 20, 4096, &secrets) &&
               is_survived(units[i], 1 << 16, 1, &secrets),
           "'%s' a million times holds back no more than may be", units[i]);
    secrets_release(&secrets);
}

int main(void)
{
    each_case(DATA "keys.txt", 2, check_key);
    each_case(DATA "ordinary.txt", 1, check_ordinary);
    each_case(DATA "values.txt", 3, check_values);
    test_noise();
    test_refused();
    test_guest_output();
    test_let_go();
    test_texts();
    test_hostile();
    return done();
}
