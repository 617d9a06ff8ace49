/*
 * arena: memory that lives as long as the job. Everything a request or a plan points to is in one.
 */
#pragma once

#include <stddef.h>

struct arena;

/* NULL when memory is exhausted. */
struct arena *arena_new(void);
void arena_free(struct arena *arena);
/* Zeroed, aligned for any type; NULL when memory is exhausted. */
void *arena_alloc(struct arena *arena, size_t size);
/* As arena_alloc for count elements; NULL on overflow too. */
void *arena_array(struct arena *arena, size_t count, size_t size);
char *arena_strdup(struct arena *arena, const char *text);
char *arena_strndup(struct arena *arena, const char *text, size_t len);
char *arena_printf(struct arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
