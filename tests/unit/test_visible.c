/* Text from others shows as what it is. */
#include <string.h>

#include "base/cleanup.h"
#include "base/visible.h"
#include "tap.h"

static void check(const char *text, const char *wanted, const char *what)
{
    _cleanup_(buf_release) struct buf shown = BUF_INIT(1024);

    int rc = visible_add(&shown, text);
    const char *got = shown.data ? shown.data : "";
    ok(rc == 0 && strcmp(got, wanted) == 0, "%s: %s", what, got);
}

int main(void)
{
    check("", "", "nothing is nothing");
    check("rm -rf 'a b' \\ $HOME", "rm -rf 'a b' \\ $HOME", "plain text stays as it is");
    check("caf\xc3\xa9 \xe6\x97\xa5\xe6\x9c\xac \xf0\x9f\x90\x9d",
          "caf\xc3\xa9 \xe6\x97\xa5\xe6\x9c\xac \xf0\x9f\x90\x9d", "so do letters of any script");
    check("a\nb\tc\r", "a\\nb\\tc\\x0d", "line ends do not end a line");
    check("\x1b[2K\x1b[1A\x7f\b", "\\x1b[2K\\x1b[1A\\x7f\\x08", "a terminal is not steered");
    check("\xc2\x9b"
          "2K",
          "\\u{9b}2K", "nor in 8 bits");
    check("a\xe2\x80\xae"
          "b\xe2\x81\xa6",
          "a\\u{202e}b\\u{2066}", "the order is not turned");
    check("a\xe2\x80\x8b\xef\xbb\xbf\xc2\xad", "a\\u{200b}\\u{feff}\\u{ad}",
          "nothing is there unseen");
    check("a\xc2\xa0"
          "b\xe3\x80\x80",
          "a\\u{a0}b\\u{3000}", "what looks like a space is none");
    check("a\xcc\xb6", "a\\u{336}", "nothing is struck out");
    check("\xf3\xa0\x81\xa1\xee\x80\x80", "\\u{e0061}\\u{e000}",
          "tags and private characters show");
    check("a\xff\xc0\xaf", "a\\xff\\xc0\\xaf", "what is no UTF-8 shows as bytes");
    check("if x:\n        y  z", "if x:\\n        y  z", "spaces stay");
    check("a           b", "a        \\x20\\x20\\x20b",
          "but so many do not make a line of their own");
    struct buf small = BUF_INIT(4);
    ok(visible_add(&small, "a\x1b") < 0, "a buffer that is too small is told");
    buf_release(&small);
    return done();
}
