#include "tap.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/utf8.h"

static void test_kinds(void)
{
    /* A (void) in this file: they always answer -1. */
    static const struct {
        enum err_code code;
        const char *reason;
        int exit_status;
    } rows[] = {
        {ERR_USAGE, "invalid", 2},
        {ERR_REQUEST, "invalid", 2},
        {ERR_DENIED, "denied", 77},
        {ERR_NOT_FOUND, "not_started", 127},
        {ERR_UNREADABLE, "not_started", 126},
        {ERR_PIN, "not_started", 126},
        {ERR_COMPONENT, "not_started", 126},
        {ERR_WALL, "backend_error", 125},
        {ERR_HOST, "backend_error", 125},
        {ERR_CODES, "backend_error", 125},
        {(enum err_code) - 1, "backend_error", 125},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct err_kind *kind = err_kind(rows[i].code);
        ok(strcmp(kind->reason, rows[i].reason) == 0 && kind->exit_status == rows[i].exit_status,
           "code %d means %s and exit status %d", (int) rows[i].code, rows[i].reason,
           rows[i].exit_status);
    }
    bool complete = true;
    for (int code = 0; code < ERR_CODES; code++)
        complete = complete && err_kind((enum err_code) code)->name;
    ok(complete, "every code has a name");
}

static void test_messages(void)
{
    static const struct {
        const char *given, *message, *sentence;
    } rows[] = {
        {"plain", "plain", "plain text stays as it is"},
        {"a\nb\tc", "a\\x0ab\\x09c", "a message is one line"},
        {"\x1b[31m", "\\x1b[31m", "an escape code does not reach the terminal"},
        {"\xc2\x9b", "\\x9b", "a C1 control does not reach the terminal"},
        {"\xe2\x80\xae", "\\u202e", "nor what turns text around"},
        {"\xe2\x81\xa9", "\\u2069", "nor what isolates it"},
        {"\xe2\x80\x93", "\xe2\x80\x93", "a dash beside them does"},
        {"caf\xc3\xa9", "caf\xc3\xa9", "UTF-8 passes"},
        {"\xff|\xe2\x82|", "\xef\xbf\xbd|\xef\xbf\xbd|", "bytes that are no UTF-8 become U+FFFD"},
    };
    struct err err;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        (void) err_set(&err, ERR_REQUEST, "%s", rows[i].given);
        ok(strcmp(err.message, rows[i].message) == 0, "%s", rows[i].sentence);
    }
}

static void test_set(void)
{
    struct err err;

    memset(&err, 0xff, sizeof(err));
    ok(err_set(&err, ERR_DENIED, "no '%s'", "x") == -1 && err.code == ERR_DENIED,
       "err_set returns -1 and keeps the code");
    ok(err.errnum == 0 && err.step[0] == '\0' && err.hint[0] == '\0',
       "a new error has no errno, step or hint of an old one");

    errno = ENOENT;
    (void) err_sys(&err, ERR_HOST, "cannot open '%s'", "f");
    ok(strcmp(err.message, "cannot open 'f': No such file or directory") == 0 &&
           err.errnum == ENOENT && errno == ENOENT,
       "err_sys adds the text of errno and leaves errno as it was");
    errno = 99999;
    (void) err_sys(&err, ERR_HOST, "x");
    ok(strcmp(err.message, "x: error 99999") == 0, "an unknown errno shows as its number");

    (void) err_set(&err, ERR_REQUEST, "inner");
    (void) err_set(&err, ERR_BACKEND, "outer: %s", err.message);
    ok(strcmp(err.message, "outer: inner") == 0, "an error can be wrapped in itself");

    (void) err_step(&err, "first");
    (void) err_step(&err, "second");
    (void) err_hint(&err, "do %d", 1);
    (void) err_prefix(&err, "%s", "key");
    ok(strcmp(err.step, "first") == 0, "the first step that is named stays");
    ok(strcmp(err.message, "key: outer: inner") == 0 && strcmp(err.hint, "do 1") == 0 &&
           err.code == ERR_BACKEND,
       "a prefix changes the message alone");
}

static void test_long(void)
{
    char text[4000];
    struct err err;
    bool valid = true;

    for (size_t i = 0; i + 2 < sizeof(text); i += 2)
        memcpy(text + i, "\xc3\xa9", 3);
    for (size_t shift = 0; shift < 2; shift++) {
        errno = EACCES;
        (void) err_sys(&err, ERR_HOST, "%s%s", shift ? "x" : "", text);
        valid = valid && utf8_valid(err.message, strlen(err.message));
    }
    ok(valid, "a long message is cut between characters");
    ok(strstr(err.message, "...: Permission denied"),
       "a cut shows, and the text of errno survives it");

    (void) err_hint(&err, "%s", text);
    (void) err_step(&err, text);
    (void) err_prefix(&err, "%s", text);
    ok(strlen(err.hint) < sizeof(err.hint) && strlen(err.step) < sizeof(err.step) &&
           strlen(err.message) < sizeof(err.message),
       "hint, step and prefix are cut to their room");
}

int main(void)
{
    test_kinds();
    test_messages();
    test_set();
    test_long();
    return done();
}
