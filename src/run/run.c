#include "run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "run/cache.h"
#include "run/compile.h"
#include "run/grants.h"
#include "run/module.h"
#include "run/pipes.h"
#include "run/supervise.h"

/* One run and all it holds. */
struct job {
    const struct request *request;
    const struct places *places;
    const struct observer *observer;
    struct arena *arena;
    struct result *result;
    struct cache cache;
    struct module module;
    struct grants grants;
    struct child child; /* the cell; started early, loaded when everything is at hand */
    struct digest key;
    int code;
    uint64_t mark_ns; /* for the timings: when the last stage ended */
    int signal;       /* a signal to us ended the compiler */
};

static void mark(struct job *job, const char *name)
{
    uint64_t now = clock_monotonic_ns();
    struct result *result = job->result;
    if (result->n_timings < RESULT_MAX_TIMINGS)
        result->timings[result->n_timings++] =
            (struct timing){.name = name, .us = (now - job->mark_ns) / NS_PER_US};
    job->mark_ns = now;
}

/* ---- the code -------------------------------------------------------------------------------- */

static void note_cache_error(struct job *job, const struct err *err)
{
    struct result *result = job->result;
    size_t len = strnlen(err->message, sizeof(result->cache_error) - 1);
    memcpy(result->cache_error, err->message, len);
    result->cache_error[len] = '\0';
}

static int check_pin(const struct job *job, struct err *err)
{
    struct digest pin;
    char hex[DIGEST_HEX];
    const char *wanted = job->request->module_sha256;
    if (wanted == NULL)
        return 0;
    if (digest_from_hex(wanted, &pin) && digest_equal(&pin, &job->module.digest))
        return 0;
    digest_hex(&job->module.digest, hex);
    (void) err_set(err, ERR_PIN, "the module's SHA-256 is %s, pinned is %s", hex, wanted);
    return err_hint(err, "if this is the module you want, pin this digest (a runtime: add it again "
                         "with --replace)");
}

static int identify_module(struct job *job, struct err *err)
{
    struct err cache_err;
    if (!job->request->no_cache) {
        if (cache_open(job->places, &job->cache, &cache_err) < 0)
            note_cache_error(job, &cache_err);
        (void) cache_sweep(&job->cache); /* how many went is of interest to `wasp gc` alone */
    }
    if (module_digest(&job->module, &job->cache, err) < 0)
        return -1;
    job->result->has_module = true;
    job->result->module_sha256 = job->module.digest;
    mark(job, "module");
    return check_pin(job, err);
}

static int compile(struct job *job, struct err *err)
{
    struct err cache_err;
    if (compile_module(job->request, job->places, &job->grants, &job->module, job->observer,
                       job->arena, &job->code, &job->result->compile_ns, &job->signal, err) < 0)
        return -1;
    if (cache_keep(&job->cache, &job->key, job->code, &cache_err) < 0)
        note_cache_error(job, &cache_err);
    job->result->module_cached = false;
    mark(job, "compile");
    return 0;
}

static int find_code(struct job *job, struct err *err)
{
    struct cache_settings settings = {
        .use_fuel = job->request->limits.value[LIMIT_FUEL] != UNITS_UNLIMITED,
        .pulley = job->request->pulley,
    };
    cache_key(&job->module.digest, &settings, &job->key);
    job->code = cache_find(&job->cache, &job->key);
    job->result->module_cached = job->code >= 0;
    mark(job, "cache");
    return job->code >= 0 ? 0 : compile(job, err);
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
        return err_set(err, ERR_HOST, "no memory for %zu arguments", request->n_args);
    args[0] = request->argv0 ? request->argv0 : request->module;
    for (size_t i = 0; i < request->n_args; i++)
        args[i + 1] = request->args[i];
    *ret_plan = (struct plan){
        .job = JOB_WASM,
        .isolation = request->isolation,
        .identity = job->grants.identity,
        .uid = CELL_UID,
        .gid = CELL_UID,
        .limits = request->limits,
        .deadline_ns = wall == UNITS_UNLIMITED ? UINT64_MAX : clock_monotonic_ns() + wall,
        .use_fuel = request->limits.value[LIMIT_FUEL] != UNITS_UNLIMITED,
        .pulley = request->pulley,
        .args = args,
        .n_args = request->n_args + 1,
        .env = request->env,
        .n_env = request->n_env,
        .grants = job->grants.planned,
        .n_grants = job->grants.count,
    };
    return 0;
}

