#include "run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "run/backend.h"
#include "run/judge.h"
#include "run/pipes.h"

static const struct backend_row *const backends[BACKENDS] = {
    [BACKEND_WASM] = &backend_wasm,
    [BACKEND_NATIVE] = &backend_native,
};

void job_mark(struct job *job, const char *name)
{
    uint64_t now = clock_monotonic_ns();
    struct result *result = job->result;
    if (result->n_timings < RESULT_MAX_TIMINGS)
        result->timings[result->n_timings++] =
            (struct timing){.name = name, .us = (now - job->mark_ns) / NS_PER_US};
    job->mark_ns = now;
}

/* ---- the guest's stdin ----------------------------------------------------------------------- */

static int open_stdin(const struct request *request, struct feed *feed, int *ret_source,
                      struct err *err)
{
    feed->source = -1;
    switch (request->stdin_kind) {
    case STDIN_NONE:
        break;
    case STDIN_INHERIT:
        feed->source = STDIN_FILENO;
        break;
    case STDIN_BYTES:
        feed->bytes = request->stdin_bytes;
        feed->len = request->stdin_len;
        break;
    case STDIN_FILE: {
        struct stat st;
        int fd = open(request->stdin_path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        if (fd < 0)
            return err_sys(err, ERR_REQUEST, "cannot open '%s' for the guest's stdin",
                           request->stdin_path);
        *ret_source = feed->source = fd;
        if (fstat(fd, &st) < 0 || S_ISDIR(st.st_mode))
            return err_set(err, ERR_REQUEST,
                           "cannot read the guest's stdin from '%s': it is a directory",
                           request->stdin_path);
        if (request->is_judged &&
            (request->judged_stdin.dev != st.st_dev || request->judged_stdin.ino != st.st_ino))
            return grants_changed(request->stdin_path, err);
        break;
    }
    }
    return 0;
}

/* ---- the cell -------------------------------------------------------------------------------- */

static int make_plan(struct job *job, struct plan *ret_plan, struct err *err)
{
    const struct request *request = job->request;
    uint64_t wall = request->limits.value[LIMIT_WALL];
    const char **args = arena_array(job->arena, request->n_args + 2, sizeof(*args));
    if (args == NULL)
        return err_no_memory(err);
    for (size_t i = 0; i < request->n_args; i++)
        args[i + 1] = request->args[i];
    *ret_plan = (struct plan){
        .job = job->backend->job,
        .isolation = request->isolation,
        .identity = job->grants.identity,
        .uid = job->grants.uid,
        .gid = job->grants.gid,
        .limits = request->limits,
        .deadline_ns = wall == UNITS_UNLIMITED ? UINT64_MAX : clock_monotonic_ns() + wall,
        .args = args,
        .n_args = request->n_args + 1,
        .grants = job->grants.planned,
        .n_grants = job->grants.count,
        .unprotected = request->unprotected,
        .n_unprotected = request->n_unprotected,
    };
    return 0;
}

int job_start_cell(struct job *job, struct err *err)
{
    struct child_program program = {
        .dir = job->places->program_dir,
        .name = job->backend->program,
        .is_native = job->backend->job == JOB_NATIVE,
        .isolation = job->request->isolation,
        .identity = job->grants.identity,
        .uid = job->grants.uid,
        .gid = job->grants.gid,
        .host_uid = job->grants.host_uid,
        .cgroup = job->native.cgroup.kind == CGROUP_V2 ? job->native.cgroup.folders[0] : -1,
    };
#ifdef WASP_TEST_HOOKS
    if (job->places->test_cell != NULL)
        program.name = job->places->test_cell;
    program.without = job->places->test_without;
#endif
    if (child_start(&program, &job->child, err) < 0)
        return -1;
    job_mark(job, "start");
    return 0;
}

static int watch_cell(struct job *job, const struct plan *plan, struct pipes *pipes,
                      struct feed *feed, struct door *door, struct err *err)
{
    struct result *result = job->result;
    struct watch *watch = &job->watch;
    uint64_t start = clock_monotonic_ns();
    feed->fd = pipes->ours[0];
    feed->awaits_terminal = plan->native.tty;
    *watch = (struct watch){
        .child = &job->child,
        .out = {.fd = pipes->ours[1], .capture = &result->stdout_capture, .sink = -1},
        .err = {.fd = pipes->ours[2], .capture = &result->stderr_capture, .sink = -1},
        .feed = feed,
        .deadline_ns = plan->deadline_ns,
        .meter = watch->meter,
        .forwards_signals = plan->job == JOB_NATIVE,
        .ends_by_itself = plan->job == JOB_NATIVE && plan->isolation == ISOLATION_LANDLOCK,
        .output_kills = job->request->output_kills,
        .observer = job->observer,
        .secrets = job->request->secrets,
        .handles = watch->handles,
        .door = door,
    };
    redactor_init(&watch->out.redactor, watch->secrets, false);
    redactor_init(&watch->err.redactor, watch->secrets, false);
    int rc = supervise(watch, job->arena, err);
    redactor_release(&watch->out.redactor);
    redactor_release(&watch->err.redactor);
    pipes->ours[0] = feed->fd; /* closed or not, as the loop left them */
    pipes->ours[1] = watch->out.fd;
    pipes->ours[2] = watch->err.fd;
    child_release(&job->child);
    if (rc < 0)
        return -1;
    judge(watch, start, result);
    job_mark(job, "cell");
    return 0;
}

/* Only for a guest that may ask for something, and if there is somebody who answers. */
static int open_door(const struct job *job, struct plan *plan, struct door *door, int *ret_cell,
                     struct err *err)
{
    plan->has_door = plan->job == JOB_WASM && job->request->n_capabilities > 0 &&
                     job->observer != NULL && job->observer->door != NULL;
    return plan->has_door ? door_open(door, job->observer->door, ret_cell, err) : 0;
}

int job_run_cell(struct job *job, struct err *err)
{
    _cleanup_(door_release) struct door door = DOOR_NONE;
    _cleanup_fd_ int cell_door = -1;
    _cleanup_(pipes_release) struct pipes pipes;
    _cleanup_fd_ int source = -1;
    struct feed feed = {.source = -1};
    struct plan plan;
    pipes_init(&pipes);
    if (pipes_open(&pipes, err) < 0 ||
        (job->grants.identity == IDENTITY_RANGE && job->backend->job == JOB_NATIVE &&
         pipes_give(&pipes, job->grants.host_uid, err) < 0) ||
        open_stdin(job->request, &feed, &source, err) < 0 || make_plan(job, &plan, err) < 0 ||
        open_door(job, &plan, &door, &cell_door, err) < 0)
        return -1;
    struct child_load load = {
        .plan = &plan,
        .streams = {pipes.cell[0], pipes.cell[1], pipes.cell[2]},
        .code = -1,
        .door = cell_door,
        .rootfs = -1,
        .grants = job->grants.fds,
        .n_grants = job->grants.n_fds,
    };
    job->watch.meter = (struct meter){.cpu_ns = plan.limits.value[LIMIT_CPU], .threads = 1};
    job->backend->plan(job, &plan, &load);
    if (child_load(&job->child, &load, err) < 0)
        return -1;
    pipes_close_cell(&pipes);
    cleanup_fd(&cell_door);
    cell_door = -1;
    job_mark(job, "load");
    if (job->backend->go != NULL && job->backend->go(job, err) < 0)
        return -1;
    return watch_cell(job, &plan, &pipes, &feed, &door, err);
}

static int run_job(struct job *job, struct err *err)
{
    if (job->backend->check(job, err) < 0 ||
        grants_choose(job->request, job->places, &job->grants, err) < 0 ||
        job_start_cell(job, err) < 0)
        return -1;
    if (job->backend->prepare(job, err) < 0 || job_run_cell(job, err) < 0)
        return -1;
    return job->backend->finish(job, err);
}

void run_request(const struct request *request, const struct places *places,
                 const struct observer *observer, struct arena *arena, struct result *result)
{
    struct err err = {.code = ERR_NONE};
    struct job job = {
        .request = request,
        .places = places,
        .observer = observer,
        .arena = arena,
        .result = result,
        .backend = backends[request->backend],
        .grants = {.uid_lock = -1},
        .child = CHILD_NONE,
        .watch.handles = {.terminal = -1},
        .mark_ns = clock_monotonic_ns(),
        .wasm = {.cache = {.code = -1, .memo = -1, .temp = -1},
                 .module = {.file = -1, .bytes = -1},
                 .code = -1},
        .native = {.cgroup = CGROUP_INIT, .rootfs = -1},
    };
    result->backend = job.backend->name;
    result->isolation = request->isolation == ISOLATION_FULL ? "full" : "landlock";
    if (run_job(&job, &err) < 0) {
        if (job.signal == 0)
            result_fail(result, &err);
        else {
            result->reason = REASON_CANCELLED;
            result->signal = job.signal;
        }
    }
    child_release(&job.child);
    cleanup_fd(&job.watch.handles.terminal);
    grants_release(&job.grants);
    job.backend->end(&job);
}

int run_sweep(const struct places *places, struct err *err)
{
    struct cache cache;
    if (cache_open(places, &cache, err) < 0)
        return -1;
    int removed = cache_sweep(&cache) + cache_evict(&cache) + cgroup_sweep(0);
    cache_release(&cache);
    return removed;
}
