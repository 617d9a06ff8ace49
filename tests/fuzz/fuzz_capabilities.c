/*
 * Any bytes as capabilities (a line that starts with 'c') and commands: refused, or kept so that
 * the request holds what it promises, and the scope of a command covers the command.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "plan/need.h"
#include "plan/scope.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_request(const struct request *request)
{
    assert(request->n_capabilities <= REQUEST_MAX_CAPABILITIES);
    assert(request->n_commands <= REQUEST_MAX_COMMANDS);
    for (size_t i = 0; i < request->n_capabilities; i++) {
        const struct request_capability *one = &request->capabilities[i];
        assert(one->capability == CAPABILITY_FS_READ || one->capability == CAPABILITY_FS_WRITE ||
               (one->capability == CAPABILITY_EXEC_RUN && !one->path));
        assert(!one->path || one->path[0]);
    }
}

/* As if every program were there, under its own name. */
static void check_needs(const struct request *request, struct arena *arena)
{
    struct fact *commands = arena_array(arena, request->n_commands + 1, sizeof(*commands));
    struct fact *paths = arena_array(arena, request->n_capabilities + 1, sizeof(*paths));
    const struct facts facts = {.commands = commands, .paths = paths};
    struct needs needs;
    struct err err;

    assert(commands && paths);
    for (size_t i = 0; i < request->n_commands; i++) {
        const char *program = request->commands[i].program;
        assert(program[0] && (program[0] == '/' || !strchr(program, '/')) && !strchr(program, '*'));
        commands[i] = (struct fact){true, program[0] == '/' ? program : "/bin/x", {1, i}};
    }
    assert(needs_of(request, &facts, arena, &needs, &err) == 0);
    for (size_t i = 0; i < needs.count; i++) {
        const struct need *need = &needs.items[i];
        if (need->capability != CAPABILITY_EXEC_RUN)
            continue;
        bool can_be_written = scope_check(need->capability, need->scope, &err) == 0;
        assert(scope_exists(need) == can_be_written);
    }
}

static void take_line(struct request *request, struct arena *arena, const char *line)
{
    struct err err = {0};
    int rc = line[0] == 'c' ? request_add_capability(request, arena, "/base", line + 1, &err)
                            : request_add_command_text(request, arena, line, &err);

    if (rc == 0)
        return;
    assert(err.code == ERR_REQUEST && err.message[0] && !strchr(err.message, '\n'));
    assert(utf8_valid(err.message, strlen(err.message)) && utf8_valid(err.hint, strlen(err.hint)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_free_ char *text = calloc(1, size + 1);
    struct arena *arena = arena_new();
    struct request request;
    char *rest;

    assert(text && arena);
    memcpy(text, data, size);
    request_init(&request, BACKEND_WASM);
    request.module_is_own = true;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        take_line(&request, arena, line);
    check_request(&request);
    check_needs(&request, arena);
    arena_free(arena);
    return 0;
}
