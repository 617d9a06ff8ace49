/*
 * Any bytes as option values. Each line is one value: its first byte says of which option (d
 * --allow-dir, e --env, s --secret-env, a an argument, otherwise a limit), the rest is the value.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/utf8.h"
#include "plan/environment.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int add(struct request *request, struct arena *arena, const char *line, struct err *err)
{
    enum limit limit = (enum limit)((unsigned char) line[0] % LIMIT_COUNT);

    switch (line[0]) {
    case 'd':
        return request_add_dir_text(request, arena, line + 1, err);
    case 'e':
        return request_add_env(request, arena, line + 1, false, err);
    case 's':
        return request_add_secret_env(request, arena, line + 1, err);
    case 'a':
        return request_add_arg(request, arena, line + 1, err);
    default:
        return limits_set_text(&request->limits, limit, line + 1, err);
    }
}

static void check_error(const struct err *err)
{
    assert((err->code == ERR_REQUEST || err->code == ERR_DENIED) && err->message[0]);
    assert(utf8_valid(err->message, strlen(err->message)) && !strchr(err->message, '\n'));
    assert(utf8_valid(err->hint, strlen(err->hint)));
}

static void check_limits(const struct limits *limits)
{
    for (size_t i = 0; i < LIMIT_COUNT; i++) {
        assert(limits->value[i] > 0);
        const struct limit_range *range = &limit_rows[i].of[limits->backend];
        if (!limit_exists((enum limit) i, limits->backend))
            assert(limits->value[i] == UNITS_UNLIMITED);
        else if (limits->value[i] == UNITS_UNLIMITED)
            assert(range->may_be_unlimited);
        else
            assert(limits->value[i] <= range->max);
    }
}

/* No two names alike, at most one directory found as ".", the host's root never writable. */
static void check_dirs(const struct request *request)
{
    size_t dots = 0;

    for (size_t i = 0; i < request->n_dirs; i++) {
        const struct request_dir *dir = &request->dirs[i];
        assert(dir->host[0] && dir->guest[0]);
        assert(strcmp(dir->host, "/") != 0 || dir->access == ACCESS_RO);
        dots += dir->also_dot || strcmp(dir->guest, ".") == 0;
        for (size_t k = 0; k < i; k++)
            assert(strcmp(dir->guest, request->dirs[k].guest) != 0);
        assert(dir->access != ACCESS_OVERLAY || request->backend == BACKEND_NATIVE);
        assert(request->backend == BACKEND_WASM || dir->plain || dir->guest[0] == '/');
    }
    assert(dots <= 1);
}

/* No variable that makes programs run code comes through unforced. */
static void check_env(const struct request *request)
{
    for (size_t i = 0; i < request->n_env; i++) {
        assert(request->backend == BACKEND_WASM || strncmp(request->env[i], "LD_", 3) != 0);
        assert(!request_is_secret(request, request->env[i])); /* it would be there twice */
        (void) environment_is_credential(request->env[i]);    /* either answer will do */
    }
    for (size_t i = 0; i < request->n_secret_env; i++)
        assert(request->backend == BACKEND_WASM || strncmp(request->secret_env[i], "LD_", 3) != 0);
}

static void play(const uint8_t *data, size_t size, enum backend backend)
{
    struct arena *arena = arena_new();
    char *text = arena ? arena_strndup(arena, (const char *) data, size) : NULL;
    struct request request;
    struct err err;

    request_init(&request, backend);
    for (char *rest = text, *line; (line = strsep(&rest, "\n"));)
        if (line[0] && add(&request, arena, line, &err) < 0)
            check_error(&err);
    assert(!request.args[request.n_args] && !request.env[request.n_env]);
    check_limits(&request.limits);
    check_dirs(&request);
    check_env(&request);
    if (request_check(&request, &err) < 0)
        check_error(&err);
    arena_free(arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    play(data, size, BACKEND_WASM);
    play(data, size, BACKEND_NATIVE);
    return 0;
}
