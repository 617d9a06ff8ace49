/*
 * A cell's namespaces, and what is set or forbidden in them.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/securebits.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/mount.h"
#include "run/probing.h"

/* ---- namespaces ------------------------------------------------------------------------------ */

/* Locking the secure bits takes a capability. Some hosts make the namespace and give none in it. */
static void use_capability(const struct scene *scene, struct finding *finding)
{
    if (prctl(PR_SET_SECUREBITS, SECBIT_NOROOT | SECBIT_NOROOT_LOCKED, 0, 0, 0) < 0) {
        int number = errno;
        finding_set(finding, PROBE_MISSING, number, "using a capability in the user namespace");
        finding_advise(finding, host_why_capability(scene->host, number, BIRTH_SINCE), BIRTH_SINCE);
        return;
    }
    (void) birth_take_uid(scene, finding); /* says itself what it saw */
}

void probe_user_namespace(const struct scene *scene, struct finding *finding)
{
    born_in_user_namespace(scene, finding, use_capability);
}

static void unshare_rest(const struct scene *scene, struct finding *finding)
{
    (void) birth_unshare(scene, finding); /* says itself what it saw */
}

void probe_namespaces(const struct scene *scene, struct finding *finding)
{
    born_in_user_namespace(scene, finding, unshare_rest);
}

/* ---- user namespaces inside ------------------------------------------------------------------ */

/* The sysctl is the new namespace's own, through whichever /proc it is reached. */
static void forbid_nesting(int proc, bool is_required, struct finding *finding)
{
    _cleanup_fd_ int fd = openat(proc, "sys/user/max_user_namespaces", O_WRONLY | O_CLOEXEC);

    if (fd < 0 || fd_write_all(fd, "0", 1) < 0) {
        /* without a /proc of its own the run goes on, and seccomp alone forbids it */
        bool bears_it = !is_required && errno == EROFS;
        finding_set(finding, bears_it ? PROBE_DEGRADED : PROBE_MISSING, errno,
                    "writing user.max_user_namespaces");
        finding_advise(finding, REMEDY_NESTING, NULL);
    } else if (unshare(CLONE_NEWUSER) == 0) {
        finding_set(finding, PROBE_MISSING, 0, "user.max_user_namespaces=0 is not obeyed");
        finding_advise(finding, REMEDY_KERNEL, "4.9");
    }
}

static void nest_with_proc(const struct scene *scene, struct finding *finding)
{
    if (birth_enter(scene, finding) < 0)
        return;
    _cleanup_fd_ int proc = mount_new("proc", NULL, 0, MOUNT_TAME | MOUNT_ATTR_NOEXEC);
    forbid_nesting(proc, true, finding);
}

static void nest_without_proc(const struct scene *scene, struct finding *finding)
{
    if (birth_enter(scene, finding) < 0)
        return;
    _cleanup_fd_ int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    forbid_nesting(proc, false, finding);
}

void probe_nesting(const struct scene *scene, struct finding *finding)
{
    born_in_user_namespace(scene, finding, nest_with_proc);
}

void probe_nesting_no_proc(const struct scene *scene, struct finding *finding)
{
    born_in_user_namespace(scene, finding, nest_without_proc);
}

/* ---- processes ------------------------------------------------------------------------------- */

static int fork_and_wait(void)
{
    pid_t pid = fork();

    if (pid == 0)
        (void) pause(); /* until its parent dies, or kills it */
    return pid;
}

/*
 * Two processes, no third. Whoever counts those outside too refuses the second: at least two of
 * ours run there, but for root's, whose uid is nobody else's.
 */
static void count_processes(const struct scene *scene, struct finding *finding)
{
    const struct rlimit two = {.rlim_cur = 2, .rlim_max = 2};

    if (birth_take_uid(scene, finding) < 0)
        return;
    if (setrlimit(RLIMIT_NPROC, &two) < 0) {
        finding_call_failed(finding, scene, "setrlimit", "2.6");
        return;
    }
    int second = fork_and_wait();
    int third = second < 0 ? -1 : fork_and_wait();
    if (second < 0) {
        finding_set(finding, PROBE_DEGRADED, errno,
                    "RLIMIT_NPROC counts your processes outside the cell too");
        finding_advise(finding, REMEDY_KERNEL, "5.14");
    } else if (third >= 0) {
        finding_set(finding, PROBE_DEGRADED, 0, "RLIMIT_NPROC does not bound a cell's processes");
        finding_advise(finding, REMEDY_KERNEL, "5.14");
    }
    /* the first process of a pid namespace takes the others with it */
}

void probe_process_limit(const struct scene *scene, struct finding *finding)
{
    born_in_user_namespace(scene, finding, count_processes);
}

/* ---- loopback -------------------------------------------------------------------------------- */

static int raise_loopback(int sock)
{
    struct ifreq request = {.ifr_name = "lo"};

    if (ioctl(sock, SIOCGIFFLAGS, &request) < 0)
        return -1;
    request.ifr_flags = (short) (request.ifr_flags | IFF_UP);
    return ioctl(sock, SIOCSIFFLAGS, &request);
}

static int connect_to_self(int server, int client)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);

    if (bind(server, (const struct sockaddr *) &address, size) < 0 || listen(server, 1) < 0 ||
        getsockname(server, (struct sockaddr *) &address, &size) < 0)
        return -1;
    return connect(client, (const struct sockaddr *) &address, size);
}

static void use_loopback(const struct scene *scene, struct finding *finding)
{
    if (birth_enter(scene, finding) < 0)
        return;
    _cleanup_fd_ int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    _cleanup_fd_ int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (server < 0 || client < 0)
        finding_call_failed(finding, scene, "a TCP socket in a net namespace", "3.8");
    else if (raise_loopback(server) < 0)
        finding_call_failed(finding, scene, "taking up a loopback of its own", "3.8");
    else if (connect_to_self(server, client) < 0)
        finding_call_failed(finding, scene, "connecting over a loopback of its own", "3.8");
}

void probe_loopback(const struct scene *scene, struct finding *finding)
{
    born_in_user_namespace(scene, finding, use_loopback);
}
