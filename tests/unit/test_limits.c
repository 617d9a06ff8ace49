#include "tap.h"

#include <string.h>

#include "base/clock.h"
#include "plan/limits.h"

#define MIB ((uint64_t) 1 << 20)
#define GIB ((uint64_t) 1 << 30)

/* CONTRACT §3, the row of wasm. */
static void test_defaults(void)
{
    static const uint64_t defaults[LIMIT_COUNT] = {
        [LIMIT_WALL] = 30 * NS_PER_S, [LIMIT_CPU] = 30 * NS_PER_S,
        [LIMIT_MEMORY] = 64 * MIB,    [LIMIT_FUEL] = UNITS_UNLIMITED,
        [LIMIT_OUTPUT] = MIB,         [LIMIT_DISK] = GIB,
        [LIMIT_FILE] = GIB,           [LIMIT_PROCESSES] = 1,
        [LIMIT_OPEN_FILES] = 1024,    [LIMIT_STACK] = MIB,
        [LIMIT_TABLE] = 1000000,      [LIMIT_COMPILE] = 60 * NS_PER_S,
    };
    struct limits limits;

    limits_init(&limits, BACKEND_WASM);
    for (size_t i = 0; i < LIMIT_COUNT; i++) {
        char text[LIMIT_TEXT_SIZE], expected[80];
        limits_format((enum limit) i, limits.value[i], text);
        ok(limits.value[i] == defaults[i], "%s is %s unless said otherwise", limit_rows[i].name,
           text);
        (void) snprintf(expected, sizeof(expected), "(default %s", text); /* fits */
        ok(strstr(limit_rows[i].of[BACKEND_WASM].help, expected), "the help of %s says so",
           limit_rows[i].option);
    }
}

/* The row of native. */
static void test_native(void)
{
    static const struct {
        enum limit limit;
        const char *text;
        const char *message; /* NULL: it is taken */
    } rows[] = {
        {LIMIT_MEMORY, "64GiB", NULL},
        {LIMIT_MEMORY, "unlimited", NULL},
        {LIMIT_PROCESSES, "4096", NULL},
        {LIMIT_PROCESSES, "unlimited", "--processes: cannot be unlimited"},
        {LIMIT_DISK, "unlimited", "--disk: cannot be unlimited"},
        {LIMIT_FUEL, "1", "--fuel: a native program has no such limit"},
        {LIMIT_FUEL, "unlimited", "--fuel: a native program has no such limit"},
        {LIMIT_STACK, "1MiB", "--stack: a native program has no such limit"},
        {LIMIT_TABLE, "1", "--table: a native program has no such limit"},
        {LIMIT_COMPILE, "1s", "--compile-timeout: a native program has no such limit"},
    };
    struct limits limits;
    const uint64_t *values = limits.value;

    limits_init(&limits, BACKEND_NATIVE);
    ok(values[LIMIT_WALL] == 30 * NS_PER_S && values[LIMIT_CPU] == 60 * NS_PER_S &&
           values[LIMIT_MEMORY] == 512 * MIB && values[LIMIT_OUTPUT] == MIB &&
           values[LIMIT_DISK] == 256 * MIB && values[LIMIT_FILE] == GIB &&
           values[LIMIT_PROCESSES] == 128 && values[LIMIT_OPEN_FILES] == 1024,
       "the defaults of a native program are those of CONTRACT");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct err err = {0};
        int rc = limits_set_text(&limits, rows[i].limit, rows[i].text, &err);
        if (!rows[i].message)
            ok(rc == 0 && limits.given[rows[i].limit], "%s %s is taken for a native program",
               limit_rows[rows[i].limit].option, rows[i].text);
        else
            ok(rc == -1 && err.code == ERR_REQUEST && strstr(err.message, rows[i].message),
               "%s %s is refused for a native program", limit_rows[rows[i].limit].option,
               rows[i].text);
    }
}

