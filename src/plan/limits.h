/*
 * limits: the numbers a run must keep to. One table row each (limits.c): option name, manifest key,
 * unit, default.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/units.h"

enum limit {
    LIMIT_WALL,   /* ns; --timeout, timeout_ms */
    LIMIT_CPU,    /* ns; --cpu, cpu_ms */
    LIMIT_MEMORY, /* bytes; --memory, memory_bytes */
    LIMIT_FUEL,   /* units of Wasmtime's fuel; --fuel, fuel; unlimited = compiled without fuel */
    LIMIT_OUTPUT, /* bytes of each stream; --output, output_bytes */
    LIMIT_DISK,   /* bytes written; --disk, disk_bytes */
    LIMIT_FILE,   /* bytes of one file; --file-size, file_bytes */
    LIMIT_OPEN_FILES, /* --open-files, open_files */
    LIMIT_STACK,      /* bytes of guest stack; --stack, stack_bytes */
    LIMIT_TABLE,      /* elements of a table; --table, table_elements */
    LIMIT_COMPILE,    /* ns that compiling may take; --compile-timeout, compile_timeout_ms */
    LIMIT_COUNT
};

enum limit_unit { UNIT_DURATION, UNIT_SIZE, UNIT_COUNT };

struct limit_row {
    const char *name;   /* in limits_hit and messages: "memory" */
    const char *option; /* "--memory" */
    const char *key;    /* "memory_bytes" */
    enum limit_unit unit;
    uint64_t wasm_default;
    uint64_t max;          /* a larger number is refused; UNITS_UNLIMITED if there is none */
    bool may_be_unlimited; /* "unlimited" is taken */
    const char *help;      /* one line for the option's help, its default included */
};

extern const struct limit_row limit_rows[LIMIT_COUNT];

struct limits {
    uint64_t value[LIMIT_COUNT]; /* UNITS_UNLIMITED where there is none */
};

/* Fills in the defaults of a wasm run. */
void limits_init_wasm(struct limits *limits);
/* Sets one limit from the text of its option. */
int limits_set_text(struct limits *limits, enum limit limit, const char *text, struct err *err);
/* Sets one limit from a manifest's integer (milliseconds for durations); messages name its key. */
int limits_set_number(struct limits *limits, enum limit limit, int64_t number, struct err *err);
/* Takes the limit away, where its row allows that; `what` names it in the message. */
int limits_set_unlimited(struct limits *limits, enum limit limit, const char *what,
                         struct err *err);

#define LIMIT_TEXT_SIZE 48
/* A value of that limit as its option takes it: "30s", "64MiB", "1500ms", "unlimited". */
void limits_format(enum limit limit, uint64_t value, char ret_text[LIMIT_TEXT_SIZE]);
