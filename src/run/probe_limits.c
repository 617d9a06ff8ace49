/*
 * Limits on all processes of a run together.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "run/probing.h"

/* A cgroup for a run as it would have it, or none. */
static int make_cgroup(struct cgroup *cgroup, struct err *err)
{
    struct limits limits;
    char name[32];

    limits_init(&limits, BACKEND_NATIVE);
    (void) snprintf(name, sizeof(name), "doctor-%d", (int) getpid()); /* fits */
    return cgroup_make(cgroup, name, &limits, 0, err);
}

/* A process is moved there and dies there. */
static int enter_cgroup(const struct cgroup *cgroup, struct err *err)
{
    pid_t pid = fork();

    if (pid < 0)
        return err_sys(err, ERR_HOST, "cannot start a process");
    if (pid == 0)
        for (;;)
            (void) pause(); /* until it is killed */
    int moved = cgroup_enter(cgroup, pid, err);
    (void) kill(pid, SIGKILL);    /* our own child, not yet waited for */
    (void) waitpid(pid, NULL, 0); /* how it ended is known */
    return moved;
}

/* What a run does then is no less walled, only less exactly limited. */
static void do_without(struct finding *finding, const char *why)
{
    finding->number = CGROUP_NONE;
    finding_set(finding, PROBE_DEGRADED, 0, "%s: rlimits and looking at the processes instead",
                why);
    /* that folder is how systemd says that it runs the machine */
    bool has_systemd = access("/run/systemd/system", F_OK) == 0;
    finding_advise(finding, has_systemd && geteuid() != 0 ? REMEDY_CGROUP_USER : REMEDY_CGROUP_ROOT,
                   NULL);
}

void probe_cgroup(const struct scene *scene, struct finding *finding)
{
    _cleanup_(cgroup_release) struct cgroup cgroup = CGROUP_INIT;
    struct err err;

    (void) scene; /* whether it works does not depend on anything that it says */
    if (make_cgroup(&cgroup, &err) < 0) {
        do_without(finding, err.message);
        return;
    }
    if (cgroup.kind == CGROUP_NONE) {
        do_without(finding, "no cgroup may be made");
        return;
    }
    if (enter_cgroup(&cgroup, &err) < 0) {
        do_without(finding, err.message);
        return;
    }
    finding->number = cgroup.kind;
    finding_note(finding, "%s",
                 cgroup.kind == CGROUP_V2 ? "v2" : "v1, since v2 is not delegated to wasp");
}

static bool has_swap(void)
{
    char text[4096];
    _cleanup_fd_ int fd = open("/proc/swaps", O_RDONLY | O_CLOEXEC);
    ssize_t len = fd < 0 ? -1 : fd_read_full(fd, text, sizeof(text) - 1);

    if (len <= 0)
        return true; /* unknown: better look */
    text[len] = '\0';
    const char *first = strchr(text, '\n'); /* a headline, then one line each */
    return first && first[1] != '\0';
}

void probe_swap(const struct scene *scene, struct finding *finding)
{
    static const char *const files[] = {
        [CGROUP_V1] = "memory.memsw.limit_in_bytes", [CGROUP_V2] = "memory.swap.max"};
    _cleanup_(cgroup_release) struct cgroup cgroup = CGROUP_INIT;
    struct err err;

    (void) scene; /* as above */
    if (!has_swap()) {
        finding_set(finding, PROBE_NOT_NEEDED, 0, "this machine has no swap");
        return;
    }
    if (make_cgroup(&cgroup, &err) < 0 || cgroup.kind == CGROUP_NONE) {
        finding_set(finding, PROBE_NOT_NEEDED, 0, "memory is watched, not limited by a cgroup");
        return;
    }
    if (faccessat(cgroup.folders[CGROUP_MEMORY], files[cgroup.kind], W_OK, 0) < 0) {
        finding_set(finding, PROBE_DEGRADED, errno, "%s", files[cgroup.kind]);
        finding_advise(finding, REMEDY_SWAP, NULL);
    }
}
