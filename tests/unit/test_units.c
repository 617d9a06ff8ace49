#include "tap.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"

typedef int parser(const char *text, const char *what, uint64_t *ret_value, struct err *err);

struct row {
    parser *parse;
    const char *text;
    uint64_t value; /* 0: refused */
};

#define D units_parse_duration
#define S units_parse_size
#define C units_parse_count

static const struct row rows[] = {
    {D, "250ms", 250 * NS_PER_MS},
    {D, "30s", 30 * NS_PER_S},
    {D, "30", 30 * NS_PER_S},
    {D, "5m", 300 * NS_PER_S},
    {D, "1h", 3600 * NS_PER_S},
    {D, "1.5s", 1500 * NS_PER_MS},
    {D, "0.25", 250 * NS_PER_MS},
    {D, "0.001ms", NS_PER_US},
    {D, "0.000001ms", 1},
    {D, "1.0000000009s", NS_PER_S}, /* rounded down */
    {D, "00012s", 12 * NS_PER_S},
    {D, "unlimited", UNITS_UNLIMITED},
    {D, "0", 0},
    {D, "0s", 0},
    {D, "0.0000001ms", 0},
    {D, "0.00000000000000000000000000000001h", 0},
    {D, "", 0},
    {D, "s", 0},
    {D, "-1s", 0},
    {D, "+1s", 0},
    {D, " 1s", 0},
    {D, "1 s", 0},
    {D, "1s ", 0},
    {D, "1S", 0},
    {D, "1.s", 0},
    {D, ".5s", 0},
    {D, "1.2.3s", 0},
    {D, "1d", 0},
    {D, "1e3s", 0},
    {D, "0x10s", 0},
    {D, "1KiB", 0},
    {D, "Unlimited", 0},
    {D, "infinity", 0},
    {D, "5124095h", 18446742000000000000ULL},
    {D, "5124096h", 0},
    {D, "18446744073709551616ms", 0},
    {D, "99999999999999999999999999999999999", 0},
    {S, "65536", 65536},
    {S, "64KiB", 65536},
    {S, "64k", 65536},
    {S, "64K", 65536},
    {S, "1.5MiB", 1572864},
    {S, "1m", 1048576},
    {S, "2GiB", 2147483648},
    {S, "1g", 1073741824},
    {S, "unlimited", UNITS_UNLIMITED},
    {S, "18446744073709551614", UINT64_MAX - 1},
    {S, "18446744073709551615", 0}, /* would read as unlimited */
    {S, "18446744073709551616", 0},
    {S, "17179869184GiB", 0},
    {S, "0", 0},
    {S, "0.5", 0},
    {S, "0.0009k", 0},
    {S, "1MB", 0},
    {S, "1kib", 0},
    {S, "1s", 0},
    {C, "1", 1},
    {C, "1000000", 1000000},
    {C, "unlimited", UNITS_UNLIMITED},
    {C, "0", 0},
    {C, "1.0", 0},
    {C, "1k", 0},
    {C, "-5", 0},
    {C, "", 0},
};

static const char *parser_name(parser *parse)
{
    return parse == D ? "duration" : parse == S ? "size" : "count";
}

int main(void)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct row *row = &rows[i];
        struct err err = {0};
        uint64_t value = 0;
        int rc = row->parse(row->text, "--x", &value, &err);

        if (row->value)
            ok(rc == 0 && value == row->value, "the %s '%s' is %" PRIu64, parser_name(row->parse),
               row->text, row->value);
        else
            ok(rc == -1 && value == 0 && err.code == ERR_REQUEST &&
                   strncmp(err.message, "--x: '", 6) == 0,
               "the %s '%s' is refused by name", parser_name(row->parse), row->text);
    }
    return done();
}
