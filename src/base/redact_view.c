#include "base/redact_view.h"

const uint16_t redact_classes[256] = {
    ['a' ... 'f'] = LOWER | HEX | BODY,
    ['g' ... 'z'] = LOWER | BODY,
    ['A' ... 'Z'] = UPPER | LABEL | BODY,
    ['0' ... '9'] = DIGIT | HEX | LABEL | BODY,
    ['_'] = JOIN,
    ['-'] = JOIN | BODY,
    ['.'] = DOT,
    ['+'] = BASE64 | BODY,
    ['/'] = BASE64 | BODY,
    ['='] = BASE64 | BODY,
    ['%'] = ESCAPE,
    ['~'] = ESCAPE,
    ['!'] = PUNCT,
    ['@'] = PUNCT,
    ['#'] = PUNCT,
    ['$'] = PUNCT,
    ['^'] = PUNCT,
    ['*'] = PUNCT,
    ['?'] = PUNCT,
    [' '] = SPACE | LABEL | BODY,
    ['\t'] = SPACE | BODY,
    ['\n'] = BODY,
    ['\r'] = BODY,
    ['\\'] = BODY,
    [':'] = BODY,
    [','] = BODY,
};

int view_peek(struct view *view, size_t at)
{
    if (at < view->len)
        return (unsigned char) view->text[at];
    if (!view->is_all)
        view->ran_out = true;
    return -1;
}

size_t view_span(struct view *view, size_t at, unsigned int wanted, size_t max)
{
    size_t n = 0;

    while (n < max && is(view_peek(view, at + n), wanted))
        n++;
    return n;
}

bool view_has(struct view *view, size_t at, const char *text, bool any_case)
{
    for (size_t i = 0; text[i]; i++) {
        int c = view_peek(view, at + i);
        if (c < 0)
            return false;
        if (text[i] == '?'
                ? !is(c, LOWER | UPPER)
                : c != text[i] && !(any_case && is(c, UPPER) && c - 'A' + 'a' == text[i]))
            return false;
    }
    return true;
}
