#include "plan/need.h"

#include <string.h>

#include "base/cleanup.h"
#include "plan/environment.h"
#include "plan/scope.h"

/* Needs as they are found; there is room for all that the request could have. */
struct finding {
    const struct request *request;
    const struct facts *facts;
    struct arena *arena;
    struct needs needs;
};

static const char *real_path(const struct fact *fact)
{
    return fact && fact->is_known ? fact->real : NULL;
}

/* Adds one whose scope is still to be written; `text` is how the request calls it. */
static int add(struct finding *finding, const struct need *need, const char *text)
{
    struct need *kept = &finding->needs.items[finding->needs.count];

    *kept = *need;
    kept->scope = scope_of(need, text, finding->arena);
    finding->needs.count += kept->scope != NULL;
    return kept->scope ? 0 : -1;
}

static int add_path(struct finding *finding, enum capability capability, const struct fact *fact,
                    const char *text)
{
    const struct need need = {
        .capability = capability, .path = real_path(fact), .asked = fact->asked};

    return add(finding, &need, text);
}

/* An overlay that is applied by itself ends in writing; one that a person applies does not. */
static bool writes(const struct request *request, const struct request_dir *dir)
{
    return dir->access == ACCESS_RW ||
           (dir->access == ACCESS_OVERLAY && request->apply == APPLY_AUTO);
}

static int add_dirs(struct finding *finding)
{
    const struct request *request = finding->request;

    for (size_t i = 0; i < request->n_dirs; i++) {
        const struct request_dir *dir = &request->dirs[i];
        enum capability capability =
            writes(request, dir) ? CAPABILITY_FS_WRITE : CAPABILITY_FS_READ;
        if (!dir->is_own && add_path(finding, capability, &finding->facts->dirs[i], dir->host) < 0)
            return -1;
    }
    return 0;
}

static int add_files(struct finding *finding)
{
    const struct request *request = finding->request;

    if (request->rootfs &&
        add_path(finding, CAPABILITY_FS_READ, &finding->facts->rootfs, request->rootfs) < 0)
        return -1;
    if (request->stdin_kind != STDIN_FILE)
        return 0;
    return add_path(finding, CAPABILITY_FS_READ, &finding->facts->stdin_file, request->stdin_path);
}

static int add_variables(struct finding *finding)
{
    const struct request *request = finding->request;

    for (size_t i = 0; i < request->n_env; i++) {
        size_t len = strcspn(request->env[i], "=");
        const struct need need = {
            .capability = CAPABILITY_ENV_SET,
            .name = arena_strndup(finding->arena, request->env[i], len),
            /* a value of the owner's own environment is no more a matter of prefixes than a hook */
            .must_be_named = environment_is_hook(request->env[i], len) ||
                             request_is_secret(request, request->env[i]),
        };
        if (!need.name || add(finding, &need, need.name) < 0)
            return -1;
    }
    return 0;
}

static int add_network(struct finding *finding)
{
    const struct need need = {.capability = CAPABILITY_NET_HTTP, .is_loopback = true};

    return finding->request->network == NETWORK_LOOPBACK ? add(finding, &need, "") : 0;
}

static int add_program(struct finding *finding)
{
    const struct request *request = finding->request;
    const struct fact *fact = &finding->facts->program;
    const struct need need = {
        .capability = CAPABILITY_EXEC_RUN,
        .program = real_path(fact),
        .program_id = fact->id,
        .program_name = request->program,
        .args = request->args,
        .n_args = request->n_args,
    };

    if (request->backend != BACKEND_NATIVE || request->language)
        return 0;
    return add(finding, &need, request->program);
}

static int add_code(struct finding *finding)
{
    const struct request *request = finding->request;
    const struct facts *facts = finding->facts;
    struct need need = {.capability = CAPABILITY_CODE_RUN, .name = request->language};

    if (!request->language) {
        if (request->backend != BACKEND_WASM || request->module_bytes || request->module_is_own)
            return 0;
        need.path = real_path(&facts->module);
        need.has_sha256 = facts->has_module_sha256;
        need.sha256 = facts->module_sha256;
    }
    return add(finding, &need, request->module);
}

/* What the door may reach of the request's own directories, the directories' needs cover. */
static int add_capabilities(struct finding *finding)
{
    const struct request *request = finding->request;

    for (size_t i = 0; i < request->n_capabilities; i++) {
        const struct request_capability *one = &request->capabilities[i];
        const struct need need = {.capability = one->capability,
                                  .path = real_path(&finding->facts->paths[i]),
                                  .asked = finding->facts->paths[i].asked,
                                  .is_door = true};
        if (one->path && add(finding, &need, one->path) < 0)
            return -1;
    }
    return 0;
}

static int add_commands(struct finding *finding)
{
    const struct request *request = finding->request;

    for (size_t i = 0; i < request->n_commands; i++) {
        const struct request_command *command = &request->commands[i];
        const struct fact *fact = &finding->facts->commands[i];
        const struct need need = {
            .capability = CAPABILITY_EXEC_RUN,
            .program = real_path(fact),
            .program_id = fact->id,
            .program_name = command->program,
            .args = command->args,
            .n_args = command->n_args,
            .is_door = true,
            .has_patterns = true,
            .any_args = command->any_args,
        };
        if (add(finding, &need, command->program) < 0)
            return -1;
    }
    return 0;
}

int needs_of(const struct request *request, const struct facts *facts, struct arena *arena,
             struct needs *ret_needs, struct err *err)
{
    static int (*const steps[])(struct finding * finding) = {
        add_dirs,    add_files, add_variables,    add_network,
        add_program, add_code,  add_capabilities, add_commands,
    };
    size_t room = request->n_dirs + 2 /* root, stdin */ + request->n_env + 3 /* network, program,
                  code */
                  + request->n_capabilities + request->n_commands;
    struct finding finding = {
        request, facts, arena, {arena_array(arena, room, sizeof(struct need)), 0}};

    if (!finding.needs.items)
        return err_no_memory(err);
    for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
        if (steps[i](&finding) < 0)
            return err_no_memory(err);
    *ret_needs = finding.needs;
    return 0;
}
