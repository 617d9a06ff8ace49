/* What a wasm guest may ask for through its door, as text (plan/capabilities.c). */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "plan/manifest.h"
#include "tap.h"

static const struct {
    const char *base, *text;
    const char *shown; /* "NAME PATH"; NULL: refused, */
    const char *says;  /* with this in the message */
} capabilities[] = {
    {NULL, "fs_read", "fs_read -", NULL},
    {NULL, "fs_write", "fs_write -", NULL},
    {NULL, "exec_run", "exec_run -", NULL},
    {NULL, "fs_read=/a", "fs_read /a", NULL},
    {NULL, "fs_write=a/b", "fs_write a/b", NULL},
    {"/m", "fs_write=a/b", "fs_write /m/a/b", NULL},
    {"/m", "fs_read=/a", "fs_read /a", NULL},
    {NULL, "fs_read=a=b", "fs_read a=b", NULL},
    {NULL, "", NULL, "'' is no capability"},
    {NULL, "fs", NULL, "'fs' is no capability"},
    {NULL, "fs_reads", NULL, "'fs_reads' is no capability"},
    {NULL, "FS_READ", NULL, "'FS_READ' is no capability"},
    {NULL, "env_set", NULL, "'env_set' is no capability"},
    {NULL, "code_run", NULL, "'code_run' is no capability"},
    {NULL, "net_http", NULL, "'net_http' is not there"},
    {NULL, "*", NULL, "'*' is no capability"},
    {NULL, "=a", NULL, "'' is no capability"},
    {NULL, "fs_read=", NULL, "'fs_read=' has no path"},
    {NULL, "exec_run=ls", NULL, "'exec_run' takes no path"},
    {NULL, "exec_run=", NULL, "'exec_run' takes no path"},
};

static const struct {
    const char *text;
    const char *shown; /* program and arguments, each in brackets; "+" at the end: any further */
    const char *says;
} commands[] = {
    {"git", "[git]", NULL},
    {"git *", "[git]+", NULL},
    {"git status", "[git][status]", NULL},
    {"git status *", "[git][status]+", NULL},
    {"git * --", "[git][*][--]", NULL},
    {"git log -n*", "[git][log][-n*]", NULL},
    {"git '*'", "[git]+", NULL},
    {"sort 'a b' \"c\"", "[sort][a b][c]", NULL},
    {"/usr/bin/sort", "[/usr/bin/sort]", NULL},
    {"", NULL, "the command is empty"},
    {"''", NULL, "the program of a command is empty"},
    {"*", NULL, "patterns are for its arguments"},
    {"g*t status", NULL, "patterns are for its arguments"},
    {"./git", NULL, "write a bare name, or an absolute path"},
    {"a/b", NULL, "write a bare name, or an absolute path"},
    {"git | sh", NULL, "'|', at byte 5"},
    {"git $X", NULL, "'$', at byte 5"},
    {"git; sh", NULL, "';', at byte 4"},
    {"A=b git", NULL, "begins with 'A='"},
    {"git 'a", NULL, "never closed"},
};

static void test_capability(size_t i, struct arena *arena)
{
    char shown[256] = "";
    struct request request;
    struct err err = {0};

    request_init(&request, BACKEND_WASM);
    int rc =
        request_add_capability(&request, arena, capabilities[i].base, capabilities[i].text, &err);
    if (!capabilities[i].shown) {
        ok(rc == -1 && err.code == ERR_REQUEST && strstr(err.message, capabilities[i].says) &&
               request.n_capabilities == 0,
           "capability '%s' is refused: %s", capabilities[i].text, err.message);
        return;
    }
    if (rc == 0)
        (void) snprintf(shown, sizeof(shown), "%s %s",
                        capability_rows[request.capabilities[0].capability].name,
                        request.capabilities[0].path ? request.capabilities[0].path : "-");
    ok(rc == 0 && strcmp(shown, capabilities[i].shown) == 0, "capability '%s' is '%s'%s",
       capabilities[i].text, shown, err.message);
}

static void show_command(const struct request_command *command, struct buf *into)
{
    int rc = buf_printf(into, "[%s]", command->program);

    for (size_t i = 0; i < command->n_args; i++)
        rc |= buf_printf(into, "[%s]", command->args[i]);
    rc |= buf_add_string(into, command->any_args ? "+" : "");
    if (rc < 0)
        abort();
}

