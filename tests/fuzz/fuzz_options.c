/*
 * The words of `wasp run`, `exec` and `code`, apart by NUL bytes. Whatever they are, there is
 * either a request that can be shown or one clear error.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "front/run_options.h"
#include "plan/language.h"
#include "report/explain.h"

#define MAX_WORDS 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The words in place; text ends in a NUL of its own. */
static void split(const char *text, size_t len, const char *ret_words[MAX_WORDS + 1])
{
    size_t n = 0;

    for (size_t at = 0; at < len && n < MAX_WORDS; at += strlen(text + at) + 1)
        ret_words[n++] = text + at;
    ret_words[n] = NULL;
}

static void check_err(const struct err *err)
{
    if ((err_kind(err->code)->exit_status != 2 && err->code != ERR_DENIED) ||
        err->message[0] == '\0' || strchr(err->message, '\n') ||
        !utf8_valid(err->message, strlen(err->message)) ||
        !utf8_valid(err->hint, strlen(err->hint)))
        abort();
}

static void check_request(const struct request *request)
{
    _cleanup_fd_ int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

    if (request->args[request->n_args] || request->env[request->n_env])
        abort();
    if (null >= 0 && explain_write(null, request) < 0)
        abort();
}

static void try_syntax(const struct syntax *syntax, enum backend backend, const char *const *words)
{
    struct arena *arena = arena_new();
    struct run_options options;
    struct err err = {0};

    if (!arena)
        abort();
    run_options_init(&options, backend);
    struct request *request = &options.request;
    int rc = options_parse(syntax, words, &options, arena, &err);
    if (rc == 0 && options.source)
        rc = request_set_source(request, arena, options.source, strlen(options.source), &err);
    if (rc == 0 && request->source)
        rc = language_put(request, arena, &err);
    if (rc == 0)
        rc = request_check(request, &err);
    if (rc < 0)
        check_err(&err);
    else
        check_request(request);
    arena_free(arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_free_ char *text = calloc(1, size + 1);
    const char *words[MAX_WORDS + 1];

    if (!text)
        abort();
    memcpy(text, data, size);
    split(text, size, words);
    try_syntax(&run_syntax, BACKEND_WASM, words);
    try_syntax(&exec_syntax, BACKEND_NATIVE, words);
    try_syntax(&code_syntax, BACKEND_NATIVE, words);
    try_syntax(&code_wasm_syntax, BACKEND_WASM, words);
    return 0;
}
