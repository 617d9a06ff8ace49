#include "base/units.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"

struct unit {
    const char *name; /* "" is the bare number */
    uint64_t factor;
};

/* One thing to measure: its units, and how to say them in a message. */
struct measure {
    const char *units_text;
    const struct unit *units;
    size_t n_units;
};

static const struct unit duration_units[] = {
    {"", NS_PER_S},       {"ms", NS_PER_MS},         {"s", NS_PER_S},
    {"m", 60 * NS_PER_S}, {"h", 60 * 60 * NS_PER_S},
};

static const struct unit size_units[] = {
    {"", 1},        {"KiB", 1ULL << 10}, {"k", 1ULL << 10}, {"K", 1ULL << 10}, {"MiB", 1 << 20},
    {"m", 1 << 20}, {"M", 1 << 20},      {"GiB", 1 << 30},  {"g", 1 << 30},    {"G", 1 << 30},
};

static const struct unit count_units[] = {{"", 1}};

static const struct measure durations = {"ms, s, m or h, as in 30s", duration_units,
                                         ARRAY_SIZE(duration_units)};
static const struct measure sizes = {"KiB, MiB or GiB, as in 64MiB", size_units,
                                     ARRAY_SIZE(size_units)};
static const struct measure counts = {"a whole number, as in 1000", count_units,
                                      ARRAY_SIZE(count_units)};

/* A decimal number: whole + fraction / scale. */
struct number {
    uint64_t whole;
    uint64_t fraction, scale;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Returns what follows the number, or NULL if it does not fit. */
static const char *read_number(const char *text, struct number *ret_number)
{
    struct number number = {.scale = 1};

    for (; is_digit(*text); text++)
        if (__builtin_mul_overflow(number.whole, 10, &number.whole) ||
            __builtin_add_overflow(number.whole, (uint64_t) (*text - '0'), &number.whole))
            return NULL;
    if (text[0] == '.' && is_digit(text[1]))
        for (text++; is_digit(*text); text++) {
            /* A power of ten: ten digits later it would not grow any more. */
            if (number.scale == 1000000000ULL)
                continue;
            number.fraction = 10 * number.fraction + (uint64_t) (*text - '0');
            number.scale *= 10;
        }
    *ret_number = number;
    return text;
}

static const struct unit *find_unit(const struct measure *measure, const char *name)
{
    for (size_t i = 0; i < measure->n_units; i++)
        if (strcmp(measure->units[i].name, name) == 0)
            return &measure->units[i];
    return NULL;
}

/* Rounded down, so that a limit is never wider than it was written. */
static uint64_t multiply(const struct number *number, uint64_t factor)
{
    unsigned __int128 value = (unsigned __int128) number->whole * factor +
                              (unsigned __int128) number->fraction * factor / number->scale;

    return value < UNITS_UNLIMITED ? (uint64_t) value : UNITS_UNLIMITED;
}

static int parse(const char *text, const char *what, const struct measure *measure,
                 uint64_t *ret_value, struct err *err)
{
    struct number number;

    if (strcmp(text, "unlimited") == 0) {
        *ret_value = UNITS_UNLIMITED;
        return 0;
    }
    if (!is_digit(text[0]))
        return err_set(err, ERR_REQUEST, "%s: '%s' is not a positive number: write %s", what, text,
                       measure->units_text);
    const char *rest = read_number(text, &number);
    const struct unit *unit = rest ? find_unit(measure, rest) : NULL;
    if (rest && !unit)
        return err_set(err, ERR_REQUEST, "%s: '%s' ends in '%s', which is no unit here: write %s",
                       what, text, rest, measure->units_text);
    uint64_t value = rest ? multiply(&number, unit->factor) : UNITS_UNLIMITED;
    if (value == UNITS_UNLIMITED)
        return err_set(err, ERR_REQUEST, "%s: '%s' is too large", what, text);
    if (value == 0)
        return err_set(err, ERR_REQUEST, "%s: '%s' is zero, and zero is refused: write a limit",
                       what, text);
    *ret_value = value;
    return 0;
}

int units_parse_duration(const char *text, const char *what, uint64_t *ret_ns, struct err *err)
{
    return parse(text, what, &durations, ret_ns, err);
}

int units_parse_size(const char *text, const char *what, uint64_t *ret_bytes, struct err *err)
{
    return parse(text, what, &sizes, ret_bytes, err);
}

int units_parse_count(const char *text, const char *what, uint64_t *ret_count, struct err *err)
{
    /* A count has no fraction, not even a zero one. */
    if (strchr(text, '.'))
        return err_set(err, ERR_REQUEST, "%s: '%s' is not a whole number", what, text);
    return parse(text, what, &counts, ret_count, err);
}
