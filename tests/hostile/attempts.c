#include "attempts.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/io_uring.h>
#include <linux/keyctl.h>
#include <linux/openat2.h>
#include <linux/perf_event.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECRET "/etc/passwd"
#define UP "../../../../../../../../../../../.."

/* ---- files of the host ----------------------------------------------------------------------- */

static int read_at(int dir, const char *path, uint64_t resolve)
{
    struct open_how how = {.flags = O_RDONLY, .resolve = resolve};
    char byte;
    int fd = (int) syscall(SYS_openat2, dir, path, &how, sizeof(how));
    if (fd < 0)
        return -1;
    ssize_t n = read(fd, &byte, 1);
    close(fd);
    return n == 1 ? 0 : -1;
}

static int read_secret(const struct stage *stage)
{
    (void) stage;
    return read_at(AT_FDCWD, SECRET, 0);
}

static int climb_out_of_grant(const struct stage *stage)
{
    return read_at(stage->writable, UP SECRET, 0);
}

static int climb_out_of_readable(const struct stage *stage)
{
    return read_at(stage->readable, UP SECRET, 0);
}

static int follow_own_symlink(const struct stage *stage)
{
    (void) unlinkat(stage->writable, "evil-link", 0);
    if (symlinkat(SECRET, stage->writable, "evil-link") < 0)
        return -1;
    int rc = read_at(stage->writable, "evil-link", 0);
    int number = errno;
    (void) unlinkat(stage->writable, "evil-link", 0);
    errno = number;
    return rc;
}

static int link_from_outside(const struct stage *stage)
{
    (void) unlinkat(stage->writable, "evil-hard", 0);
    /* beside the grant, so on the same file system: only a wall can refuse it */
    if (linkat(stage->writable, "../evil-target", stage->writable, "evil-hard", 0) < 0)
        return -1;
    return unlinkat(stage->writable, "evil-hard", 0);
}

static int write_read_only(const struct stage *stage)
{
    struct open_how how = {.flags = O_WRONLY | O_CREAT, .mode = 0600};
    int fd = (int) syscall(SYS_openat2, stage->readable, "evil", &how, sizeof(how));
    if (fd < 0)
        return -1;
    close(fd);
    return unlinkat(stage->readable, "evil", 0);
}

static int touch_read_only(const struct stage *stage)
{
    return utimensat(stage->readable, "file", NULL, 0);
}

static int chmod_read_only(const struct stage *stage)
{
    return fchmodat(stage->readable, "file", 0644, 0);
}

static int truncate_read_only(const struct stage *stage)
{
    struct open_how how = {.flags = O_RDWR | O_TRUNC};
    int fd = (int) syscall(SYS_openat2, stage->readable, "file", &how, sizeof(how));
    if (fd < 0)
        return -1;
    close(fd);
    return 0;
}

static int make_device(const struct stage *stage)
{
    (void) unlinkat(stage->writable, "evil-null", 0);
    if (mknodat(stage->writable, "evil-null", S_IFCHR | 0666, 0x103) < 0)
        return -1;
    return unlinkat(stage->writable, "evil-null", 0);
}

static int make_setuid(const struct stage *stage)
{
    struct open_how how = {.flags = O_WRONLY | O_CREAT, .mode = 0600};
    int fd = (int) syscall(SYS_openat2, stage->writable, "evil-suid", &how, sizeof(how));
    if (fd < 0)
        return -1;
    int rc = fchmod(fd, 04755);
    int number = errno;
    close(fd);
    (void) unlinkat(stage->writable, "evil-suid", 0);
    errno = number;
    return rc;
}

static int write_code(const struct stage *stage)
{
    return pwrite(stage->code, "evil", 4, 0) == 4 ? 0 : -1;
}

static int list_root(const struct stage *stage)
{
    (void) stage;
    char entries[4096];
    struct open_how how = {.flags = O_RDONLY | O_DIRECTORY};
    int fd = (int) syscall(SYS_openat2, AT_FDCWD, "/", &how, sizeof(how));
    if (fd < 0)
        return -1;
    long n = syscall(SYS_getdents64, fd, entries, sizeof(entries));
    close(fd);
    return n > 48 ? 0 : -1; /* more than `.` and `..` */
}

