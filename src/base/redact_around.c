/*
 * Keys that are told by what stands around them, for redact_shapes.c: in a URL, in a header, behind
 * a name.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/redact_view.h"

#define AWS_SECRET 40 /* bytes of base64, which may begin as a path does */
#define MAX_PART 256  /* of a URL, a name or a value; what is longer is none */

static bool is_taken(struct view *view, size_t at)
{
    return view_has(view, at, "[redacted", false) || view_has(view, at, "***", false);
}

static bool ends_part(int c)
{
    return c <= ' ' || c == 0x7f || strchr("/?#\"'`<>\\", c);
}

/* "://user:password@": the password goes to the last '@' before the host ends. */
bool look_url(struct view *view, size_t at, struct shape_find *ret_find)
{
    size_t colon = 0, last = 0, n = 0;

    if (!view_has(view, at, "://", false))
        return false;
    for (; n < MAX_PART; n++) {
        int c = view_peek(view, at + 3 + n);
        if (ends_part(c))
            break;
        if (c == ':' && !colon)
            colon = n + 1;
        if (c == '@')
            last = n;
        if (c == '@' && !colon)
            return false;
    }
    if (!colon || last <= colon || n == MAX_PART || is_taken(view, at + 3 + colon))
        return false;
    *ret_find = (struct shape_find){.name = "url-password", .keep = 3 + colon, .len = last - colon};
    return true;
}

/* Not an ordinary word: a digit, or a capital that does not begin it. */
static bool is_varied(const struct view *view, size_t at, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        int c = (unsigned char) view->text[at + i];
        if (is(c, DIGIT) || (is(c, UPPER) && i > 0 && is((unsigned char) view->text[at], LOWER)))
            return true;
    }
    return false;
}

/* "Bearer …", "Basic …": how HTTP carries credentials. */
bool look_scheme(struct view *view, size_t at, struct shape_find *ret_find)
{
    static const struct scheme {
        const char *word;
        uint8_t at_least;
    } schemes[] = {{"bearer", 16}, {"basic", 8}};

    for (size_t i = 0; i < ARRAY_SIZE(schemes); i++) {
        size_t keep = strlen(schemes[i].word);
        if (!view_has(view, at, schemes[i].word, true))
            continue;
        size_t spaces = view_span(view, at + keep, SPACE, 8);
        keep += spaces;
        size_t len = view_span(view, at + keep, TOKEN68, 64);
        if (spaces == 0 || len < schemes[i].at_least || !is_varied(view, at + keep, len))
            return false;
        *ret_find = (struct shape_find){
            .name = "authorization", .keep = keep, .len = len, .rest.classes = TOKEN68};
        return true;
    }
    return false;
}

/*
 * Chance changes often between small letters, capitals and digits, words and numbers seldom. A
 * password that is a word cannot be told from one, and stays.
 */
static bool is_random(const char *text, size_t len)
{
    size_t n = 0, digits = 0, changes = 0;
    unsigned int before = 0;

    for (size_t i = 0; i < len; i++) {
        unsigned int kind = redact_classes[(unsigned char) text[i]] & ALNUM;
        if (!kind)
            continue;
        n++;
        digits += kind == DIGIT;
        changes += before && kind != before;
        before = kind;
    }
    return n >= 8 && digits >= 2 && changes * (n < 20 ? 3 : 4) >= n;
}

static size_t skip_quote(struct view *view, size_t at, char *ret_quote)
{
    size_t n = view_peek(view, at) == '\\'; /* a string within a string */
    int c = view_peek(view, at + n);

    *ret_quote = '\0';
    if (c != '"' && c != '\'' && c != '`')
        return 0;
    *ret_quote = n ? '\\' : (char) c;
    return n + 1;
}

static size_t value_len(struct view *view, size_t at, char quote)
{
    size_t n = 0;

    if (!quote)
        return view_span(view, at, VALUE, MAX_PART / 2);
    for (int c; n < MAX_PART / 2 && (c = view_peek(view, at + n)) >= ' ' && c != quote;)
        n++;
    return n;
}

/* What stands between a name and its value: `=`, `": "`, ` => `, and a space after an option. */
static size_t separator_len(struct view *view, size_t at, bool is_option)
{
    char quote;
    size_t n = skip_quote(view, at, &quote);
    size_t spaces = view_span(view, at + n, SPACE, 8);
    int c = view_peek(view, at + n + spaces);

    if (c != '=' && c != ':')
        return is_option && !quote ? spaces : 0;
    n += spaces + 1;
    int next = view_peek(view, at + n);
    n += next == '=' || next == '>';
    return n + view_span(view, at + n, SPACE, 8);
}

/* password=…, "api_key": "…", --token … */
bool look_assignment(struct view *view, size_t at, struct shape_find *ret_find)
{
    size_t name = view_span(view, at, KEY, MAX_PART / 2);
    char quote;

    if (name == MAX_PART / 2 || view->ran_out || !redact_name_tells(view->text + at, name))
        return false;
    size_t separator = separator_len(view, at + name, memcmp(view->text + at, "--", 2) == 0);
    if (separator == 0)
        return false;
    size_t keep = name + separator;
    keep += skip_quote(view, at + keep, &quote);
    size_t len = value_len(view, at + keep, quote);
    bool is_path = view_peek(view, at + keep) == '/' && len != AWS_SECRET;
    bool is_call = !quote && view_peek(view, at + keep + len) == '(';
    if (is_path || is_call || is_taken(view, at + keep) || !is_random(view->text + at + keep, len))
        return false;
    *ret_find = (struct shape_find){
        .name = "assignment",
        .keep = keep,
        .len = len,
        .rest = {.classes = VALUE, .until = quote},
    };
    return true;
}
