#include "tap.h"

#include <string.h>

#include "base/utf8.h"

static void test_validity(void)
{
    static const struct {
        const char *text;
        bool valid;
        const char *sentence;
    } rows[] = {
        {"", true, "nothing is valid"},
        {"plain", true, "ASCII is valid"},
        {"\xc2\x80", true, "U+0080 is valid"},
        {"\xdf\xbf", true, "U+07FF is valid"},
        {"\xe0\xa0\x80", true, "U+0800 is valid"},
        {"\xed\x9f\xbf", true, "U+D7FF is valid"},
        {"\xee\x80\x80", true, "U+E000 is valid"},
        {"\xf0\x90\x80\x80", true, "U+10000 is valid"},
        {"\xf4\x8f\xbf\xbf", true, "U+10FFFF is valid"},
        {"0123456789abcdef\xc3\xa9 0123456789", true, "a character amid long ASCII is valid"},
        {"\x80", false, "a continuation byte alone is not valid"},
        {"\xc0\x80", false, "overlong NUL is not valid"},
        {"\xc1\xbf", false, "an overlong two-byte form is not valid"},
        {"\xe0\x9f\xbf", false, "an overlong three-byte form is not valid"},
        {"\xf0\x8f\xbf\xbf", false, "an overlong four-byte form is not valid"},
        {"\xed\xa0\x80", false, "a surrogate is not valid"},
        {"\xf4\x90\x80\x80", false, "U+110000 is not valid"},
        {"\xf5\x80\x80\x80", false, "a lead byte above F4 is not valid"},
        {"\xff", false, "FF is not valid"},
        {"\xe2\x82", false, "a character cut short is not valid"},
        {"\xe2\x82x", false, "a character broken off is not valid"},
        {"0123456789abcdef\xff", false, "a bad byte after long ASCII is found"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        ok(utf8_valid(rows[i].text, strlen(rows[i].text)) == rows[i].valid, "%s", rows[i].sentence);
    ok(utf8_valid("a\0b", 3), "NUL is a character");
}

/* Maximal subparts, after the examples in section 3.9 of the Unicode standard. */
static void test_replacement(void)
{
    static const struct {
        const char *text;
        const char *pattern; /* 'C' a character, a digit the bytes that one U+FFFD stands for */
    } rows[] = {
        {"\xc0\xaf\xe0\x80\xbf\xf0\x81\x82\x41", "11111111C"},
        {"\xed\xa0\x80\xed\xbf\xbf\xed\xaf\x41", "11111111C"},
        {"\xf4\x91\x92\x93\xff\x41\x80\xbf\x42", "11111C11C"},
        {"\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41", "2132C"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char pattern[16] = "";
        size_t len = strlen(rows[i].text);

        for (size_t at = 0, n = 0; at < len && n < sizeof(pattern) - 1; n++) {
            size_t skip = 0;
            size_t whole = utf8_next(rows[i].text + at, len - at, &skip);
            pattern[n] = whole ? 'C' : (char) ('0' + skip);
            at += whole ? whole : skip;
        }
        ok(strcmp(pattern, rows[i].pattern) == 0, "bad bytes are replaced as %s", rows[i].pattern);
    }
}

static void test_cut(void)
{
    static const struct {
        const char *text;
        size_t cut;
    } rows[] = {
        {"", 0},
        {"abc", 3},
        {"ab\xc3", 2},
        {"ab\xc3\xa9", 4},
        {"a\xe2\x82", 1},
        {"a\xe2\x82\xac", 4},
        {"\xf0\x9f\x98", 0},
        {"\xf0\x9f\x98\x80", 4},
        {"a\x80\x80\x80\x80", 5},
        {"a\xff", 2},
        {"a\xe0\x80", 3},
        {"a\xed\xa0", 3},
        {"a\xc3\xa9\xc3", 3},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        ok(utf8_cut(rows[i].text, strlen(rows[i].text)) == rows[i].cut,
           "text %zu is cut at %zu of %zu", i, rows[i].cut, strlen(rows[i].text));
}

int main(void)
{
    test_validity();
    test_replacement();
    test_cut();
    return done();
}
