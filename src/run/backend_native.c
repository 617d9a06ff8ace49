/*
 * Native programs: in wasp-cell, with a root of their own and limits on all their processes.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mount.h"
#include "plan/environment.h"
#include "run/backend.h"
#include "run/own.h"

/* How many arguments, and how long ones, are looked at for names of files. */
#define UNSEEN_ARGS 32
#define UNSEEN_BYTES 200

/* ---- what the plan needs --------------------------------------------------------------------- */

/* Where the guest begins: as asked, else in the first directory without a name of its own. */
static const char *choose_cwd(const struct job *job)
{
    if (job->request->cwd)
        return job->request->cwd;
    for (size_t i = 0; i < job->request->n_dirs; i++)
        if (job->request->dirs[i].plain)
            return job->grants.planned[i].guest;
    return job->request->isolation == ISOLATION_FULL ? CELL_HOME : "/";
}

static int open_rootfs(struct job *job, struct err *err)
{
    struct plan_native *plan = &job->native.plan;
    struct own own;
    struct stat st;

    plan->rootfs = job->request->rootfs;
    if (plan->rootfs == NULL)
        return 0;
    _cleanup_fd_ int dir = open(plan->rootfs, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0 || fstat(dir, &st) < 0)
        return err_sys(err, ERR_REQUEST, "cannot open the root file system '%s'", plan->rootfs);
    if (job->request->is_judged && (job->request->judged_rootfs.dev != st.st_dev ||
                                    job->request->judged_rootfs.ino != st.st_ino))
        return grants_changed(plan->rootfs, err);
    own_init(&own, job->places);
    if (own_refuse(&own, dir, &st, plan->rootfs, err) < 0)
        return -1;
    plan->rootfs_dev = st.st_dev;
    plan->rootfs_ino = st.st_ino;
    if (job->grants.identity != IDENTITY_RANGE)
        return 0; /* the cell opens it itself and compares */
    /* owners are not mapped: what only root may read in the tree stays so */
    return mount_detach(dir, plan->rootfs, MOUNT_TAME | MOUNT_ATTR_RDONLY, -1, &job->native.rootfs,
                        err);
}

static unsigned int cgroups_left_out(const struct job *job)
{
#ifdef WASP_TEST_HOOKS
    return (job->places->test_without & WALL_CGROUP_V2 ? 1U : 0) |
           (job->places->test_without & WALL_CGROUP_V1 ? 2U : 0);
#else
    (void) job;
    return 0;
#endif
}

static int make_cgroup(struct job *job, struct err *err)
{
    if (cgroup_make(&job->native.cgroup, job->result->run_id, &job->request->limits,
                    cgroups_left_out(job), err) < 0)
        return err_step(err, "limits");
    return 0;
}

