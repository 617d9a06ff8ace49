#include "base/clock.h"

#include <string.h>

#include "tap.h"

static const struct {
    uint64_t ns;
    const char *text;
} rows[] = {
    {0, "1970-01-01T00:00:00.000Z"},
    {UINT64_C(999999), "1970-01-01T00:00:00.000Z"},
    {UINT64_C(1000000), "1970-01-01T00:00:00.001Z"},
    {UINT64_C(999999999), "1970-01-01T00:00:00.999Z"},
    {UINT64_C(1709164799123000000), "2024-02-28T23:59:59.123Z"},
    {UINT64_C(1709164800000000000), "2024-02-29T00:00:00.000Z"},
    {UINT64_C(4102444800000000000), "2100-01-01T00:00:00.000Z"},
    {UINT64_MAX, "2554-07-21T23:34:33.709Z"},
};

int main(void)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[CLOCK_TEXT_SIZE];
        clock_format(rows[i].ns, text);
        ok(strcmp(text, rows[i].text) == 0, "%llu ns is %s: %s", (unsigned long long) rows[i].ns,
           rows[i].text, text);
    }
    uint64_t before = clock_monotonic_ns(), after = clock_monotonic_ns();
    ok(before <= after, "the monotonic clock does not go back");
    return done();
}
