#include "gate/service.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "plan/match.h"
#include "plan/scope.h"
#include "run/facts.h"

/* ---- judging --------------------------------------------------------------------------------- */

/* The request's own command that it is, or NULL. */
static const struct request_command *find_command(const struct service *service,
                                                  const struct fact *program,
                                                  const char *const *args, size_t n_args)
{
    for (size_t i = 0; i < service->request->n_commands; i++) {
        const struct request_command *command = &service->request->commands[i];
        const struct rule rule = {
            .program_id = service->commands[i].id,
            .has_program_id = service->commands[i].is_known,
            .args = command->args,
            .n_args = command->n_args,
            .any_args = command->any_args,
        };
        if (match_program(&rule, &program->id, args, n_args))
            return command;
    }
    return NULL;
}

/* By the file, and it is run by the name that the command has: not by a link of the guest's. */
static int name_program(const struct service *service, const struct broker_use *use,
                        const struct fact *program, const char **ret_program, struct err *err)
{
    const struct request_command *command;

    if (service->any_command) {
        *ret_program = use->argv[0];
        return 0;
    }
    command = find_command(service, program, use->argv + 1, use->n_argv - 1);
    if (!command) {
        (void) err_set(err, ERR_DENIED, "'%s' with these arguments is none of the run's commands",
                       use->argv[0]); /* -1, as below */
        return err_hint(err, "whoever starts the run can name it: --command");
    }
    *ret_program = command->program;
    return 0;
}

static int check_exec(struct service *service, const struct broker_use *use,
                      const char **ret_program, struct err *err)
{
    const char *const *args = use->argv + 1;
    size_t n_args = use->n_argv - 1;
    struct fact program;

    if (fact_of_program(use->argv[0], service->arena, &program, err) < 0)
        return -1;
    service->program = program;
    if (!program.is_known)
        return err_set(err, ERR_NOT_FOUND, "there is no program '%s'", use->argv[0]);
    if (name_program(service, use, &program, ret_program, err) < 0)
        return -1;
    struct need need = {
        .capability = CAPABILITY_EXEC_RUN,
        .program = program.real,
        .program_id = program.id,
        .program_name = use->argv[0],
        .args = args,
        .n_args = n_args,
    };
    need.scope = scope_of(&need, program.real, service->arena);
    if (!need.scope)
        return err_no_memory(err);
    return gate_check(service->gate, &need, err);
}

/* The file lies beneath a scope already; is one of those for this? */
static int check_scope(const struct service *service, const struct broker_use *use, struct err *err)
{
    for (size_t i = 0; i < service->broker.n_scopes; i++)
        if (service->is_for[i][use->capability] &&
            scope_path_covers(service->scopes[i].path, use->path))
            return 0;
    return err_set(err, ERR_DENIED, "the run has no capability '%s' there",
                   capability_rows[use->capability].name);
}

static int check(void *data, const struct broker_use *use, const char **ret_program,
                 struct err *err)
{
    struct service *service = data;

    if (use->capability == CAPABILITY_EXEC_RUN)
        return check_exec(service, use, ret_program, err);
    if (check_scope(service, use, err) < 0)
        return -1;
    const struct need need = {.capability = use->capability, .scope = use->path, .path = use->path};
    return gate_check(service->gate, &need, err);
}

/* ---- running --------------------------------------------------------------------------------- */

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/*
 * What is left of the run that asks; what only a native cell has is at its default. Output is what
 * fits into an answer.
 */
static int bound(const struct service *service, const struct broker_exec *exec,
                 struct request *request, struct err *err)
{
    uint64_t now = clock_monotonic_ns();
    uint64_t *value = request->limits.value;
    const uint64_t *outer = service->request->limits.value;

    if (service->deadline_ns <= now)
        return err_set(err, ERR_DENIED, "no time is left for another program");
    value[LIMIT_WALL] = least(value[LIMIT_WALL], service->deadline_ns - now);
    if (exec->timeout_ms > 0 && exec->timeout_ms < UINT64_MAX / NS_PER_MS)
        value[LIMIT_WALL] = least(value[LIMIT_WALL], exec->timeout_ms * NS_PER_MS);
    value[LIMIT_CPU] = least(value[LIMIT_CPU], service->cpu_ns);
    value[LIMIT_OUTPUT] = least(BROKER_EXEC_OUTPUT, outer[LIMIT_OUTPUT]);
    return 0;
}

static int make_request(const struct service *service, const struct broker_exec *exec,
                        struct arena *arena, struct request *request, struct err *err)
{
    const struct request *outer = service->request;
    struct clamp clamps[LIMIT_COUNT];
    size_t n_clamps;

