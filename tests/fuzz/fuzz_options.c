/*
 * The option vector of `wasp run`: words apart by NUL bytes. Whatever they are, there is either a
 * request that can be shown or one clear error.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "front/run_options.h"
#include "report/explain.h"

#define MAX_WORDS 256

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
    if (err_kind(err->code)->exit_status != 2 || err->message[0] == '\0' ||
        strchr(err->message, '\n') || !utf8_valid(err->message, strlen(err->message)) ||
        !utf8_valid(err->hint, strlen(err->hint)))
        abort();
}

static void check_request(const struct request *request)
{
    _cleanup_fd_ int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

    if (!request->module || request->args[request->n_args] || request->env[request->n_env])
        abort();
    if (null >= 0 && explain_write(null, request) < 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_free_ char *text = calloc(1, size + 1);
    struct arena *arena = arena_new();
    const char *words[MAX_WORDS + 1];
    struct run_options options;
    struct err err = {0};

    if (!text || !arena)
        abort();
    memcpy(text, data, size);
    split(text, size, words);
    run_options_init(&options);
    if (options_parse(&run_syntax, words, &options, arena, &err) < 0)
        check_err(&err);
    else
        check_request(&options.request);
    arena_free(arena);
    return 0;
}
