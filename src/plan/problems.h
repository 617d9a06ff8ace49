/*
 * problems: what is wrong with a document, all of it: each with line, key and what to do.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

#define POLICY_MAX_PROBLEMS 100

struct policy_problem {
    uint32_t line; /* from 1; 0: of the file as a whole */
    char key[192]; /* "filesystem.allow[3].path"; may be empty */
    char message[512];
};

struct policy_problems {
    struct policy_problem *items; /* in the arena, sorted by line */
    size_t count;
    size_t omitted; /* above POLICY_MAX_PROBLEMS */
};

/* Where a value is: the steps from it up to the document. Made into text only for a problem. */
struct place {
    const struct place *up; /* NULL for the document itself */
    const char *key;        /* NULL for an element of an array */
    size_t index;
};

/* Collects them. Everything is in the arena. */
struct problems {
    struct arena *arena;
    struct policy_problems found;
    bool no_memory; /* one could not be kept, or what it is about could not be made */
};

/* Adds one. Returns -1. `place` may be NULL: of the whole. */
int problem_add(struct problems *problems, uint32_t line, const struct place *place,
                const char *format, ...) __attribute__((format(printf, 4, 5)));
/* The compiler, too, should know that it returns -1. */
#define problem_add(...) ((void) problem_add(__VA_ARGS__), -1)
/* Memory is exhausted. Returns -1. */
int problem_no_memory(struct problems *problems);
/* True if anything was found. */
bool problems_any(const struct problems *problems);
/* By line; within a line in the order they were found. */
void problems_sort(struct problems *problems);
