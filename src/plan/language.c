#include "plan/language.h"

#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"

/* The kernel takes no longer argument (MAX_ARG_STRLEN, its NUL included). */
#define ARGUMENT_MAX_BYTES ((size_t) 128 * 1024 - 1)
#define MAX_FLAGS 4

enum { PYTHON, JAVASCRIPT, BASH, LANGUAGES };

const char *const language_names[] = {
    [PYTHON] = "python", [JAVASCRIPT] = "javascript", [BASH] = "bash", NULL};

/* What interpreters are given before the source. The lists end in NULL. */
static const struct language {
    const char *program; /* of a native guest */
    const char
        *flags[MAX_FLAGS];   /* that keep it from files and variables it would read by itself */
    const char *source_name; /* its file */
    const char *text_flag;   /* makes the next argument the source */
    const char *text_name;   /* what then stands for the file's name; NULL: nothing does */
    bool has_wasm;           /* there are runtimes that take these, and the text_flag: */
    const char *wasm_flags[MAX_FLAGS];
} languages[LANGUAGES] = {
    /* -I: no PYTHON* variables, no packages of the user's, no modules from the script's folder */
    [PYTHON] = {"python3", {"-I"}, "/code/main.py", "-c", NULL, true, {"-I"}},
    /* quickjs has the same flag for text */
    [JAVASCRIPT] =
        {"node", {"--no-global-search-paths"}, "/code/main.js", "-e", NULL, true, {NULL}},
    [BASH] = {"bash", {"--noprofile", "--norc"}, "/code/main.sh", "-c", "main.sh", false, {NULL}},
};

static int find(const char *name)
{
    for (int i = 0; i < LANGUAGES; i++)
        if (strcmp(language_names[i], name) == 0)
            return i;
    return -1;
}

const char *language_find(const char *name, struct err *err)
{
    _cleanup_(buf_release) struct buf all = BUF_INIT(sizeof(err->message) / 2);
    int found = find(name);

    if (found >= 0)
        return language_names[found];
    for (size_t i = 0; language_names[i]; i++)
        (void) buf_printf(&all, "%s%s", i ? ", " : "", language_names[i]); /* what fits helps */
    (void) err_set(err, ERR_REQUEST, "unknown language '%s': there are %s", name,
                   all.data ? all.data : "some"); /* NULL says it */
    return NULL;
}

bool language_has_wasm(const char *name)
{
    int found = find(name);

    return found >= 0 && languages[found].has_wasm;
}

/* Before the request's own arguments: the flags, then up to three more. */
static int put_args(struct request *request, struct arena *arena, const char *const *flags,
                    const char *const more[3], struct err *err)
{
    const char *args[MAX_FLAGS + 3];
    size_t n = 0;

    while (*flags)
        args[n++] = *flags++;
    for (size_t i = 0; i < 3 && more[i]; i++)
        args[n++] = more[i];
    return request_prepend_args(request, arena, args, n, err);
}

/* The source is then an argument, and counts as one. */
static int put_text(struct request *request, struct arena *arena, const struct language *language,
                    const char *const *flags, struct err *err)
{
    const char *const more[] = {language->text_flag, request->source,
                                request->backend == BACKEND_NATIVE ? language->text_name : NULL};

    request->strings_bytes -= request->source_len + 1;
    request->source = NULL;
    request->source_len = 0;
    return put_args(request, arena, flags, more, err);
}

static int put_native(struct request *request, struct arena *arena, const struct language *language,
                      struct err *err)
{
    const char *const more[3] = {language->source_name};

    if (request_set_program(request, arena, language->program, err) < 0)
        return -1;
    if (request->isolation == ISOLATION_FULL) {
        request->source_name = language->source_name;
        return put_args(request, arena, language->flags, more, err);
    }
    if (request->source_len > ARGUMENT_MAX_BYTES)
        return err_set(err, ERR_REQUEST,
                       "isolation 'landlock' has no file for the source, and as an argument it may "
                       "have %zu bytes: put it into a directory, grant that, and run the file",
                       ARGUMENT_MAX_BYTES);
    return put_text(request, arena, language, language->flags, err);
}

int language_put(struct request *request, struct arena *arena, struct err *err)
{
    int found = find(request->language);

    if (found < 0)
        return err_set(err, ERR_REQUEST, "unknown language '%s'", request->language);
    const struct language *language = &languages[found];
    if (request->backend == BACKEND_NATIVE)
        return put_native(request, arena, language, err);
    if (!language->has_wasm)
        return err_set(err, ERR_REQUEST,
                       "no runtime for %s takes source text: use the native backend",
                       request->language);
    return put_text(request, arena, language, language->wasm_flags, err);
}
