/* The judges of what a wasm guest may ask for through its door, declared in request.h. */
#include <limits.h>
#include <string.h>

#include "base/cleanup.h"
#include "plan/request.h"
#include "plan/words.h"

/* Those a door has, and what "=PATH" means to them. */
static const struct door_row {
    enum capability capability;
    bool takes_path;
} rows[] = {
    {CAPABILITY_FS_READ, true},
    {CAPABILITY_FS_WRITE, true},
    {CAPABILITY_EXEC_RUN, false},
};

static const struct door_row *find_row(const char *name, size_t len, struct err *err)
{
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const char *own = capability_rows[rows[i].capability].name;
        if (strlen(own) == len && memcmp(own, name, len) == 0)
            return &rows[i];
    }
    const char *why = len == strlen("net_http") && memcmp(name, "net_http", len) == 0
                          ? "is not there in this wasp"
                          : "is no capability of a guest";
    (void) err_set(err, ERR_REQUEST,
                   "'%.*s' %s: write 'fs_read', 'fs_write' (alone or with '=PATH') or 'exec_run'",
                   (int) (len < 64 ? len : 64), name, why); /* NULL says it */
    return NULL;
}

static int check_path(const struct door_row *row, const char *path, struct err *err)
{
    const char *name = capability_rows[row->capability].name;

    if (!path)
        return 0;
    if (!row->takes_path)
        return err_set(err, ERR_REQUEST, "'%s' takes no path: write the commands it may run apart",
                       name);
    if (path[0] == '\0')
        return err_set(err, ERR_REQUEST,
                       "'%s=' has no path: write one, or leave '=' out for the directories of the "
                       "request",
                       name);
    if (strlen(path) >= PATH_MAX)
        return err_set(err, ERR_REQUEST, "the path of '%s' is longer than %d bytes", name,
                       PATH_MAX - 1);
    return 0;
}

static bool is_same(const struct request_capability *a, const struct request_capability *b)
{
    return a->capability == b->capability && !a->path == !b->path &&
           (!a->path || strcmp(a->path, b->path) == 0);
}

int request_add_capability(struct request *request, struct arena *arena, const char *base,
                           const char *text, struct err *err)
{
    size_t len = strcspn(text, "=");
    const char *path = text[len] == '=' ? text + len + 1 : NULL;
    const struct door_row *row = find_row(text, len, err);

    if (!row || check_path(row, path, err) < 0)
        return -1;
    struct request_capability one = {row->capability,
                                     path ? request_path(arena, base, path) : NULL};
    if (!request->capabilities)
        request->capabilities =
            arena_array(arena, REQUEST_MAX_CAPABILITIES, sizeof(*request->capabilities));
    if (!request->capabilities || (path && !one.path))
        return err_no_memory(err);
    for (size_t i = 0; i < request->n_capabilities; i++)
        if (is_same(&request->capabilities[i], &one))
            return err_set(err, ERR_REQUEST, "'%s' is given twice: keep one", text);
    if (request->n_capabilities >= REQUEST_MAX_CAPABILITIES)
        return err_set(err, ERR_REQUEST, "more than %d capabilities", REQUEST_MAX_CAPABILITIES);
    request->capabilities[request->n_capabilities++] = one;
    return 0;
}

/* A name on the cell's own PATH, or where it is on the host: a door has no other view. */
static int check_program(const char *program, struct err *err)
{
    if (program[0] == '\0')
        return err_set(err, ERR_REQUEST, "the program of a command is empty: write its name");
    if (strlen(program) >= PATH_MAX)
        return err_set(err, ERR_REQUEST, "the program of a command is longer than %d bytes",
                       PATH_MAX - 1);
    if (strchr(program, '*'))
        return err_set(err, ERR_REQUEST,
                       "program '%s': write which one it is, patterns are for its arguments",
                       program);
    if (strchr(program, '/') && program[0] != '/')
        return err_set(err, ERR_REQUEST,
                       "program '%s': write a bare name, or an absolute path of the host", program);
    return 0;
}

int request_add_command(struct request *request, struct arena *arena, const char *program,
                        const char *const *args, size_t n_args, struct err *err)
{
    struct request_command command = {
        .program = arena_strdup(arena, program),
        .args = arena_array(arena, n_args + 1, sizeof(*command.args)),
        .any_args = n_args > 0 && strcmp(args[n_args - 1], "*") == 0,
    };

    if (check_program(program, err) < 0)
        return -1;
    if (request->n_commands >= REQUEST_MAX_COMMANDS)
        return err_set(err, ERR_REQUEST, "more than %d commands", REQUEST_MAX_COMMANDS);
    if (!request->commands)
        request->commands = arena_array(arena, REQUEST_MAX_COMMANDS, sizeof(*request->commands));
    if (!request->commands || !command.program || !command.args)
        return err_no_memory(err);
    for (; command.n_args < n_args - command.any_args; command.n_args++) {
        const char *arg = args[command.n_args];
        if (request_count_bytes(request, strlen(arg), err) < 0)
            return -1;
        command.args[command.n_args] = arena_strdup(arena, arg);
        if (!command.args[command.n_args])
            return err_no_memory(err);
    }
    request->commands[request->n_commands++] = command;
    return 0;
}

int request_add_command_text(struct request *request, struct arena *arena, const char *text,
                             struct err *err)
{
    const char *const *words;
    size_t n;

    if (words_split_patterns(text, arena, &words, &n, err) < 0)
        return -1;
    return request_add_command(request, arena, words[0], words + 1, n - 1, err);
}