    request_init(request, BACKEND_NATIVE);
    if (request_set_program(request, arena, exec->program, err) < 0)
        return -1;
    for (size_t i = 0; i < exec->n_args; i++)
        if (request_add_arg(request, arena, exec->args[i], err) < 0)
            return -1;
    for (size_t i = 0; i < outer->n_dirs; i++) {
        const struct request_dir *dir = &outer->dirs[i];
        const char *guest = request_check_place(dir->guest, err) == 0 ? dir->guest : NULL;
        if (request_add_dir(request, arena, NULL, dir->host, guest, dir->access, err) < 0)
            return -1;
        request->dirs[i].is_judged = dir->is_judged;
        request->dirs[i].judged = dir->judged;
    }
    if (exec->cwd && request_set_cwd(request, arena, exec->cwd, err) < 0)
        return -1;
    if (exec->stdin_text) {
        request->stdin_kind = STDIN_BYTES;
        request->stdin_bytes = exec->stdin_text;
        request->stdin_len = strlen(exec->stdin_text);
    }
    request->judged_program = service->program.id;
    request->unprotected = outer->unprotected;
    request->n_unprotected = outer->n_unprotected;
    request->isolation = outer->isolation;
    request->isolation_given = outer->isolation_given;
    if (decide_bounds(&service->gate->authority, request, clamps, &n_clamps, err) < 0 ||
        bound(service, exec, request, err) < 0)
        return -1;
    return request_check(request, err);
}

static void write_stream(struct json_writer *json, const char *key, const struct capture *capture)
{
    json_key(json, key);
    json_put_text(json, capture->kept.data ? capture->kept.data : "", capture->kept.len);
}

static int write_answer(const struct result *result, struct buf *answer)
{
    struct json_writer json;

    json_writer_init_buf(&json, answer);
    json_open_object(&json);
    json_key(&json, "exit_code");
    if (result->has_exit_code)
        json_put_uint(&json, result->exit_code);
    else
        json_put_null(&json);
    json_key(&json, "reason");
    json_put_string(&json, reason_name(result->reason));
    write_stream(&json, "stdout", &result->stdout_capture);
    write_stream(&json, "stderr", &result->stderr_capture);
    json_key(&json, "truncated");
    json_put_bool(&json, result->stdout_capture.truncated || result->stderr_capture.truncated);
    json_key(&json, "execution_time_ms");
    json_put_uint(&json, result->wall_ns / NS_PER_MS);
    if (result->err.code != ERR_NONE) {
        json_key(&json, "message");
        json_put_string(&json, result->err.message);
    }
    json_close_object(&json);
    return json_finish(&json);
}

/* A signal that ended the program was meant for the whole run: it is sent on to ourselves. */
static void pass_signal(const struct result *result)
{
    if (result->reason == REASON_CANCELLED && result->signal != 0)
        (void) kill(getpid(), result->signal); /* blocked: the run's supervisor reads it */
}

static int run(void *data, const struct broker_exec *exec, struct buf *answer, struct err *err)
{
    struct service *service = data;
    _cleanup_(result_release) struct result result;
    const struct observer observer = {.data = service->observer.data,
                                      .tick = service->observer.tick,
                                      .guard = gate_guard(service->gate)};
    struct arena *arena = arena_new();
    struct request request;

    result_init(&result, BROKER_EXEC_OUTPUT);
    if (!arena)
        return err_no_memory(err);
    int rc = make_request(service, exec, arena, &request, err);
    if (rc == 0) {
        run_request(&request, service->gate->places, &observer, arena, &result);
        if (service->cpu_ns != UNITS_UNLIMITED)
            service->cpu_ns = result.cpu_ns < service->cpu_ns ? service->cpu_ns - result.cpu_ns : 1;
        pass_signal(&result);
        if (result.reason == REASON_DENIED && result.started) { /* what it rested on is gone */
            *err = result.err;
            arena_free(arena);
            return -1;
        }
        rc = write_answer(&result, answer);
        if (rc < 0)
            (void) err_set(err, ERR_HOST, "the answer is too long"); /* always -1 */
    }
    arena_free(arena);
    return rc;
}

/* ---- what there is --------------------------------------------------------------------------- */

static int serve(void *data, const struct door_request *request, struct buf *answer,
                 struct tell_denial *ret_denial)
{
    struct service *service = data;
    struct arena *arena = service->arena, *gate_arena = service->gate->arena;

    /* what a call takes goes with it: a guest may make a hundred thousand */
    service->arena = service->gate->arena = arena_new();
    service->deadline_ns = request->deadline_ns;
    int rc = service->arena ? broker_call(&service->broker, request->call, request->json,
                                          request->len, answer, ret_denial)
                            : -1;
    arena_free(service->arena);
    service->arena = arena;
    service->gate->arena = gate_arena;
    return rc;
}

