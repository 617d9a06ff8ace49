#include "tap.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"

static void test_adding(void)
{
    _cleanup_(buf_release) struct buf buf = BUF_INIT(1000);

    ok(buf_add(&buf, NULL, 0) == 0 && buf.data && buf.data[0] == '\0',
       "adding nothing gives an empty string");
    ok(buf_add_string(&buf, "ab") == 0 && buf_add_char(&buf, 'c') == 0 &&
           buf_printf(&buf, "-%d", 12) == 0 && strcmp(buf.data, "abc-12") == 0 && buf.len == 6,
       "what is added stands one after the other");
    ok(buf_add(&buf, "\0x", 2) == 0 && buf.len == 8 && buf.data[8] == '\0',
       "NUL is a byte like any other");

    char *room;
    ok(buf_reserve(&buf, 100, &room) == 0 && buf.len == 8, "reserving counts nothing");
    memset(room, 'y', 100);
    buf_commit(&buf, 50);
    ok(buf.len == 58 && buf.data[57] == 'y' && buf.data[58] == '\0',
       "committing counts what was written");
}

static void test_maximum(void)
{
    static const char text[] = "0123456789";

    for (size_t max = 0; max <= 10; max++) {
        _cleanup_(buf_release) struct buf buf = BUF_INIT(max);
        bool fits = buf_add(&buf, text, max) == 0 && buf.len == max;
        errno = 0;
        bool refused = buf_add_char(&buf, 'x') == -1 && errno == EFBIG && buf.len == max &&
                       buf_printf(&buf, "%d", 1) == -1 && buf_add(&buf, text, SIZE_MAX) == -1;
        ok(fits && refused && memcmp(buf.data, text, max) == 0,
           "a maximum of %zu is reached and not passed", max);
    }
}

static void test_growth(void)
{
    _cleanup_(buf_release) struct buf buf = BUF_INIT(100000);
    bool whole = true, bounded = true;

    for (size_t i = 0; i < 100000; i++) {
        whole = whole && buf_add_char(&buf, (char) i) == 0;
        bounded = bounded && buf.capacity <= buf.max + 1;
    }
    for (size_t i = 0; i < buf.len; i++)
        whole = whole && buf.data[i] == (char) i;
    ok(whole && buf.len == 100000, "growing keeps every byte");
    ok(bounded, "memory is never more than the maximum needs");
    buf_release(&buf);
    ok(!buf.data && buf.len == 0 && buf.max == 100000 && buf_add_char(&buf, 'x') == 0,
       "a released buffer is empty and can be used again");
    buf_release(NULL);
}

int main(void)
{
    test_adding();
    test_maximum();
    test_growth();
    return done();
}