static int start_cell(struct job *job, struct err *err)
{
    struct child_program program = {
        .dir = job->places->program_dir,
        .name = "wasp-cell-wasm",
        .isolation = job->request->isolation,
        .identity = job->grants.identity,
        .host_uid = job->grants.host_uid,
    };
#ifdef WASP_TEST_HOOKS
    if (job->places->test_cell != NULL)
        program.name = job->places->test_cell;
    program.without = job->places->test_without;
#endif
    if (child_start(&program, &job->child, err) < 0)
        return -1;
    mark(job, "start");
    return 0;
}

static void take_usage(const struct watch *watch, uint64_t start_ns, struct result *result)
{
    const struct timeval *user = &watch->usage.ru_utime, *system = &watch->usage.ru_stime;
    result->wall_ns = clock_monotonic_ns() - start_ns;
    result->cpu_ns = (uint64_t) (user->tv_sec + system->tv_sec) * NS_PER_S +
                     (uint64_t) (user->tv_usec + system->tv_usec) * NS_PER_US;
    result->max_rss_bytes = (uint64_t) watch->usage.ru_maxrss * 1024;
    result->started = watch->ready_heard;
    result->ready = watch->ready;
    result->done_heard = watch->done_heard;
    result->done = watch->done;
    result->denials = watch->denials;
    result->n_denials = watch->n_denials;
}

static void judge_done(const struct tell_done *done, struct result *result)
{
    switch ((enum done_kind) done->kind) {
    case DONE_RETURNED:
    case DONE_EXITED:
        result->reason = REASON_EXITED;
        result->has_exit_code = true;
        result->exit_code = done->kind == DONE_EXITED ? done->exit_code : 0;
        return;
    case DONE_TRAPPED:
        result->reason = REASON_TRAP;
        return;
    case DONE_FUEL:
        result->reason = REASON_FUEL_LIMIT;
        return;
    case DONE_SIGNALLED:
        result->reason = REASON_SIGNAL;
        result->signal = (int) (done->exit_code & 0x7f);
        return;
    }
    result->reason = REASON_BACKEND_ERROR;
    (void) err_set(&result->err, ERR_BACKEND, "the runner gave an answer that is none");
}

/* It said nothing and is gone: by a signal of its own making or the kernel's. */
static void judge_silence(const struct watch *watch, uint64_t cpu_limit_ns, struct result *result)
{
    int signal = WIFSIGNALED(watch->status) ? WTERMSIG(watch->status) : 0;
    if (signal != 0 && result->cpu_ns >= cpu_limit_ns) {
        result->reason = REASON_CPU_LIMIT; /* the kernel's own limit was quicker than our watch */
        return;
    }
    if (signal != 0 && watch->ready_heard) {
        result->reason = REASON_SIGNAL;
        result->signal = signal;
        return;
    }
    result->reason = REASON_BACKEND_ERROR;
    (void) err_set(&result->err, ERR_BACKEND, "the cell ended without a word (wait status 0x%x)",
                   (unsigned int) watch->status);
}

static void judge(const struct watch *watch, uint64_t cpu_limit_ns, struct result *result)
{
    static const enum reason reasons[] = {
        [ENDED_WALL] = REASON_TIMEOUT,
        [ENDED_CPU] = REASON_CPU_LIMIT,
        [ENDED_OUTPUT] = REASON_OUTPUT_LIMIT,
        [ENDED_SIGNAL] = REASON_CANCELLED,
    };
    /* done before our kill reached it: it ended by itself */
    if (watch->done_heard)
        judge_done(&watch->done, result);
    else if (watch->ended != ENDED_BY_ITSELF)
        result->reason = reasons[watch->ended];
    else if (watch->failed_heard)
        result_fail(result, &watch->failed);
    else
        judge_silence(watch, cpu_limit_ns, result);
    if (result->reason == REASON_CANCELLED)
        result->signal = watch->signal;
}