static void test_command(size_t i, struct arena *arena)
{
    _cleanup_(buf_release) struct buf shown = BUF_INIT(4096);
    struct request request;
    struct err err = {0};

    request_init(&request, BACKEND_WASM);
    int rc = request_add_command_text(&request, arena, commands[i].text, &err);
    if (!commands[i].shown) {
        ok(rc == -1 && err.code == ERR_REQUEST && strstr(err.message, commands[i].says) &&
               request.n_commands == 0,
           "command \"%s\" is refused: %s", commands[i].text, err.message);
        return;
    }
    if (rc == 0)
        show_command(&request.commands[0], &shown);
    ok(rc == 0 && strcmp(shown.data, commands[i].shown) == 0, "command \"%s\" is %s%s",
       commands[i].text, shown.data ? shown.data : "", err.message);
}

static void test_twice(struct arena *arena)
{
    struct request request;
    struct err err = {0};

    request_init(&request, BACKEND_WASM);
    ok(request_add_capability(&request, arena, NULL, "fs_read=a", &err) == 0 &&
           request_add_capability(&request, arena, NULL, "fs_read=b", &err) == 0 &&
           request_add_capability(&request, arena, NULL, "fs_read", &err) == 0 &&
           request_add_capability(&request, arena, NULL, "fs_write=a", &err) == 0,
       "a capability may have several paths");
    ok(request_add_capability(&request, arena, NULL, "fs_read=a", &err) == -1 &&
           strstr(err.message, "given twice"),
       "the same path twice is refused: %s", err.message);
    ok(request_add_capability(&request, arena, NULL, "fs_read", &err) == -1 &&
           strstr(err.message, "given twice"),
       "the same without a path twice is refused");
}

static void test_caps(struct arena *arena)
{
    struct request request;
    struct err err = {0};
    char text[32];
    int rc = 0;

    request_init(&request, BACKEND_WASM);
    for (int i = 0; i < REQUEST_MAX_COMMANDS; i++)
        rc |= request_add_command_text(&request, arena, "ls", &err);
    for (int i = 0; i < REQUEST_MAX_CAPABILITIES; i++) {
        (void) snprintf(text, sizeof(text), "fs_read=%d", i);
        rc |= request_add_capability(&request, arena, NULL, text, &err);
    }
    ok(rc == 0, "%d commands and %d capabilities are taken", REQUEST_MAX_COMMANDS,
       REQUEST_MAX_CAPABILITIES);
    ok(request_add_command_text(&request, arena, "ls", &err) == -1 &&
           strstr(err.message, "more than 64 commands"),
       "one command more is refused");
    ok(request_add_capability(&request, arena, NULL, "fs_read=x", &err) == -1 &&
           strstr(err.message, "more than 64 capabilities"),
       "one capability more is refused");
}

static void test_bytes(struct arena *arena)
{
    size_t len = REQUEST_MAX_STRINGS_BYTES / 2;
    char *large = arena_alloc(arena, len + 1);
    struct request request;
    struct err err = {0};
    const char *const args[] = {large};

    if (!large)
        abort();
    memset(large, 'x', len);
    request_init(&request, BACKEND_WASM);
    ok(request_add_command(&request, arena, "ls", args, 1, &err) == 0,
       "a command of 2 MiB is taken");
    ok(request_add_command(&request, arena, "ls", args, 1, &err) == -1 &&
           strstr(err.message, "larger than 4 MiB") && request.n_commands == 1,
       "a second one is above what a request may hold: %s", err.message);
}

static void test_manifest(struct arena *arena)
{
    static const char text[] =
        "{\"kind\":\"wasm-run\",\"module\":\"m.wasm\","
        "\"capabilities\":[\"fs_read=in\",\"exec_run\"],"
        "\"commands\":[\"git status *\",{\"program\":\"sort\",\"args\":[\"-n\",\"*\"]},"
        "{\"program\":\"ls\"}]}";
    _cleanup_(buf_release) struct buf shown = BUF_INIT(4096);
    struct manifest manifest = {.kind = MANIFEST_SAMPLE};
    struct err err = {0};
    int rc = manifest_parse(text, strlen(text), "/m", NULL, NULL, arena, &manifest, &err);
    const struct request *request = &manifest.request;

    if (!ok(rc == 0 && request->n_capabilities == 2 && request->n_commands == 3,
            "a manifest has capabilities and commands%s", err.message))
        return;
    ok(strcmp(request->capabilities[0].path, "/m/in") == 0,
       "a capability's path counts from the manifest's folder");
    for (size_t i = 0; i < 3; i++)
        show_command(&request->commands[i], &shown);
    ok(strcmp(shown.data, "[git][status]+[sort][-n]+[ls]") == 0,
       "commands are texts or objects: %s", shown.data);
}

int main(void)
{
    struct arena *arena = arena_new();

    if (!arena)
        return 1;
    for (size_t i = 0; i < ARRAY_SIZE(capabilities); i++)
        test_capability(i, arena);
    for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
        test_command(i, arena);
    test_twice(arena);
    test_caps(arena);
    test_bytes(arena);
    test_manifest(arena);
    arena_free(arena);
    return done();
}