/* Landlock knows no right for these two: only an empty root takes them away. */
static int stat_host_file(const struct stage *stage)
{
    struct stat st;
    (void) stage;
    return fstatat(AT_FDCWD, SECRET, &st, 0);
}

static int touch_host_file(const struct stage *stage)
{
    return utimensat(stage->writable, "../evil-target", NULL, 0);
}

/* ---- the network and other processes --------------------------------------------------------- */

static int connect_to_host(const struct stage *stage)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t) stage->port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0)
        return -1;
    int rc = connect(fd, (const struct sockaddr *) &address, sizeof(address));
    int number = errno;
    close(fd);
    errno = number;
    return rc;
}

static int signal_host_process(const struct stage *stage)
{
    return kill(stage->pid, 0);
}

static int read_host_process(const struct stage *stage)
{
    char byte;
    struct iovec local = {&byte, 1}, remote = {(void *) &attempts, 1};
    ssize_t n = process_vm_readv(stage->pid, &local, 1, &remote, 1, 0);
    return n == 1 || errno == EFAULT
               ? 0
               : -1; /* EFAULT: we were let in, there is nothing at that address */
}

static int take_host_descriptor(const struct stage *stage)
{
    int pidfd = (int) syscall(SYS_pidfd_open, stage->pid, 0);
    if (pidfd < 0)
        return -1;
    int fd = (int) syscall(SYS_pidfd_getfd, pidfd, 0, 0);
    int number = errno;
    close(pidfd);
    errno = number;
    if (fd >= 0)
        close(fd);
    return fd < 0 ? -1 : 0;
}

static int start_process(const struct stage *stage)
{
    (void) stage;
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    return pid < 0 ? -1 : (waitpid(pid, NULL, 0) == pid ? 0 : -1);
}

static int run_program(const struct stage *stage)
{
    (void) stage;
    char *const argv[] = {(char *) "true", NULL};
    pid_t pid = vfork();
    if (pid == 0) {
        execv("/bin/true", argv);
        _exit(1);
    }
    int status = 1;
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return -1;
    return status == 0 ? 0 : -1;
}

static int attach_debugger(const struct stage *stage)
{
    if (ptrace(PTRACE_SEIZE, stage->pid, NULL, NULL) < 0)
        return -1;
    return 0; /* seized is seized; it goes with us */
}

/* ---- more of the kernel ---------------------------------------------------------------------- */

static int map_executable(const struct stage *stage)
{
    (void) stage;
    void *page = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return page == MAP_FAILED ? -1 : munmap(page, 4096);
}

static int make_executable(const struct stage *stage)
{
    (void) stage;
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return -1;
    int rc = mprotect(page, 4096, PROT_READ | PROT_EXEC);
    int number = errno;
    munmap(page, 4096);
    errno = number;
    return rc;
}

static int map_more_than_allowed(const struct stage *stage)
{
    (void) stage;
    const size_t size = 1UL << 30; /* the test's limit is far below */
    void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return pages == MAP_FAILED ? -1 : munmap(pages, size);
}

/* RLIMIT_DATA counts neither of the next two. */
static int share_more_than_allowed(const struct stage *stage)
{
    (void) stage;
    const size_t size = 1UL << 30;
    void *pages =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return pages == MAP_FAILED ? -1 : munmap(pages, size);
}

static int stack_more_than_allowed(const struct stage *stage)
{
    (void) stage;
    const size_t size = 1UL << 30;
    void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_GROWSDOWN, -1, 0);
    return pages == MAP_FAILED ? -1 : munmap(pages, size);
}

static int raise_own_limit(const struct stage *stage)
{
    (void) stage;
    struct rlimit limit;
    if (getrlimit(RLIMIT_DATA, &limit) < 0)
        return -1;
    return setrlimit(RLIMIT_DATA, &limit);
}

static int new_user_namespace(const struct stage *stage)
{
    (void) stage;
    pid_t pid = fork();
    int status = 1;
    if (pid == 0)
        _exit(unshare(CLONE_NEWUSER) == 0 ? 0 : 1);
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return -1;
    return status == 0 ? 0 : -1;
}

static int clone_mount(const struct stage *stage)
{
    int fd = (int) syscall(SYS_open_tree, stage->writable, "", AT_EMPTY_PATH | OPEN_TREE_CLOEXEC);
    if (fd < 0)
        return -1;
    close(fd);
    return 0;
}