static int watch_cell(struct job *job, const struct plan *plan, struct pipes *pipes,
                      struct feed *feed, struct err *err)
{
    struct result *result = job->result;
    uint64_t start = clock_monotonic_ns();
    struct child_load load = {
        .plan = plan,
        .streams = {pipes->cell[0], pipes->cell[1], pipes->cell[2]},
        .code = job->code,
        .grants = job->grants.fds,
        .n_grants = job->grants.n_fds,
    };
    if (child_load(&job->child, &load, err) < 0)
        return -1;
    pipes_close_cell(pipes);
    mark(job, "load");
    feed->fd = pipes->ours[0];
    struct watch watch = {
        .child = &job->child,
        .out = {.fd = pipes->ours[1], .capture = &result->stdout_capture, .sink = -1},
        .err = {.fd = pipes->ours[2], .capture = &result->stderr_capture, .sink = -1},
        .feed = feed,
        .deadline_ns = plan->deadline_ns,
        .cpu_ns = plan->limits.value[LIMIT_CPU],
        .threads = 1,
        .output_kills = job->request->output_kills,
        .observer = job->observer,
    };
    int rc = supervise(&watch, job->arena, err);
    pipes->ours[0] = feed->fd; /* closed or not, as the loop left them */
    pipes->ours[1] = watch.out.fd;
    pipes->ours[2] = watch.err.fd;
    child_release(&job->child);
    if (rc < 0)
        return -1;
    take_usage(&watch, start, result);
    judge(&watch, plan->limits.value[LIMIT_CPU], result);
    mark(job, "cell");
    return 0;
}

static int run_cell(struct job *job, struct err *err)
{
    _cleanup_(pipes_release) struct pipes pipes;
    _cleanup_fd_ int source = -1;
    struct feed feed = {.source = -1};
    struct plan plan;
    pipes_init(&pipes);
    if (pipes_open(&pipes, err) < 0 || open_stdin(job->request, &feed, &source, err) < 0 ||
        make_plan(job, &plan, err) < 0)
        return -1;
    return watch_cell(job, &plan, &pipes, &feed, err);
}

/*
 * Code that passed every check but does not load here (another CPU behind the same features):
 * compile anew, once.
 */
static int run_again_if_stale(struct job *job, struct err *err)
{
    struct result *result = job->result;
    if (result->err.code != ERR_STALE_CODE || !result->module_cached || result->started)
        return 0; /* once guest code may have run, there is no second time */
    cache_forget(&job->cache, &job->key);
    memset(&result->err, 0, sizeof(result->err));
    (void) close(take_fd(&job->code)); /* only read from */
    if (compile(job, err) < 0 || start_cell(job, err) < 0)
        return -1;
    return run_cell(job, err);
}

static int run_job(struct job *job, struct err *err)
{
    if (module_open(job->request, &job->module, err) < 0 ||
        grants_choose(job->request, job->places, &job->grants, err) < 0 || start_cell(job, err) < 0)
        return -1;
    if (identify_module(job, err) < 0 ||
        grants_open(&job->grants, job->request, job->places, job->arena, err) < 0)
        return -1;
    mark(job, "grants");
    if (find_code(job, err) < 0 || run_cell(job, err) < 0)
        return -1;
    return run_again_if_stale(job, err);
}

void run_wasm(const struct request *request, const struct places *places,
              const struct observer *observer, struct arena *arena, struct result *result)
{
    struct err err = {.code = ERR_NONE};
    struct job job = {
        .request = request,
        .places = places,
        .observer = observer,
        .arena = arena,
        .result = result,
        .cache = {.code = -1, .memo = -1, .temp = -1},
        .module = {.file = -1, .bytes = -1},
        .grants = {.uid_lock = -1},
        .child = CHILD_NONE,
        .code = -1,
        .mark_ns = clock_monotonic_ns(),
    };
    result->backend = "wasm";
    result->isolation = request->isolation == ISOLATION_FULL ? "full" : "landlock";
    result->use_fuel = request->limits.value[LIMIT_FUEL] != UNITS_UNLIMITED;
    if (run_job(&job, &err) < 0)
        result_fail(result, &err);
    /* whatever keeps a module from starting is told in the words that callers look for */
    if (result->reason == REASON_NOT_STARTED)
        (void) err_prefix(&result->err, "failed to load wasm module `%s`", request->module);
    if (job.signal != 0) {
        result->reason = REASON_CANCELLED;
        result->signal = job.signal;
    }
    child_release(&job.child);
    cleanup_fd(&job.code);
    grants_release(&job.grants);
    module_release(&job.module);
    cache_release(&job.cache);
}

int run_sweep(const struct places *places, struct err *err)
{
    struct cache cache;
    if (cache_open(places, &cache, err) < 0)
        return -1;
    int removed = cache_sweep(&cache) + cache_evict(&cache);
    cache_release(&cache);
    return removed;
}