static void test_texts(void)
{
    static const struct {
        enum limit limit;
        const char *text;
        uint64_t value;      /* 0: refused */
        const char *message; /* of a refusal */
    } rows[] = {
        {LIMIT_WALL, "1.5s", 1500 * NS_PER_MS, NULL},
        {LIMIT_WALL, "unlimited", UNITS_UNLIMITED, NULL},
        {LIMIT_WALL, "8784h", 366 * 24 * 3600 * NS_PER_S, NULL},
        {LIMIT_WALL, "8785h", 0,
         "--timeout: 8785h is above 8784h, the most that is taken: write less, "
         "or 'unlimited'"},
        {LIMIT_WALL, "0", 0, "--timeout: '0' is zero"},
        {LIMIT_CPU, "10ms", 10 * NS_PER_MS, NULL},
        {LIMIT_MEMORY, "1", 1, NULL},
        {LIMIT_MEMORY, "4GiB", 4 * GIB, NULL},
        {LIMIT_MEMORY, "4294967297", 0, "--memory: 4294967297 is above 4GiB"},
        {LIMIT_MEMORY, "unlimited", 0, "--memory: cannot be unlimited: write at most 4GiB"},
        {LIMIT_FUEL, "1000", 1000, NULL},
        {LIMIT_FUEL, "unlimited", UNITS_UNLIMITED, NULL},
        {LIMIT_FUEL, "1k", 0, "--fuel: '1k' ends in 'k'"},
        {LIMIT_OUTPUT, "1g", GIB, NULL},
        {LIMIT_OUTPUT, "1.5g", 0, "--output: 1536MiB is above 1GiB"},
        {LIMIT_OUTPUT, "unlimited", 0, "--output: cannot be unlimited"},
        {LIMIT_DISK, "unlimited", UNITS_UNLIMITED, NULL},
        {LIMIT_FILE, "9223372036854775807", INT64_MAX, NULL},
        {LIMIT_FILE, "9223372036854775808", 0, "--file-size: "},
        {LIMIT_OPEN_FILES, "3", 3, NULL},
        {LIMIT_OPEN_FILES, "unlimited", 0,
         "--open-files: cannot be unlimited: write at most 65536"},
        {LIMIT_STACK, "64MiB", 64 * MIB, NULL},
        {LIMIT_STACK, "65MiB", 0, "--stack: 65MiB is above 64MiB"},
        {LIMIT_TABLE, "10000000", 10000000, NULL},
        {LIMIT_TABLE, "10000001", 0, "--table: 10000001 is above 10000000"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct limit_row *row = &limit_rows[rows[i].limit];
        struct limits limits;
        struct err err = {0};
        limits_init(&limits, BACKEND_WASM);
        int rc = limits_set_text(&limits, rows[i].limit, rows[i].text, &err);
        if (rows[i].value)
            ok(rc == 0 && limits.value[rows[i].limit] == rows[i].value, "%s %s is taken",
               row->option, rows[i].text);
        else if (!ok(rc == -1 && err.code == ERR_REQUEST && strstr(err.message, rows[i].message) &&
                         limits.value[rows[i].limit] == row->of[BACKEND_WASM].standard,
                     "%s %s is refused and changes nothing", row->option, rows[i].text))
            printf("# %s\n", err.message);
    }
}

static void test_numbers(void)
{
    static const struct {
        enum limit limit;
        int64_t number;
        uint64_t value; /* 0: refused */
    } rows[] = {
        {LIMIT_WALL, 1, NS_PER_MS},
        {LIMIT_WALL, 30000, 30 * NS_PER_S},
        {LIMIT_WALL, 0, 0},
        {LIMIT_WALL, -1, 0},
        {LIMIT_WALL, INT64_MAX, 0},
        {LIMIT_WALL, INT64_MAX / 1000, 0},
        {LIMIT_CPU, INT64_MIN, 0},
        {LIMIT_MEMORY, 4294967296, 4 * GIB},
        {LIMIT_MEMORY, 4294967297, 0},
        {LIMIT_FUEL, 9007199254740991, 9007199254740991},
        {LIMIT_FUEL, 0, 0},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct limit_row *row = &limit_rows[rows[i].limit];
        struct limits limits;
        struct err err = {0};
        limits_init(&limits, BACKEND_WASM);
        int rc = limits_set_number(&limits, rows[i].limit, rows[i].number, &err);
        if (rows[i].value)
            ok(rc == 0 && limits.value[rows[i].limit] == rows[i].value, "%s of %lld is taken",
               row->key, (long long) rows[i].number);
        else
            ok(rc == -1 && strncmp(err.message, "limits.", 7) == 0 &&
                   strstr(err.message, row->key) &&
                   limits.value[rows[i].limit] == row->of[BACKEND_WASM].standard,
               "%s of %lld is refused by its key", row->key, (long long) rows[i].number);
    }
}

/* What limits_format says is what the option takes. */
static void test_format(void)
{
    static const uint64_t values[] = {1,          999999,        1000000,
                                      1500000000, 60 * NS_PER_S, 5400 * NS_PER_S,
                                      1025,       1536 * 1024,   64 * MIB};
    bool same = true;

    for (size_t limit = 0; limit < LIMIT_COUNT; limit++)
        for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
            char text[LIMIT_TEXT_SIZE];
            struct limits limits;
            struct err err;
            if (values[i] > limit_rows[limit].of[BACKEND_WASM].max)
                continue;
            limits_init(&limits, BACKEND_WASM);
            limits_format((enum limit) limit, values[i], text);
            same = same && limits_set_text(&limits, (enum limit) limit, text, &err) == 0 &&
                   limits.value[limit] == values[i];
        }
    ok(same, "a formatted limit reads back as the same value");
}

int main(void)
{
    test_defaults();
    test_native();
    test_texts();
    test_numbers();
    test_format();
    return done();
}