/* True where v2 is all there is: a hint that says what to try first, no more. */
static bool is_unified(void)
{
    struct statfs fs;

    return statfs("/sys/fs/cgroup", &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC;
}

/*
 * On v1 the cell moves itself, which is quick; moving another makes the kernel wait for all CPUs.
 */
static int enter_cgroup(struct job *job, struct err *err)
{
    struct cgroup *cgroup = &job->native.cgroup;
    int entries[CGROUP_SLOTS];
    size_t n = 0;

    if (cgroup->kind == CGROUP_NONE && make_cgroup(job, err) < 0)
        return -1;
    if (cgroup->kind == CGROUP_V2 && !job->child.is_in_cgroup &&
        cgroup_enter(cgroup, job->child.pid, err) < 0)
        return err_step(err, "limits");
    for (size_t i = 0; i < CGROUP_SLOTS; i++)
        if (cgroup->entries[i] >= 0)
            entries[n++] = cgroup->entries[i];
    return child_go(&job->child, cgroup->kind == CGROUP_NONE ? GO_ALONE : GO_IN_CGROUP, entries, n,
                    err);
}

static struct protect_want want_of(const struct job *job, size_t grant)
{
    bool is_rw = job->request->dirs[grant].access == ACCESS_RW;

    return (struct protect_want){
        .grant = (uint32_t) grant,
        .unprotected = job->request->unprotected,
        .names = is_rw,
        .unheld = job->request->isolation == ISOLATION_LANDLOCK,
        /* a guest that cannot connect needs no masks; an overlay's sockets are nobody's */
        .sockets = job->request->network == NETWORK_LOOPBACK &&
                   job->request->dirs[grant].access != ACCESS_OVERLAY,
    };
}

/* On the landlock rung there is no mount to pin with: what appears or changes is reported. */
static int find_pins(struct job *job, struct err *err)
{
    for (size_t i = 0; i < job->request->n_dirs; i++) {
        const struct protect_want want = want_of(job, i);
        if ((want.names || want.sockets) &&
            protect_scan(job->grants.hosts[i], job->request->dirs[i].host, &want, job->arena,
                         &job->native.pins, err) < 0)
            return err_step(err, "root");
    }
    return 0;
}

static int check(struct job *job, struct err *err)
{
    job->native.plan = (struct plan_native){
        .program = job->request->program,
        .source = job->request->source,
        .source_name = job->request->source_name,
        .network = job->request->network,
        .proc = job->request->proc,
        .tty = job->request->tty,
        .program_dev = job->request->judged_program.dev,
        .program_ino = job->request->judged_program.ino,
    };
    if (request_native_env(job->request, job->arena, &job->native.env, &job->native.n_env, err) < 0)
        return -1;
    /* on v2 the cell is born in its cgroup, so that one comes first; else there is time later */
    return is_unified() ? make_cgroup(job, err) : 0;
}

/*
 * On the landlock rung there is no HOME and no /tmp of its own: a directory that it may write to is
 * both.
 */
static const char *scratch_of(const struct job *job)
{
    for (size_t i = 0; i < job->request->n_dirs; i++)
        if (job->request->dirs[i].access == ACCESS_RW)
            return job->grants.planned[i].guest;
    return "/nonexistent";
}

static int place_scratch(struct job *job, struct err *err)
{
    static const char *const constants[] = {"HOME=" CELL_HOME, "TMPDIR=/tmp"};

    for (size_t i = 0; i < job->native.n_env; i++)
        for (size_t k = 0; k < ARRAY_SIZE(constants); k++)
            if (strcmp(job->native.env[i], constants[k]) == 0) {
                job->native.env[i] =
                    arena_printf(job->arena, "%.*s=%s", (int) strcspn(constants[k], "="),
                                 constants[k], scratch_of(job));
                if (job->native.env[i] == NULL)
                    return err_no_memory(err);
            }
    return 0;
}

static int prepare(struct job *job, struct err *err)
{
    if (grants_open(&job->grants, job->request, job->places, job->arena, err) < 0 ||
        open_rootfs(job, err) < 0 || find_pins(job, err) < 0)
        return -1;
    if (job->request->isolation == ISOLATION_LANDLOCK && place_scratch(job, err) < 0)
        return -1;
    job_mark(job, "grants");
    return 0;
}

static unsigned int count_cpus(void)
{
    cpu_set_t set;

    return sched_getaffinity(0, sizeof(set), &set) == 0 ? (unsigned int) CPU_COUNT(&set) : 1;
}

static void fill_plan(struct job *job, struct plan *plan, struct child_load *load)
{
    plan->args[0] = job->request->program;
    plan->env = job->native.env;
    plan->n_env = job->native.n_env;
    plan->native = job->native.plan;
    plan->native.cwd = choose_cwd(job);
    plan->pins = job->native.pins.pins;
    plan->n_pins = job->native.pins.count;
    load->rootfs = job->native.rootfs;
    for (size_t i = 0; i < REQUEST_MAX_DIRS; i++)
        job->native.uppers[i] = -1;
    job->watch.handles.uppers = job->native.uppers;
}

static int go(struct job *job, struct err *err)
{
    struct meter *meter = &job->watch.meter;

    if (enter_cgroup(job, err) < 0)
        return -1;
    meter->threads = count_cpus();
    meter->memory_bytes = job->request->limits.value[LIMIT_MEMORY];
    meter->watches_tree = job->native.cgroup.kind == CGROUP_NONE;
    meter->cgroup = meter->watches_tree ? NULL : &job->native.cgroup;
    job_mark(job, "cgroup");
    return 0;
}

/* ---- afterwards ------------------------------------------------------------------------------ */

/* What the guest changed in overlay directories is for whoever keeps changes. */
static int take_overlays(struct job *job, struct err *err)
{
    struct result *result = job->result;

    result->overlays = arena_array(job->arena, job->request->n_dirs + 1, sizeof(*result->overlays));
    if (result->overlays == NULL)
        return err_no_memory(err);
    for (size_t i = 0; i < job->request->n_dirs; i++)
        if (job->native.uppers[i] >= 0)
            result->overlays[result->n_overlays++] = (struct result_overlay){
                .upper = take_fd(&job->native.uppers[i]),
                .lower = take_fd(&job->grants.hosts[i]),
                .host = job->grants.paths[i],
                .guest = job->grants.planned[i].guest,
            };
    return 0;
}

static int report_appeared(struct job *job, size_t grant, struct err *err)
{
    const struct protect_want want = want_of(job, grant);
    struct result *result = job->result;
    struct protect_found *found;
    size_t count, more;

    if (!want.names)
        return 0;
    const char *host = job->grants.planned[grant].host;
    int rc = protect_report(job->grants.hosts[grant], host, &want, &job->native.pins, job->arena,
                            &found, &count, &more, err);
    result->more_appeared += more;
    for (size_t i = 0; i < count; i++) {
        if (result->n_appeared == RESULT_MAX_APPEARED) {
            result->more_appeared++;
            continue;
        }
        result->appeared[result->n_appeared++] =
            (struct result_appeared){host, found[i].path, found[i].rule};
    }
    return rc;
}

static bool is_granted(const struct job *job, int file)
{
    char link[32], path[PATH_MAX];

    (void) snprintf(link, sizeof(link), "/proc/self/fd/%d", file); /* fits */
    ssize_t len = readlink(link, path, sizeof(path) - 1);
    if (len < 0)
        return true; /* nothing can be said of it */
    path[len] = '\0';
    for (size_t i = 0; i < job->grants.n_hosts; i++) {
        size_t n = strlen(job->grants.paths[i]);
        if (strncmp(path, job->grants.paths[i], n) == 0 && (path[n] == '/' || path[n] == '\0'))
            return true;
    }
    return strncmp(path, "/usr/", 5) == 0;
}

/*
 * The commonest mistake is a forgotten grant. Only the guest meets it, so whoever failed with a
 * file of the host's among its arguments, one that it cannot have seen, is told of it.
 */
static const char *find_unseen(const struct job *job)
{
    for (size_t i = 0; i < job->request->n_args && i < UNSEEN_ARGS; i++) {
        const char *arg = job->request->args[i];
        if (arg[0] == '\0' || arg[0] == '-' || strlen(arg) > UNSEEN_BYTES)
            continue;
        _cleanup_fd_ int file = open(arg, O_PATH | O_CLOEXEC);
        if (file >= 0 && !is_granted(job, file))
            return arg;
    }
    return NULL;
}

static int finish(struct job *job, struct err *err)
{
    struct result *result = job->result;

    if (!result->started)
        return 0;
    if (take_overlays(job, err) < 0)
        return -1;
    if (result->reason == REASON_EXITED && result->exit_code != 0)
        result->unseen = find_unseen(job);
    result->appeared = arena_array(job->arena, RESULT_MAX_APPEARED, sizeof(*result->appeared));
    if (result->appeared == NULL)
        return err_no_memory(err);
    /* the run is over, whatever can be seen of its directories: a guest may have closed them */
    for (size_t i = 0; i < job->request->n_dirs; i++)
        if (report_appeared(job, i, err) < 0 && result->appeared_error == NULL)
            result->appeared_error = arena_strdup(job->arena, err->message);
    /* root of a user namespace may be the host's: the kernel does not count that one's processes */
    if (job->grants.identity == IDENTITY_USER && geteuid() == 0)
        result->ready.walls &= ~(uint32_t) WALL_NPROC;
    return 0;
}

/* What killed runs left is looked for by one run in sixteen: it means reading whole folders. */
static bool is_sweeping_run(const char *run_id)
{
    return run_id[RUN_ID_SIZE - 2] == '0';
}

static void end(struct job *job)
{
    for (size_t i = 0; i < REQUEST_MAX_DIRS && job->watch.handles.uppers != NULL; i++)
        cleanup_fd(&job->native.uppers[i]);
    cleanup_fd(&job->native.rootfs);
    bool had_cgroup = job->native.cgroup.kind != CGROUP_NONE;
    cgroup_release(&job->native.cgroup);
    if (had_cgroup && is_sweeping_run(job->result->run_id))
        (void) cgroup_sweep(cgroups_left_out(job)); /* how many went is of interest to gc alone */
}

const struct backend_row backend_native = {
    .name = "native",
    .program = "wasp-cell",
    .job = JOB_NATIVE,
    .check = check,
    .prepare = prepare,
    .plan = fill_plan,
    .go = go,
    .finish = finish,
    .end = end,
};
