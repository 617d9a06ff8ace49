#include "front/environment.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "tap.h"

/* Every variable that is read; a case starts without any. */
static const char *const variables[] = {
    "HOME",           "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "WASP_CACHE_DIR",
    "WASP_STATE_DIR", "WASP_CACHE_MAX", "WASP_UID_RANGE", "WASP_ISOLATION",
};

static int read_with(struct arena *arena, const char *const *settings,
                     struct environment *environment, struct err *err)
{
    for (size_t i = 0; i < ARRAY_SIZE(variables); i++)
        (void) unsetenv(variables[i]); /* the names are valid */
    for (; *settings; settings += 2)
        if (setenv(settings[0], settings[1], 1) < 0)
            return -2;
    return environment_read(arena, environment, err);
}

#define READ(...) read_with(arena, (const char *const[]){__VA_ARGS__, NULL}, &environment, &err)

static bool is(const char *text, const char *expected)
{
    return text && expected ? strcmp(text, expected) == 0 : text == expected;
}

static void test_folders(struct arena *arena)
{
    struct environment environment;
    struct err err;
    const struct places *places = &environment.places;

    ok(READ("HOME", "/h") == 0 && is(places->cache_dir, "/h/.cache/wasp") &&
           is(places->state_dir, "/h/.local/state/wasp") &&
           is(places->config_dir, "/h/.config/wasp"),
       "HOME alone gives every folder");
    ok(READ("HOME", "/h", "XDG_CACHE_HOME", "/x") == 0 && is(places->cache_dir, "/x/wasp") &&
           is(places->state_dir, "/h/.local/state/wasp"),
       "an XDG variable moves its own folder only");
    ok(READ("HOME", "/h", "XDG_CACHE_HOME", "/x", "WASP_CACHE_DIR", "/c") == 0 &&
           is(places->cache_dir, "/c"),
       "WASP_CACHE_DIR is the folder itself and comes first");
    ok(READ("HOME", "/h", "XDG_CACHE_HOME", "x", "WASP_CACHE_DIR", "c") == 0 &&
           is(places->cache_dir, "/h/.cache/wasp"),
       "a relative folder does not count");
    ok(READ("HOME", "h") == 0 && !places->cache_dir && !places->state_dir && !places->config_dir,
       "without an absolute HOME there is no folder");
    ok(places->program_dir && places->program_dir[0] == '/', "the programs have a folder");
}

static void test_numbers(struct arena *arena)
{
    static const char *const bad_ranges[] = {
        "5",          "5:",           ":5",           "a:b",         "0:5",  "5:0",
        "65000:1000", "4294967295:1", "1:4294967295", "unlimited:1", "1:2:3"};
    struct environment environment;
    struct err err;
    const struct places *places = &environment.places;

    ok(READ("HOME", "/h") == 0 && places->cache_max_bytes == UINT64_C(2) << 30 &&
           places->uid_count > 1000 && places->uid_base > 65535,
       "cache size and uids have defaults");
    ok(READ("WASP_CACHE_MAX", "1MiB") == 0 && places->cache_max_bytes == 1 << 20,
       "WASP_CACHE_MAX takes a size");
    ok(READ("WASP_CACHE_MAX", "lots") == -1 && strstr(err.message, "WASP_CACHE_MAX"),
       "a bad WASP_CACHE_MAX is refused by name");
    ok(READ("WASP_UID_RANGE", "100000:65536") == 0 && places->uid_base == 100000 &&
           places->uid_count == 65536,
       "WASP_UID_RANGE takes base and count");
    for (size_t i = 0; i < ARRAY_SIZE(bad_ranges); i++)
        ok(READ("WASP_UID_RANGE", bad_ranges[i]) == -1 && strstr(err.message, "WASP_UID_RANGE") &&
               err_kind(err.code)->exit_status == 2,
           "WASP_UID_RANGE=%s is refused", bad_ranges[i]);
}

static void test_isolation(struct arena *arena)
{
    struct environment environment;
    struct err err;

    ok(READ("WASP_ISOLATION", "") == 0 && !environment.isolation,
       "an empty variable is an unset one");
    ok(READ("WASP_ISOLATION", "landlock") == 0 && is(environment.isolation, "landlock"),
       "WASP_ISOLATION is handed on as it is");
}

int main(void)
{
    struct arena *arena = arena_new();

    if (!arena)
        return 1;
    test_folders(arena);
    test_numbers(arena);
    test_isolation(arena);
    arena_free(arena);
    return done();
}
