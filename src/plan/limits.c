#include "plan/limits.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/clock.h"

#define KIB ((uint64_t) 1 << 10)
#define MIB ((uint64_t) 1 << 20)
#define GIB ((uint64_t) 1 << 30)
#define HOUR (60 * 60 * NS_PER_S)
/* Whoever wants more means "unlimited"; below it, now + limit never overflows. */
#define LONGEST (366 * 24 * HOUR)

#define WASM(standard, max, unlimited, help) [BACKEND_WASM] = {standard, max, unlimited, help}
#define NATIVE(standard, max, unlimited, help) [BACKEND_NATIVE] = {standard, max, unlimited, help}

const struct limit_row limit_rows[LIMIT_COUNT] = {
    [LIMIT_WALL] = {"timeout",
                    "--timeout",
                    "timeout_ms",
                    UNIT_DURATION,
                    {WASM(30 * NS_PER_S, LONGEST, true, "wall-clock time of the job (default 30s)"),
                     NATIVE(30 * NS_PER_S, LONGEST, true,
                            "wall-clock time of the job (default 30s)")}},
    [LIMIT_CPU] = {"cpu",
                   "--cpu",
                   "cpu_ms",
                   UNIT_DURATION,
                   {WASM(30 * NS_PER_S, LONGEST, true, "CPU time of the job (default 30s)"),
                    NATIVE(60 * NS_PER_S, LONGEST, true,
                           "CPU time of the job, all its processes together (default 1m)")}},
    /* 4 GiB is all that a wasm32 module can address. */
    [LIMIT_MEMORY] =
        {"memory",
         "--memory",
         "memory_bytes",
         UNIT_SIZE,
         {WASM(64 * MIB, 4 * GIB, false, "memory of the guest (default 64MiB, at most 4GiB)"),
          NATIVE(512 * MIB, INT64_MAX, true,
                 "memory of the guest, all its processes and scratch files together (default "
                 "512MiB)")}},
    [LIMIT_FUEL] =
        {"fuel",
         "--fuel",
         "fuel",
         UNIT_COUNT,
         {WASM(UNITS_UNLIMITED, UNITS_UNLIMITED, true,
               "instructions the guest may execute, counted exactly (default unlimited)")}},
    /* wasp keeps both streams in its own memory until the envelope is written. */
    [LIMIT_OUTPUT] = {"output",
                      "--output",
                      "output_bytes",
                      UNIT_SIZE,
                      {WASM(1 * MIB, 1 * GIB, false,
                            "bytes kept of stdout, and of stderr (default 1MiB, at most 1GiB)"),
                       NATIVE(1 * MIB, 1 * GIB, false,
                              "bytes kept of stdout, and of stderr (default 1MiB, at most 1GiB)")}},
    [LIMIT_DISK] =
        {"disk",
         "--disk",
         "disk_bytes",
         UNIT_SIZE,
         {WASM(1 * GIB, INT64_MAX, true, "bytes the guest may write to files (default 1GiB)"),
          /* a tmpfs of no size would be half of the host's memory */
          NATIVE(256 * MIB, INT64_MAX, false,
                 "size of /tmp, /dev/shm, HOME and overlay changes together (default 256MiB)")}},
    [LIMIT_FILE] =
        {"file_size",
         "--file-size",
         "file_bytes",
         UNIT_SIZE,
         {WASM(1 * GIB, INT64_MAX, true, "size of a file the guest writes (default 1GiB)"),
          NATIVE(1 * GIB, INT64_MAX, true, "size of a file the guest writes (default 1GiB)")}},
    [LIMIT_PROCESSES] = {"processes",
                         "--processes",
                         "processes",
                         UNIT_COUNT,
                         {WASM(1, 1, false, "processes of the guest (default 1, and never more)"),
                          NATIVE(128, 4194304, false,
                                 "processes and threads at once (default 128)")}},
    [LIMIT_OPEN_FILES] =
        {"open_files",
         "--open-files",
         "open_files",
         UNIT_COUNT,
         {WASM(1024, 65536, false,
               "files the guest may have open at once (default 1024, at most 65536)"),
          NATIVE(1024, 65536, false,
                 "files a process may have open at once (default 1024, at most 65536)")}},
    [LIMIT_STACK] = {"stack",
                     "--stack",
                     "stack_bytes",
                     UNIT_SIZE,
                     {WASM(1 * MIB, 64 * MIB, false,
                           "call stack of the guest (default 1MiB, at most 64MiB)")}},
    [LIMIT_TABLE] = {"table",
                     "--table",
                     "table_elements",
                     UNIT_COUNT,
                     {WASM(
                         1000000, 10000000, false,
                         "elements of a table of the guest (default 1000000, at most 10000000)")}},
    [LIMIT_COMPILE] = {"compile_timeout",
                       "--compile-timeout",
                       "compile_timeout_ms",
                       UNIT_DURATION,
                       {WASM(60 * NS_PER_S, LONGEST, true,
                             "time that compiling a new module may take (default 1m)")}},
};

bool limit_exists(enum limit limit, enum backend backend)
{
    return limit_rows[limit].of[backend].help != NULL;
}

