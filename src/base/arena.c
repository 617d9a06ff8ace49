#include "base/arena.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#define ALONE true
#elif defined(__has_feature)
#define ALONE __has_feature(address_sanitizer)
#else
#define ALONE false
#endif

/* Under ASan each allocation is a chunk of its own, so that one byte past its end is seen. */
#define CHUNK_BYTES (ALONE ? 0 : (size_t) 16 * 1024)

struct chunk {
    struct chunk *next;
    alignas(max_align_t) unsigned char bytes[];
};

struct arena {
    struct chunk *chunks; /* all of them, the newest first */
    unsigned char *at;    /* free room of the newest shared chunk */
    size_t left;
};

struct arena *arena_new(void)
{
    return calloc(1, sizeof(struct arena));
}

void arena_free(struct arena *arena)
{
    if (!arena)
        return;
    for (struct chunk *chunk = arena->chunks, *next; chunk; chunk = next) {
        next = chunk->next;
        free(chunk);
    }
    free(arena);
}

static struct chunk *add_chunk(struct arena *arena, size_t size)
{
    /* Memory of an arena is handed out once only, so zeroed at birth is zeroed for good. */
    struct chunk *chunk = calloc(1, sizeof(*chunk) + size);

    if (chunk) {
        chunk->next = arena->chunks;
        arena->chunks = chunk;
    }
    return chunk;
}

void *arena_alloc(struct arena *arena, size_t size)
{
    const size_t align = alignof(max_align_t);

    if (size > SIZE_MAX - sizeof(struct chunk) - align)
        return NULL;
    size_t rounded = size == 0 ? align : (size + align - 1) / align * align;
    if (rounded > CHUNK_BYTES / 4) {
        struct chunk *own = add_chunk(arena, ALONE ? size : rounded);
        return own ? own->bytes : NULL;
    }
    if (rounded > arena->left) {
        struct chunk *chunk = add_chunk(arena, CHUNK_BYTES);
        if (!chunk)
            return NULL;
        arena->at = chunk->bytes;
        arena->left = CHUNK_BYTES;
    }
    void *taken = arena->at;
    arena->at += rounded;
    arena->left -= rounded;
    return taken;
}

void *arena_array(struct arena *arena, size_t count, size_t size)
{
    size_t bytes;

    if (__builtin_mul_overflow(count, size, &bytes))
        return NULL;
    return arena_alloc(arena, bytes);
}

char *arena_strndup(struct arena *arena, const char *text, size_t len)
{
    char *copy = len == SIZE_MAX ? NULL : arena_alloc(arena, len + 1);

    if (copy && len > 0)
        memcpy(copy, text, len);
    return copy;
}

char *arena_strdup(struct arena *arena, const char *text)
{
    return arena_strndup(arena, text, strlen(text));
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    int len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *text = len < 0 ? NULL : arena_alloc(arena, (size_t) len + 1);
    if (!text)
        return NULL;

    va_start(args, format);
    (void) vsnprintf(text, (size_t) len + 1, format, args); /* measured above */
    va_end(args);
    return text;
}
