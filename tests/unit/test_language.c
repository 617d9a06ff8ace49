#include "plan/language.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "tap.h"

static int make(struct request *request, struct arena *arena, enum backend backend,
                const char *language, struct err *err)
{
    request_init(request, backend);
    request->language = language;
    if (request_add_arg(request, arena, "arg", err) < 0 ||
        request_set_source(request, arena, "text", 4, err) < 0)
        return -1;
    return 0;
}

static const struct {
    const char *language;
    enum backend backend;
    enum isolation isolation;
    const char *runs;        /* program and arguments; NULL: refused */
    const char *source_name; /* of a file; NULL: it is an argument */
} rows[] = {
    {"python", BACKEND_NATIVE, ISOLATION_FULL, "python3 -I /code/main.py arg", "/code/main.py"},
    {"javascript", BACKEND_NATIVE, ISOLATION_FULL,
     "node --no-global-search-paths /code/main.js arg", "/code/main.js"},
    {"bash", BACKEND_NATIVE, ISOLATION_FULL, "bash --noprofile --norc /code/main.sh arg",
     "/code/main.sh"},
    {"python", BACKEND_NATIVE, ISOLATION_LANDLOCK, "python3 -I -c text arg", NULL},
    {"javascript", BACKEND_NATIVE, ISOLATION_LANDLOCK, "node --no-global-search-paths -e text arg",
     NULL},
    {"bash", BACKEND_NATIVE, ISOLATION_LANDLOCK, "bash --noprofile --norc -c text main.sh arg",
     NULL},
    {"python", BACKEND_WASM, ISOLATION_FULL, "- -I -c text arg", NULL},
    {"javascript", BACKEND_WASM, ISOLATION_LANDLOCK, "- -e text arg", NULL},
    {"bash", BACKEND_WASM, ISOLATION_FULL, NULL, NULL},
};

static bool is_kept(const struct request *request, const char *source_name)
{
    if (!source_name)
        return !request->source && !request->source_name && request->source_len == 0;
    return strcmp(request->source_name, source_name) == 0 && strcmp(request->source, "text") == 0;
}

static void test_row(size_t i, struct arena *arena)
{
    _cleanup_(buf_release) struct buf runs = BUF_INIT(4096);
    struct request request;
    struct err err = {0};

    if (make(&request, arena, rows[i].backend, rows[i].language, &err) < 0)
        abort();
    request.isolation = rows[i].isolation;
    int rc = language_put(&request, arena, &err);
    if (!rows[i].runs) {
        ok(rc == -1 && err.code == ERR_REQUEST && strstr(err.message, rows[i].language),
           "row %zu is refused: %s", i, err.message);
        return;
    }
    size_t bytes = request.source ? request.source_len + 1 : 0;
    (void) buf_add_string(&runs, request.program ? request.program : "-"); /* compared below */
    for (size_t k = 0; k < request.n_args; k++) {
        (void) buf_printf(&runs, " %s", request.args[k]); /* likewise */
        bytes += strlen(request.args[k]) + 1;
    }
    if (!ok(rc == 0 && strcmp(runs.data, rows[i].runs) == 0 &&
                is_kept(&request, rows[i].source_name) && request.strings_bytes == bytes,
            "%s runs as '%s', and each byte of it counts once", rows[i].language, rows[i].runs))
        printf("# %s %s\n", runs.data, err.message);
}

static void test_large(struct arena *arena)
{
    static char text[128 * 1024];
    struct request request;
    struct err err;

    memset(text, 'x', sizeof(text));
    for (size_t spare = 0; spare < 2; spare++) {
        request_init(&request, BACKEND_NATIVE);
        request.language = "python";
        request.isolation = ISOLATION_LANDLOCK;
        if (request_set_source(&request, arena, text, sizeof(text) - spare, &err) < 0)
            abort();
        ok(language_put(&request, arena, &err) == (spare ? 0 : -1),
           "without a view of its own a source of %zu bytes is %s", sizeof(text) - spare,
           spare ? "an argument" : "refused: the kernel takes no such argument");
    }
}

int main(void)
{
    struct arena *arena = arena_new();
    struct err err = {0};

    if (!arena)
        return 1;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        test_row(i, arena);
    test_large(arena);
    for (size_t i = 0; language_names[i]; i++)
        ok(language_find(language_names[i], &err) == language_names[i], "'%s' is a language",
           language_names[i]);
    ok(!language_find("ruby", &err) && err.code == ERR_REQUEST &&
           strcmp(err.message, "unknown language 'ruby': there are python, javascript, bash") == 0,
       "another is refused with those there are");
    arena_free(arena);
    return done();
}
