/*
 * Limits on all processes of a run together.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/fd.h"
#include "run/probing.h"

/*
 * A cgroup for a run as it would have it, or none. Its name looks like a run's, so that what a
 * killed doctor leaves is swept with what killed runs leave.
 */
static int make_cgroup(struct cgroup *cgroup, struct err *err)
{
    struct limits limits;
    char name[40];
    uint16_t random[3];

    limits_init(&limits, BACKEND_NATIVE);
    random_bytes(random, sizeof(random));
    (void) snprintf(name, sizeof(name), "d0c70000-0000-4000-8000-%04x%04x%04x", random[0],
                    random[1], random[2]); /* fits */
    return cgroup_make(cgroup, name, &limits, 0, err);
}

/* A process moves there and dies there. */
static int enter_cgroup(const struct cgroup *cgroup, struct err *err)
{
    int status = 0;
    pid_t pid = fork();

    if (pid < 0)
        return err_sys(err, ERR_HOST, "cannot start a process");
    if (pid == 0)
        _exit(cgroup_enter_self(cgroup) < 0 ? errno : 0);
    if (waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    errno = WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
    return err_sys(err, ERR_HOST, "cannot enter a cgroup that could be made");
}

static void advise_cgroup(struct finding *finding)
{
    /* that folder is how systemd says that it runs the machine */
    bool has_systemd = access("/run/systemd/system", F_OK) == 0;

    finding_advise(finding, has_systemd && geteuid() != 0 ? REMEDY_CGROUP_USER : REMEDY_CGROUP_ROOT,
                   NULL);
}

/* A run without one is no less walled, only less exactly limited; one that fails is refused. */
void probe_cgroup(const struct scene *scene, struct finding *finding)
{
    _cleanup_(cgroup_release) struct cgroup cgroup = CGROUP_INIT;
    struct err err;

    (void) scene; /* whether it works does not depend on anything that it says */
    int made = make_cgroup(&cgroup, &err);
    if (made == 0 && cgroup.kind == CGROUP_NONE) {
        finding_set(finding, PROBE_DEGRADED, 0,
                    "none may be made: rlimits and looking at the processes instead");
        advise_cgroup(finding);
    } else if (made < 0 || enter_cgroup(&cgroup, &err) < 0) {
        finding_set(finding, PROBE_MISSING, 0, "%s", err.message);
        advise_cgroup(finding);
    } else {
        finding->number = cgroup.kind;
        finding_note(finding, "%s",
                     cgroup.kind == CGROUP_V2 ? "v2" : "v1, since v2 is not delegated to wasp");
    }
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
