#include "tap.h"

#include <stdalign.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"

static void test_allocations(struct arena *arena)
{
    static const size_t sizes[] = {0, 1, 2, 15, 16, 17, 1000, 4096, 4097, 20000, 1 << 20};
    bool aligned = true, zeroed = true;

    for (size_t round = 0; round < 50; round++)
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]) - (round > 0); i++) {
            unsigned char *bytes = arena_alloc(arena, sizes[i]);
            if (!bytes) {
                ok(false, "%zu bytes can be had", sizes[i]);
                return;
            }
            aligned = aligned && (uintptr_t) bytes % alignof(max_align_t) == 0;
            for (size_t b = 0; b < sizes[i]; b++)
                zeroed = zeroed && bytes[b] == 0;
            /* Seen again as non-zero if two allocations overlap. */
            memset(bytes, 0xff, sizes[i]);
        }
    ok(aligned, "every allocation is aligned for any type");
    ok(zeroed, "every allocation is zeroed and overlaps no other");
}

static void test_overflow(struct arena *arena)
{
    ok(!arena_array(arena, SIZE_MAX / 2, 3), "a product that overflows gives NULL");
    ok(!arena_alloc(arena, SIZE_MAX) && !arena_alloc(arena, SIZE_MAX - 8),
       "a size that cannot be rounded gives NULL");
    ok(!arena_strndup(arena, "", SIZE_MAX), "a string as long as memory gives NULL");
    ok(arena_array(arena, 0, 8) != NULL, "an empty array is not NULL");
}

static void test_strings(struct arena *arena)
{
    char text[] = "text";
    char *copy = arena_strdup(arena, text);

    text[0] = 'T';
    ok(strcmp(copy, "text") == 0, "a duplicate is a copy");
    ok(strcmp(arena_strndup(arena, "abcdef", 3), "abc") == 0, "a part of a string ends in NUL");
    ok(memcmp(arena_strndup(arena, "a\0b", 3), "a\0b", 4) == 0, "bytes are copied, NUL included");
    ok(strcmp(arena_printf(arena, "%s-%05d", "x", 42), "x-00042") == 0, "printf formats");
    char *large = arena_printf(arena, "%100000d", 7);
    ok(strlen(large) == 100000 && large[99999] == '7', "printf is not cut");
}

int main(void)
{
    struct arena *arena = arena_new();

    if (!ok(arena != NULL, "an arena can be had"))
        return done();
    test_allocations(arena);
    test_overflow(arena);
    test_strings(arena);
    arena_free(arena);
    arena_free(NULL);
    return done();
}
