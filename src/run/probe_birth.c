/*
 * Being born as a cell is: the clone and the maps of spawn.c, then the unshare and the ids of the
 * cell.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "run/identity.h"
#include "run/probing.h"

struct birth {
    enum identity identity;
    uint32_t host_uid;
    int lock;
};

static void birth_release(struct birth *birth)
{
    cleanup_fd(&birth->lock);
}

static int choose_identity(const struct scene *scene, struct birth *birth, struct finding *finding)
{
    struct err err;

    if (identity_choose(ISOLATION_FULL, scene->places, &birth->identity, &birth->host_uid,
                        &birth->lock, &err) == 0)
        return 0;
    finding_set(finding, PROBE_MISSING, 0, "%s", err.message);
    finding_advise(finding, REMEDY_UID_RANGE, NULL);
    return -1;
}

static int map_ids(const struct birth *birth, pid_t pid)
{
    bool is_range = birth->identity == IDENTITY_RANGE;
    uint32_t uid = is_range ? birth->host_uid : geteuid();
    uint32_t gid = is_range ? birth->host_uid : getegid();

    if (!is_range && identity_write_proc(pid, "setgroups", "deny") < 0)
        return -1;
    if (identity_write_map(pid, "uid_map", CELL_UID, uid) < 0)
        return -1;
    return identity_write_map(pid, "gid_map", CELL_UID, gid);
}

static void refuse_clone(const struct scene *scene, struct finding *finding)
{
    int number = errno;

    finding_set(finding, PROBE_MISSING, number, "clone into new user and pid namespaces");
    finding_advise(finding, host_why_user_namespace(scene->host, number), "user");
}

static void refuse_maps(const struct scene *scene, const struct birth *birth,
                        struct finding *finding)
{
    int number = errno;
    uint32_t uid = birth->identity == IDENTITY_RANGE ? birth->host_uid : geteuid();

    finding_set(finding, PROBE_MISSING, number, "mapping uid %u into a user namespace", uid);
    finding_advise(finding, host_why_capability(scene->host, number, BIRTH_SINCE), BIRTH_SINCE);
}

/* It may go on once its ids are mapped. A line that closes before means that its parent died. */
static void wait_and_act(const struct scene *scene, probe_act *act, int line,
                         struct finding *finding)
{
    char go;

    (void) prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0); /* cannot fail: the signal is valid */
    if (read(line, &go, 1) == 1)
        act(scene, finding);
    _exit(0);
}

void born_in_user_namespace(const struct scene *scene, struct finding *finding, probe_act *act)
{
    _cleanup_(birth_release) struct birth birth = {.lock = -1};
    int ends[2], status;

    if (choose_identity(scene, &birth, finding) < 0)
        return;
    if (pipe2(ends, O_CLOEXEC) < 0) {
        finding_set(finding, PROBE_UNKNOWN, errno, "pipe");
        return;
    }
    _cleanup_fd_ int line = ends[0], go = ends[1];
    long pid = syscall(SYS_clone, CLONE_NEWUSER | CLONE_NEWPID | SIGCHLD, 0, 0, 0, 0);
    if (pid < 0) {
        refuse_clone(scene, finding);
        return;
    }
    if (pid == 0) {
        (void) close(take_fd(&go)); /* ours would keep the line open */
        wait_and_act(scene, act, line, finding);
    }
    if (map_ids(&birth, (pid_t) pid) < 0)
        refuse_maps(scene, &birth, finding);
    else
        (void) !write(go, "g", 1); /* one who does not hear it is dead, and says so below */
    (void) close(take_fd(&go));    /* as said */
    if (waitpid((pid_t) pid, &status, 0) > 0)
        (void) finding_death(finding, status); /* who ended by itself has said what it saw */
}

/* ---- the rest of a cell's namespaces --------------------------------------------------------- */

static const struct kind {
    int flag;
    const char *name; /* as in user.max_NAME_namespaces */
} kinds[] = {
    {CLONE_NEWNS, "mnt"},  {CLONE_NEWNET, "net"},       {CLONE_NEWIPC, "ipc"},
    {CLONE_NEWUTS, "uts"}, {CLONE_NEWCGROUP, "cgroup"},
};

/* Which of them it was is found one by one. */
static void refuse_namespaces(const struct scene *scene, int number, struct finding *finding)
{
    char names[64] = "";
    const char *first = NULL;

    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        size_t len = strlen(names);
        if (unshare(kinds[i].flag) == 0)
            continue;
        number = errno;
        (void) snprintf(names + len, sizeof(names) - len, " %s", kinds[i].name); /* all fit */
        first = first ? first : kinds[i].name;
    }
    finding_set(finding, PROBE_MISSING, number, "unshare of the namespaces%s",
                first ? names : " together");
    finding_advise(finding, host_why_namespaces(scene->host, number), first);
}

int birth_unshare(const struct scene *scene, struct finding *finding)
{
    int flags = 0;

    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        flags |= kinds[i].flag;
    if (unshare(flags) == 0)
        return 0;
    refuse_namespaces(scene, errno, finding);
    return -1;
}

int birth_take_uid(const struct scene *scene, struct finding *finding)
{
    if (getuid() == CELL_UID) /* an ordinary user's child has it from the map */
        return 0;
    if (setgroups(0, NULL) == 0 && syscall(SYS_setresgid, CELL_UID, CELL_UID, CELL_UID) == 0 &&
        syscall(SYS_setresuid, CELL_UID, CELL_UID, CELL_UID) == 0)
        return 0;
    int number = errno;
    finding_set(finding, PROBE_MISSING, number, "taking the cell's uid");
    finding_advise(finding, host_why_capability(scene->host, number, BIRTH_SINCE), BIRTH_SINCE);
    return -1;
}

int birth_enter(const struct scene *scene, struct finding *finding)
{
    return birth_unshare(scene, finding) < 0 ? -1 : birth_take_uid(scene, finding);
}