static void init(struct service *service, struct gate *gate, const struct request *request,
                 struct arena *arena)
{
    struct own own;
    struct stat st;

    *service = (struct service){
        .gate = gate,
        .request = request,
        .arena = arena,
        .quota = {.disk_bytes = request->limits.value[LIMIT_DISK],
                  .file_bytes = request->limits.value[LIMIT_FILE]},
        .deadline_ns = UINT64_MAX,
        .cpu_ns = request->limits.value[LIMIT_CPU],
    };
    service->broker = (struct broker){
        .scopes = service->scopes,
        .own = service->own,
        .unprotected = request->unprotected,
        .quota = &service->quota,
        .data = service,
        .check = check,
        .run = run,
    };
    own_init(&own, gate->places);
    for (size_t i = 0; i < OWN_FOLDERS; i++) /* one that is not there holds nothing */
        if (own.folders[i].path && stat(own.folders[i].path, &st) == 0)
            service->own[service->broker.n_own++] =
                (struct file_id){.dev = st.st_dev, .ino = st.st_ino};
    service->door = (struct door_service){.data = service, .serve = serve};
}

static int add_scope(struct service *service, const char *path, const struct file_id *judged,
                     enum capability capability, struct err *err)
{
    bool writes = capability == CAPABILITY_FS_WRITE;
    struct broker *broker = &service->broker;
    struct fact fact;

    if (broker->n_scopes == SERVICE_MAX_SCOPES)
        return err_set(err, ERR_REQUEST, "more than %d paths are granted", SERVICE_MAX_SCOPES);
    _cleanup_fd_ int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_sys(err, ERR_REQUEST, "cannot open the directory '%s'", path);
    if (fact_of_fd(fd, service->arena, &fact, err) < 0)
        return -1;
    if (!fact.is_known || (judged && (judged->dev != fact.id.dev || judged->ino != fact.id.ino)))
        return err_set(err, ERR_DENIED, "'%s' is not what it was when the policy judged it", path);
    service->is_for[broker->n_scopes][capability] = true;
    service->scopes[broker->n_scopes++] =
        (struct broker_scope){.path = fact.real, .fd = take_fd(&fd), .writable = writes};
    return 0;
}

static int add_capability(struct service *service, size_t index, struct err *err)
{
    const struct request *request = service->request;
    const struct request_capability *asked = &request->capabilities[index];
    const struct fact *paths = service->gate->facts.paths;
    bool writes = asked->capability == CAPABILITY_FS_WRITE;

    service->broker.has[asked->capability] = true;
    if (asked->capability == CAPABILITY_EXEC_RUN)
        return 0;
    if (asked->path)
        return add_scope(service, asked->path, paths ? &paths[index].id : NULL, asked->capability,
                         err);
    for (size_t i = 0; i < request->n_dirs; i++) {
        const struct request_dir *dir = &request->dirs[i];
        if ((!writes || dir->access == ACCESS_RW) &&
            add_scope(service, dir->host, dir->is_judged ? &dir->judged : NULL, asked->capability,
                      err) < 0)
            return -1;
    }
    return 0;
}

int service_open(struct service *service, struct gate *gate, const struct request *request,
                 const struct observer *observer, struct arena *arena, struct err *err)
{
    init(service, gate, request, arena);
    service->observer = *observer;
    service->commands = arena_array(arena, request->n_commands + 1, sizeof(*service->commands));
    if (!service->commands)
        return err_no_memory(err);
    for (size_t i = 0; i < request->n_commands; i++)
        if (fact_of_program(request->commands[i].program, arena, &service->commands[i], err) < 0)
            return -1;
    for (size_t i = 0; i < request->n_capabilities; i++)
        if (add_capability(service, i, err) < 0)
            return -1;
    return 0;
}

int service_open_call(struct service *service, struct gate *gate, const struct request *request,
                      struct arena *arena, struct err *err)
{
    uint64_t wall_ns = request->limits.value[LIMIT_WALL];
    uint64_t now = clock_monotonic_ns();

    init(service, gate, request, arena);
    service->any_command = true;
    service->deadline_ns = wall_ns < UINT64_MAX - now ? now + wall_ns : UINT64_MAX;
    service->broker.has[CAPABILITY_FS_READ] = true;
    service->broker.has[CAPABILITY_FS_WRITE] = true;
    service->broker.has[CAPABILITY_EXEC_RUN] = true;
    if (add_scope(service, "/", NULL, CAPABILITY_FS_WRITE, err) < 0)
        return -1;
    service->is_for[0][CAPABILITY_FS_READ] = true;
    return 0;
}

void service_release(struct service *service)
{
    for (size_t i = 0; i < service->broker.n_scopes; i++)
        cleanup_fd(&service->scopes[i].fd);
    service->broker.n_scopes = 0;
}
