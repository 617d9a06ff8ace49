#include "run/compile.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "run/pipes.h"
#include "run/supervise.h"

/*
 * Compiling is ours, not the guest's: it has limits of its own. CPython's 26 MB take 8 s of CPU
 * time and 0.7 GiB.
 */
#define COMPILE_MEMORY_BYTES (4ULL << 30)
#define COMPILE_CODE_BYTES (2ULL << 30)
#define COMPILE_CHATTER_BYTES 4096

static unsigned int count_cpus(void)
{
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
    return n > 0 ? (unsigned int) n : 1;
}

static void make_plan(const struct request *request, const struct grants *identity, uint64_t now,
                      struct plan *ret_plan)
{
    uint64_t wall = request->limits.value[LIMIT_COMPILE];
    unsigned int cpus = count_cpus();
    *ret_plan = (struct plan){
        .job = JOB_COMPILE,
        .isolation = request->isolation,
        .identity = identity->identity,
        .uid = CELL_UID,
        .gid = CELL_UID,
        .limits = request->limits,
        .deadline_ns = wall == UNITS_UNLIMITED ? UINT64_MAX : now + wall,
        .use_fuel = request->limits.value[LIMIT_FUEL] != UNITS_UNLIMITED,
        .pulley = request->pulley,
    };
    ret_plan->limits.value[LIMIT_MEMORY] = COMPILE_MEMORY_BYTES;
    ret_plan->limits.value[LIMIT_CPU] = wall > UINT64_MAX / cpus ? UINT64_MAX : wall * cpus;
    ret_plan->limits.value[LIMIT_OPEN_FILES] = 0;
}

static int refuse_slow(const struct request *request, struct err *err)
{
    (void) err_set(err, ERR_COMPILE_LIMIT,
                   "compiling the module took longer than its limit of %llu ms",
                   (unsigned long long) (request->limits.value[LIMIT_COMPILE] / NS_PER_MS));
    (void) err_hint(err, "raise --compile-timeout");
    return err_step(err, "compile");
}

/* What the compiler's end means. Only a cell that said it was done, and went, made code. */
static int judge(const struct request *request, const struct watch *watch, int *ret_signal,
                 struct err *err)
{
    switch (watch->ended) {
    case ENDED_WALL:
    case ENDED_CPU:
        return refuse_slow(request, err);
    case ENDED_SIGNAL:
        *ret_signal = watch->signal;
        return err_set(err, ERR_HOST, "cancelled by signal %d while the module was compiled",
                       watch->signal);
    case ENDED_DENIED:
        *err = watch->withdrawn;
        return -1;
    case ENDED_OUTPUT:
        if (watch->out.sink_errno == EFBIG)
            return err_set(err, ERR_COMPILE_LIMIT, "the module's code is larger than wasp takes");
        errno = watch->out.sink_errno;
        return err_sys(err, ERR_HOST, "cannot take the compiler's code");
    case ENDED_BY_ITSELF:
    case ENDED_MEMORY: /* it has no cgroup … */
    case ENDED_PROCESSES:
    case ENDED_DOOR: /* … and no door */
        break;
    }
    if (watch->failed_heard) {
        *err = watch->failed;
        return -1;
    }
    if (watch->done_heard && WIFEXITED(watch->status) && WEXITSTATUS(watch->status) == 0)
        return 0;
    if (WIFSIGNALED(watch->status) && watch->ready_heard)
        (void) err_set(
            err, ERR_COMPILE_LIMIT,
            "the compiler died of signal %d: the module needs more than %llu MiB to compile, or "
            "breaks the compiler",
            WTERMSIG(watch->status), COMPILE_MEMORY_BYTES >> 20);
    else
        (void) err_set(err, ERR_BACKEND, "the compiler ended without an answer");
    return err_step(err, "compile");
}

static int watch_compiler(struct child *child, const struct plan *plan, struct pipes *pipes,
                          int code, struct arena *arena, struct watch *watch, struct err *err)
{
    *watch = (struct watch){
        .child = child,
        .out = {.fd = take_fd(&pipes->ours[1]), .sink = code, .sink_max = COMPILE_CODE_BYTES},
        .err = {.fd = take_fd(&pipes->ours[2]), .capture = watch->err.capture, .sink = -1},
        .deadline_ns = plan->deadline_ns,
        .meter = {.cpu_ns = plan->limits.value[LIMIT_CPU], .threads = count_cpus()},
        .observer = watch->observer,
    };
    int rc = supervise(watch, arena, err);
    cleanup_fd(&watch->out.fd);
    cleanup_fd(&watch->err.fd);
    return rc;
}

static int start_compiler(const struct request *request, const struct places *places,
                          const struct grants *identity, struct child *ret_child, struct err *err)
{
    struct child_program program = {
        .dir = places->program_dir,
        .name = "wasp-compile",
        .isolation = request->isolation,
        .identity = identity->identity,
        .host_uid = identity->host_uid,
        .uid = CELL_UID,
        .gid = CELL_UID,
        .cgroup = -1,
    };
    return child_start(&program, ret_child, err);
}

int compile_module(const struct request *request, const struct places *places,
                   const struct grants *identity, struct module *module,
                   const struct observer *observer, struct arena *arena, int *ret_code,
                   uint64_t *ret_ns, int *ret_signal, struct err *err)
{
    _cleanup_fd_ int code = -1;
    _cleanup_(pipes_release) struct pipes pipes;
    _cleanup_(child_release) struct child child = CHILD_NONE;
    struct plan plan;
    uint64_t start = clock_monotonic_ns();
    pipes_init(&pipes);
    if (start_compiler(request, places, identity, &child, err) < 0 ||
        module_read(module, err) < 0 || cache_begin(&code, err) < 0 || pipes_open(&pipes, err) < 0)
        return -1;
    (void) fcntl(pipes.ours[1], F_SETPIPE_SZ, 1 << 20); /* only makes it quicker */
    make_plan(request, identity, start, &plan);
    struct child_load load = {
        .plan = &plan,
        .streams = {pipes.cell[0], pipes.cell[1], pipes.cell[2]},
        .code = module->bytes,
    };
    if (child_load(&child, &load, err) < 0)
        return -1;
    pipes_close_cell(&pipes);
    struct capture chatter = {.kept = BUF_INIT(COMPILE_CHATTER_BYTES)};
    /* what the compiler writes and tells is not the guest's */
    struct observer ticks = {
        .data = observer ? observer->data : NULL,
        .tick = observer ? observer->tick : NULL,
    };
    struct watch watch = {.err = {.capture = &chatter}, .observer = &ticks};
    int rc = watch_compiler(&child, &plan, &pipes, code, arena, &watch, err);
    buf_release(&chatter.kept);
    if (rc < 0 || judge(request, &watch, ret_signal, err) < 0 || cache_close(code, err) < 0)
        return -1;
    *ret_ns = clock_monotonic_ns() - start;
    *ret_code = take_fd(&code);
    return 0;
}