void limits_init(struct limits *limits, enum backend backend)
{
    *limits = (struct limits){.backend = backend};
    for (size_t i = 0; i < LIMIT_COUNT; i++)
        limits->value[i] = limit_exists((enum limit) i, backend)
                               ? limit_rows[i].of[backend].standard
                               : UNITS_UNLIMITED;
}

struct suffix {
    uint64_t factor;
    const char *name;
};

static const struct suffix duration_suffixes[] = {
    {HOUR, "h"}, {60 * NS_PER_S, "m"}, {NS_PER_S, "s"}, {NS_PER_MS, "ms"}};
static const struct suffix size_suffixes[] = {{GIB, "GiB"}, {MIB, "MiB"}, {KIB, "KiB"}, {1, ""}};
static const struct suffix count_suffixes[] = {{1, ""}};

static const struct {
    const struct suffix *suffixes; /* the largest first */
    size_t count;
    int (*parse)(const char *text, const char *what, uint64_t *ret_value, struct err *err);
} units[] = {
    [UNIT_DURATION] = {duration_suffixes, ARRAY_SIZE(duration_suffixes), units_parse_duration},
    [UNIT_SIZE] = {size_suffixes, ARRAY_SIZE(size_suffixes), units_parse_size},
    [UNIT_COUNT] = {count_suffixes, ARRAY_SIZE(count_suffixes), units_parse_count},
};

void limits_format(enum limit limit, uint64_t value, char ret_text[LIMIT_TEXT_SIZE])
{
    enum limit_unit unit = limit_rows[limit].unit;
    size_t i = 0;

    if (value == UNITS_UNLIMITED) {
        (void) snprintf(ret_text, LIMIT_TEXT_SIZE, "unlimited"); /* fits, as all below */
        return;
    }
    /*
     * The largest unit that divides it. Nanoseconds have no unit: they show as a part of a
     * millisecond.
     */
    while (i + 1 < units[unit].count && value % units[unit].suffixes[i].factor != 0)
        i++;
    const struct suffix *suffix = &units[unit].suffixes[i];
    if (value % suffix->factor == 0)
        (void) snprintf(ret_text, LIMIT_TEXT_SIZE, "%" PRIu64 "%s", value / suffix->factor,
                        suffix->name);
    else
        (void) snprintf(ret_text, LIMIT_TEXT_SIZE, "%" PRIu64 ".%06" PRIu64 "%s",
                        value / suffix->factor, value % suffix->factor, suffix->name);
}

static int check_max(const struct limits *limits, enum limit limit, uint64_t value,
                     const char *what, struct err *err)
{
    const struct limit_range *range = &limit_rows[limit].of[limits->backend];
    char wanted[LIMIT_TEXT_SIZE], max[LIMIT_TEXT_SIZE];

    if (value <= range->max)
        return 0;
    limits_format(limit, value, wanted);
    limits_format(limit, range->max, max);
    return err_set(err, ERR_REQUEST, "%s: %s is above %s, the most that is taken: write less%s",
                   what, wanted, max, range->may_be_unlimited ? ", or 'unlimited'" : "");
}

static int check_exists(const struct limits *limits, enum limit limit, const char *what,
                        struct err *err)
{
    if (limit_exists(limit, limits->backend))
        return 0;
    return err_set(err, ERR_REQUEST, "%s: a native program has no such limit: leave it out", what);
}

static int set(struct limits *limits, enum limit limit, uint64_t value, const char *what,
               struct err *err)
{
    if (check_exists(limits, limit, what, err) < 0 ||
        check_max(limits, limit, value, what, err) < 0)
        return -1;
    limits->value[limit] = value;
    limits->given[limit] = true;
    return 0;
}

int limits_set_unlimited(struct limits *limits, enum limit limit, const char *what, struct err *err)
{
    const struct limit_range *range = &limit_rows[limit].of[limits->backend];
    char max[LIMIT_TEXT_SIZE];

    if (check_exists(limits, limit, what, err) < 0)
        return -1;
    if (!range->may_be_unlimited) {
        limits_format(limit, range->max, max);
        return err_set(err, ERR_REQUEST, "%s: cannot be unlimited: write at most %s", what, max);
    }
    limits->value[limit] = UNITS_UNLIMITED;
    limits->given[limit] = true;
    return 0;
}

int limits_set_text(struct limits *limits, enum limit limit, const char *text, struct err *err)
{
    const struct limit_row *row = &limit_rows[limit];
    uint64_t value;

    if (units[row->unit].parse(text, row->option, &value, err) < 0)
        return -1;
    if (value == UNITS_UNLIMITED)
        return limits_set_unlimited(limits, limit, row->option, err);
    return set(limits, limit, value, row->option, err);
}

int limits_set_number(struct limits *limits, enum limit limit, int64_t number, struct err *err)
{
    const struct limit_row *row = &limit_rows[limit];
    uint64_t factor = row->unit == UNIT_DURATION ? NS_PER_MS : 1;
    uint64_t value;

    if (number <= 0)
        return err_set(err, ERR_REQUEST,
                       "limits.%s: %" PRId64 " is refused: write a positive number", row->key,
                       number);
    if (__builtin_mul_overflow((uint64_t) number, factor, &value))
        value = UNITS_UNLIMITED - 1; /* above every maximum that a duration has */
    char what[64];
    (void) snprintf(what, sizeof(what), "limits.%s", row->key); /* fits */
    return set(limits, limit, value, what, err);
}
