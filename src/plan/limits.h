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

/* Who does the work. */
enum backend { BACKEND_WASM, BACKEND_NATIVE, BACKENDS };

enum limit {
    LIMIT_WALL,      /* ns; --timeout, timeout_ms */
    LIMIT_CPU,       /* ns, of all its processes; --cpu, cpu_ms */
    LIMIT_MEMORY,    /* bytes; --memory, memory_bytes */
    LIMIT_FUEL,      /* units of Wasmtime's fuel; --fuel, fuel; unlimited = compiled without fuel */
    LIMIT_OUTPUT,    /* bytes of each stream; --output, output_bytes */
    LIMIT_DISK,      /* bytes written; native: of scratch and overlay; --disk, disk_bytes */
    LIMIT_FILE,      /* bytes of one file; --file-size, file_bytes */
    LIMIT_PROCESSES, /* and threads; --processes, processes */
    LIMIT_OPEN_FILES, /* --open-files, open_files */
    LIMIT_STACK,      /* bytes of guest stack; --stack, stack_bytes */
    LIMIT_TABLE,      /* elements of a table; --table, table_elements */
    LIMIT_COMPILE,    /* ns that compiling may take; --compile-timeout, compile_timeout_ms */
    LIMIT_COUNT
};

enum limit_unit { UNIT_DURATION, UNIT_SIZE, UNIT_COUNT };

/* What a limit is for one backend. All zero: that backend does not have it. */
struct limit_range {
    uint64_t standard;     /* unless said otherwise */
    uint64_t max;          /* a larger number is refused; UNITS_UNLIMITED if there is none */
    bool may_be_unlimited; /* "unlimited" is taken */
    const char *help;      /* one line for the option's help, its default included */
};

struct limit_row {
    const char *name;   /* in limits_hit and messages: "memory" */
    const char *option; /* "--memory" */
    const char *key;    /* "memory_bytes" */
    enum limit_unit unit;
    struct limit_range of[BACKENDS];
};

extern const struct limit_row limit_rows[LIMIT_COUNT];

struct limits {
    enum backend backend;        /* whose ranges hold */
    uint64_t value[LIMIT_COUNT]; /* UNITS_UNLIMITED where there is none */
    bool given[LIMIT_COUNT];     /* the caller named it */
};

/* True if that backend has such a limit. */
bool limit_exists(enum limit limit, enum backend backend);
/* Fills in the defaults; what the backend does not have is unlimited. */
void limits_init(struct limits *limits, enum backend backend);
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
