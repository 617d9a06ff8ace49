/*
 * Calls of the kernel that every cell needs, walls or no walls.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "run/probing.h"

/* Newer than Debian 12's header; the number is the kernel's for good. */
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)
#endif

/* ---- descriptors and processes --------------------------------------------------------------- */

void probe_openat2(const struct scene *scene, struct finding *finding)
{
    _cleanup_fd_ int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    _cleanup_fd_ int below =
        fd_openat2(root, ".", O_PATH | O_DIRECTORY, 0, RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS);

    if (below < 0) {
        finding_call_failed(finding, scene, "openat2", "5.6");
        return;
    }
    /* and it must really keep us below */
    _cleanup_fd_ int out = fd_openat2(root, "..", O_PATH | O_DIRECTORY, 0, RESOLVE_BENEATH);
    if (out >= 0) {
        finding_set(finding, PROBE_MISSING, 0, "openat2 let '..' lead out of RESOLVE_BENEATH");
        finding_advise(finding, REMEDY_KERNEL, "5.6");
    }
}

void probe_close_range(const struct scene *scene, struct finding *finding)
{
    int victim = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 100); /* above what the probe itself holds */

    if (victim < 0 || close_range((unsigned int) victim, (unsigned int) victim, 0) < 0)
        finding_call_failed(finding, scene, "close_range", "5.9");
    else if (fcntl(victim, F_GETFD) >= 0)
        finding_set(finding, PROBE_MISSING, 0, "close_range closed nothing");
}

/* A clone that gives one, a kill through it, and a wait. */
void probe_pidfd(const struct scene *scene, struct finding *finding)
{
    int pidfd = -1;
    long pid = syscall(SYS_clone, CLONE_PIDFD | SIGCHLD, 0, &pidfd, 0, 0);

    if (pid < 0) {
        finding_call_failed(finding, scene, "clone with CLONE_PIDFD", "5.2");
        return;
    }
    if (pid == 0)
        for (;;)
            (void) pause(); /* until it is killed */
    bool worked = syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0) == 0;
    if (!worked) {
        finding_call_failed(finding, scene, "pidfd_send_signal", "5.1");
        (void) kill((pid_t) pid, SIGKILL); /* our own child, not yet waited for */
    }
    (void) waitpid((pid_t) pid, NULL, 0); /* how it ended is known */
    cleanup_fd(&pidfd);
}

void probe_memfd(const struct scene *scene, struct finding *finding)
{
    _cleanup_fd_ int fd = fd_memory("wasp-doctor");

    if (fd < 0)
        finding_call_failed(finding, scene, "memfd_create", "3.17");
    else if (fd_write_all(fd, "x", 1) < 0 || fd_seal(fd) < 0)
        finding_call_failed(finding, scene, "sealing a memfd", "3.17");
    else if (write(fd, "y", 1) >= 0)
        finding_set(finding, PROBE_MISSING, 0, "a sealed memfd could be written to");
}

/* ---- privileges ------------------------------------------------------------------------------ */

static int set_no_new_privs(const struct scene *scene, struct finding *finding)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
        return 0;
    finding_call_failed(finding, scene, "no_new_privs", "3.5");
    return -1;
}

void probe_no_new_privs(const struct scene *scene, struct finding *finding)
{
    (void) set_no_new_privs(scene, finding); /* it says itself what it saw */
}

/* A filter that answers one harmless call with a number that the kernel never gives for it. */
void probe_seccomp(const struct scene *scene, struct finding *finding)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EXFULL),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {.len = ARRAY_SIZE(code), .filter = code};

    if (set_no_new_privs(scene, finding) < 0)
        return;
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0) {
        bool is_not_built = errno == EINVAL || (errno == ENOSYS && !scene->host->has_outer_seccomp);
        finding_call_failed(finding, scene, "seccomp", "3.17");
        if (is_not_built)
            finding_advise(finding, REMEDY_SECCOMP, NULL);
        return;
    }
    errno = 0;
    if (syscall(SYS_getppid) != -1 || errno != EXFULL)
        finding_set(finding, PROBE_MISSING, 0, "a seccomp filter was taken and not obeyed");
}

/* ---- Landlock -------------------------------------------------------------------------------- */

/* What an ABI brought, and what is done without on an older one. */
static const struct landlock_part {
    uint32_t abi;
    const char *what;
} landlock_parts[] = {
    {2, "renaming across directories"},  {3, "truncating"}, {4, "TCP"}, {5, "ioctls on devices"},
    {6, "signals and abstract sockets"},
};

static int landlock_version(const struct scene *scene, struct finding *finding)
{
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

    if (version > 0) {
        finding->number = (uint32_t) version;
        return 0;
    }
    bool is_off = errno == EOPNOTSUPP;
    finding_call_failed(finding, scene, "landlock_create_ruleset", "5.13");
    if (is_off)
        finding_advise(finding, REMEDY_LANDLOCK_OFF, NULL);
    return -1;
}

/* Handles these rights, allows none of them, and tries to use one. */
static void enforce_landlock(const struct scene *scene, uint64_t rights, struct finding *finding)
{
    struct landlock_ruleset_attr attr = {.handled_access_fs = rights};
    _cleanup_fd_ int ruleset =
        (int) syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr.handled_access_fs), 0);

    if (ruleset < 0) {
        finding_call_failed(finding, scene, "making a Landlock ruleset", "5.13");
        return;
    }
    if (set_no_new_privs(scene, finding) < 0)
        return;
    if (syscall(SYS_landlock_restrict_self, ruleset, 0) < 0) {
        finding_call_failed(finding, scene, "landlock_restrict_self", "5.13");
        return;
    }
    _cleanup_fd_ int root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root >= 0)
        finding_set(finding, PROBE_MISSING, 0, "a Landlock ruleset was taken and not obeyed");
}

static void note_landlock(struct finding *finding)
{
    char missing[PROBE_DETAIL_BYTES - 64] = "";

    for (size_t i = 0; i < ARRAY_SIZE(landlock_parts); i++) {
        size_t len = strlen(missing);
        if (landlock_parts[i].abi > finding->number) /* all of them fit */
            (void) snprintf(missing + len, sizeof(missing) - len, "%s %s", len ? "," : "",
                            landlock_parts[i].what);
    }
    if (missing[0])
        finding_set(finding, PROBE_DEGRADED, 0, "ABI %u, which does not cover%s", finding->number,
                    missing);
    else
        finding_note(finding, "ABI %u", finding->number);
}

void probe_landlock(const struct scene *scene, struct finding *finding)
{
    if (landlock_version(scene, finding) < 0)
        return;
    note_landlock(finding);
    if (finding->status == PROBE_DEGRADED)
        finding_advise(finding, REMEDY_KERNEL, "6.12");
    enforce_landlock(scene, LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR, finding);
}

/* There it is the wall between the guest and the host's files, and so must cover truncating. */
void probe_landlock_rung(const struct scene *scene, struct finding *finding)
{
    if (landlock_version(scene, finding) < 0)
        return;
    if (finding->number >= 3) {
        enforce_landlock(scene, LANDLOCK_ACCESS_FS_READ_DIR | LANDLOCK_ACCESS_FS_TRUNCATE, finding);
        return;
    }
    finding_set(finding, PROBE_MISSING, 0, "ABI %u, the landlock rung needs 3", finding->number);
    finding_advise(finding, REMEDY_LANDLOCK_OLD, NULL);
}