static int make_socket_pair(const struct stage *stage)
{
    int pair[2];
    (void) stage;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
        return -1;
    close(pair[0]);
    close(pair[1]);
    return 0;
}

static int make_memory_file(const struct stage *stage)
{
    (void) stage;
    int fd = memfd_create("evil", 0);
    if (fd < 0)
        return -1;
    close(fd);
    return 0;
}

static int make_ring(const struct stage *stage)
{
    struct io_uring_params params = {0};
    (void) stage;
    int fd = (int) syscall(SYS_io_uring_setup, 1, &params);
    if (fd < 0)
        return -1;
    close(fd);
    return 0;
}

static int add_to_keyring(const struct stage *stage)
{
    (void) stage;
    long key = syscall(SYS_add_key, "user", "wasp-evil", "x", 1, KEY_SPEC_PROCESS_KEYRING);
    return key < 0 ? -1 : 0;
}

static int make_shared_memory(const struct stage *stage)
{
    (void) stage;
    int id = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
    return id < 0 ? -1 : shmctl(id, IPC_RMID, NULL);
}

static int watch_files(const struct stage *stage)
{
    (void) stage;
    int fd = (int) syscall(SYS_inotify_init1, 0);
    if (fd < 0)
        return -1;
    close(fd);
    return 0;
}

static int duplicate_descriptor(const struct stage *stage)
{
    (void) stage;
    int fd = fcntl(1, F_DUPFD, 64);
    if (fd < 0)
        return -1;
    close(fd);
    return 0;
}

static int ask_the_terminal(const struct stage *stage)
{
    int pipe_bytes;
    (void) stage;
    return (int) syscall(SYS_ioctl, 1, 0x541B /* FIONREAD */, &pipe_bytes);
}

const struct attempt attempts[] = {
    {"read-secret", true, read_secret},
    {"climb-out-of-grant", true, climb_out_of_grant},
    {"climb-out-of-read-only-grant", true, climb_out_of_readable},
    {"follow-own-symlink", true, follow_own_symlink},
    {"link-from-outside", true, link_from_outside},
    {"list-root", true, list_root},
    {"write-read-only", true, write_read_only},
    {"touch-read-only", true, touch_read_only},
    {"chmod-read-only", true, chmod_read_only},
    {"truncate-read-only", true, truncate_read_only},
    {"write-code", true, write_code},
    {"connect-to-host", true, connect_to_host},
    {"signal-host-process", true, signal_host_process},
    {"read-host-process", true, read_host_process},
    {"take-host-descriptor", true, take_host_descriptor},
    {"attach-debugger", true, attach_debugger},
    {"make-device", true, make_device},
    {"run-program", true, run_program},
    {"stat-host-file", false, stat_host_file},
    {"touch-host-file", false, touch_host_file},
    {"make-setuid", false, make_setuid},
    {"start-process", false, start_process},
    {"map-executable", false, map_executable},
    {"make-executable", false, make_executable},
    {"map-more-than-allowed", false, map_more_than_allowed},
    {"share-more-than-allowed", false, share_more_than_allowed},
    {"stack-more-than-allowed", false, stack_more_than_allowed},
    {"raise-own-limit", false, raise_own_limit},
    {"new-user-namespace", false, new_user_namespace},
    {"clone-mount", false, clone_mount},
    {"make-socket-pair", false, make_socket_pair},
    {"make-memory-file", false, make_memory_file},
    {"make-ring", false, make_ring},
    {"add-to-keyring", false, add_to_keyring},
    {"make-shared-memory", false, make_shared_memory},
    {"watch-files", false, watch_files},
    {"duplicate-descriptor", false, duplicate_descriptor},
    {"ask-the-terminal", false, ask_the_terminal},
};
const size_t n_attempts = sizeof(attempts) / sizeof(attempts[0]);

void attempts_run(const struct stage *stage)
{
    char line[128];
    for (size_t i = 0; i < n_attempts; i++) {
        errno = 0;
        int rc = attempts[i].act(stage);
        int len = snprintf(line, sizeof(line), "%s %s %s %d\n", attempts[i].name,
                           attempts[i].is_escape ? "escape" : "surface",
                           rc == 0 ? "done" : "refused", rc == 0 ? 0 : errno);
        if (write(1, line, (size_t) len) != len)
            _exit(1);
    }
}
