#include "store/changes_text.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/utf8.h"

#define CONTEXT 3

/* ---- names ----------------------------------------------------------------------------------- */

static bool is_plain(const char *path)
{
    for (; *path; path++)
        if (*path <= ' ' || *path >= 0x7f || *path == '"' || *path == '\\') /* char is signed */
            return false;
    return true;
}

static int quote_byte(struct buf *into, char c)
{
    static const char from[] = "\"\\\a\b\t\n\v\f\r";
    static const char to[] = "\"\\abtnvfr";
    const char *found = memchr(from, c, sizeof(from) - 1);

    if (found)
        return buf_printf(into, "\\%c", to[found - from]);
    if (c < ' ' || c == 0x7f)
        return buf_printf(into, "\\%03o", (unsigned char) c);
    return buf_add_char(into, c);
}

int change_quote(struct buf *into, const char *prefix, const char *path)
{
    bool plain = is_plain(path);

    if (buf_add_string(into, plain ? "" : "\"") < 0 || buf_add_string(into, prefix) < 0)
        return -1;
    if (plain)
        return buf_add_string(into, path);
    for (; *path; path++)
        if (quote_byte(into, *path) < 0)
            return -1;
    return buf_add_char(into, '"');
}
_Static_assert((char) -1 < 0, "bytes beyond ASCII are below ' '");

/* ---- where it goes --------------------------------------------------------------------------- */

/* Characters that turn the order of those around them: what is seen is then not what is there. */
static bool turns_text(const char *text, size_t n)
{
    return n == 3 && memcmp(text, "\xe2\x80", 2) == 0 &&
           ((unsigned char) text[2] == 0x8e || (unsigned char) text[2] == 0x8f ||
            ((unsigned char) text[2] >= 0xaa && (unsigned char) text[2] <= 0xae));
}

static bool isolates_text(const char *text, size_t n)
{
    return n == 3 && memcmp(text, "\xe2\x81", 2) == 0 && (unsigned char) text[2] >= 0xa6 &&
           (unsigned char) text[2] <= 0xa9;
}

/* What a terminal would obey, or cannot show. */
static bool is_control(const char *text, size_t n)
{
    unsigned char first = (unsigned char) text[0];

    if (n == 1)
        return (first < 0x20 && first != '\n' && first != '\t') || first == 0x7f;
    if (n == 2 && first == 0xc2)
        return (unsigned char) text[1] < 0xa0;
    return turns_text(text, n) || isolates_text(text, n);
}

static int escape(struct buf *into, const char *bytes, size_t len)
{
    size_t skip, n;

    for (size_t at = 0; at < len; at += n) {
        n = utf8_next(bytes + at, len - at, &skip);
        bool shown = n == 0 || is_control(bytes + at, n);
        n = n == 0 ? 1 : n;
        for (size_t i = 0; shown && i < n; i++)
            if (buf_printf(into, "\\x%02x", (unsigned char) bytes[at + i]) < 0)
                return -1;
        if (!shown && buf_add(into, bytes + at, n) < 0)
            return -1;
    }
    return 0;
}

static int put_escaped(int fd, const char *bytes, size_t len, struct err *err)
{
    const size_t most = 16384;
    size_t n;

    for (; len > 0; bytes += n, len -= n) {
        _cleanup_(buf_release) struct buf shown = BUF_INIT(4 * most);
        n = len > most ? utf8_cut(bytes, most) : len;
        n = n > 0 ? n : len > most ? most : len;
        if (escape(&shown, bytes, n) < 0)
            return err_no_memory(err);
        if (fd_write_all(fd, shown.data, shown.len) < 0)
            return err_sys(err, ERR_HOST, "cannot write the diff");
    }
    return 0;
}

int changes_text_put(struct changes_text *text, const char *bytes, size_t len, struct err *err)
{
    if (len == 0)
        return 0;
    if (text->into) {
        size_t room = text->into->max - text->into->len;
        size_t n = len > room ? utf8_cut(bytes, room) : len;
        text->cut |= n < len;
        return n > 0 && buf_add(text->into, bytes, n) < 0 ? err_no_memory(err) : 0;
    }
    if (text->escape)
        return put_escaped(text->fd, bytes, len, err);
    if (fd_write_all(text->fd, bytes, len) < 0)
        return err_sys(err, ERR_HOST, "cannot write the diff");
    return 0;
}

/* ---- hunks ----------------------------------------------------------------------------------- */

/* Lines from a up to a_end go, those from b up to b_end come. */
struct block {
    size_t a, a_end, b, b_end;
};

/* The first one from there on; false if there is no more. */
static bool next_block(const struct diff_side *a, const struct diff_side *b, size_t i, size_t j,
                       struct block *ret_block)
{
    while (i < a->count && j < b->count && !a->lines[i].changed && !b->lines[j].changed)
        i++, j++;
    if (i == a->count && j == b->count)
        return false;
    *ret_block = (struct block){.a = i, .b = j};
    while (i < a->count && a->lines[i].changed)
        i++;
    while (j < b->count && b->lines[j].changed)
        j++;
    ret_block->a_end = i;
    ret_block->b_end = j;
    return true;
}

static int put_line(struct buf *into, char sign, const struct diff_line *line)
{
    if (buf_add_char(into, sign) < 0 || buf_add(into, line->text, line->len) < 0)
        return -1;
    if (line->text[line->len - 1] == '\n')
        return 0;
    return buf_add_string(into, "\n\\ No newline at end of file\n");
}

/* A range without lines is behind the line before it. */
static int put_range(struct buf *into, const char *before, size_t from, size_t end)
{
    return buf_printf(into, "%s%zu,%zu", before, from + (end > from), end - from);
}

static int put_hunk(struct buf *into, const struct diff_side *a, const struct diff_side *b,
                    const struct block *hunk)
{
    size_t before = hunk->a < CONTEXT ? hunk->a : CONTEXT;
    size_t behind = a->count - hunk->a_end < CONTEXT ? a->count - hunk->a_end : CONTEXT;
    size_t i = hunk->a - before, j = hunk->b - before;
    size_t a_end = hunk->a_end + behind, b_end = hunk->b_end + behind;

    if (put_range(into, "@@ -", i, a_end) < 0 || put_range(into, " +", j, b_end) < 0 ||
        buf_add_string(into, " @@\n") < 0)
        return -1;
    while (i < a_end || j < b_end) {
        bool goes = i < a_end && a->lines[i].changed,
             comes = !goes && j < b_end && b->lines[j].changed;
        char sign = goes ? '-' : comes ? '+' : ' ';
        if (put_line(into, sign, comes ? &b->lines[j] : &a->lines[i]) < 0)
            return -1;
        i += !comes;
        j += !goes;
    }
    return 0;
}

int changes_put_hunks(struct buf *into, const struct diff_side *a, const struct diff_side *b)
{
    struct block hunk, next;
    bool more = next_block(a, b, 0, 0, &hunk);

    while (more) {
        /* those whose surroundings would touch are one */
        while ((more = next_block(a, b, hunk.a_end, hunk.b_end, &next)) &&
               next.a - hunk.a_end <= (size_t) 2 * CONTEXT) {
            hunk.a_end = next.a_end;
            hunk.b_end = next.b_end;
        }
        if (put_hunk(into, a, b, &hunk) < 0)
            return -1;
        hunk = next;
    }
    return 0;
}
