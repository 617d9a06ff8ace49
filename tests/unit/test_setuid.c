/*
 * The filter refuses to chmod a file to set-uid, but not to create one so: open's mode is often
 * nobody's business, and openat2 has it in memory. This holds because the kernel takes the bit away
 * as soon as a process without capabilities gives the file a byte. It is the kernel's promise; here
 * it is held to it.
 */
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#include "filters_rig.h"

#define SET_UID_MODE 04755

/* Each gives the empty file its first bytes; `full` is another file that has some. 0 if it did. */
typedef int give_bytes(int fd, int full);

static int by_write(int fd, int full)
{
    (void) full;
    return write(fd, "x", 1) == 1 ? 0 : -1;
}

static int by_ftruncate(int fd, int full)
{
    (void) full;
    return ftruncate(fd, 4096);
}

static int by_fallocate(int fd, int full)
{
    (void) full;
    return fallocate(fd, 0, 0, 4096);
}

static int by_copy(int fd, int full)
{
    return copy_file_range(full, NULL, fd, NULL, 1, 0) == 1 ? 0 : -1;
}

static int by_sendfile(int fd, int full)
{
    return sendfile(fd, full, NULL, 1) == 1 ? 0 : -1;
}

static int by_splice(int fd, int full)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    bool is_done =
        splice(full, NULL, ends[1], NULL, 1, 0) == 1 && splice(ends[0], NULL, fd, NULL, 1, 0) == 1;
    (void) close(ends[0]); /* nothing is left in it */
    (void) close(ends[1]); /* likewise */
    return is_done ? 0 : -1;
}

static int by_mapping(int fd, int full)
{
    (void) full;
    if (ftruncate(fd, 4096) < 0)
        return -1;
    char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (page == MAP_FAILED)
        return -1;
    page[0] = 'x';
    return munmap(page, 4096);
}

static const struct {
    const char *name;
    give_bytes *give;
} ways[] = {
    {"write", by_write},          {"ftruncate", by_ftruncate}, {"fallocate", by_fallocate},
    {"copy_file_range", by_copy}, {"sendfile", by_sendfile},   {"splice", by_splice},
    {"a mapping", by_mapping},
};

static bool has_bit(int fd)
{
    struct stat status;
    return fstat(fd, &status) == 0 && (status.st_mode & S_ISUID) != 0;
}

/* As every guest is. */
static void drop_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};
    if (syscall(SYS_capset, &header, none) < 0)
        rig_die("cannot drop the capabilities");
}

static void try_way(size_t i, int full)
{
    char name[32];
    (void) snprintf(name, sizeof(name), "file%zu", i); /* always fits */
    _cleanup_fd_ int fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, SET_UID_MODE);
    if (fd < 0 || !has_bit(fd)) {
        skip("no set-uid file can be made here");
    } else if (ways[i].give(fd, full) < 0) {
        skip("%s: %s", ways[i].name, strerror(errno));
    } else {
        ok(!has_bit(fd), "a file made set-uid is no longer so after its first byte by %s",
           ways[i].name);
        ok(fchmod(fd, SET_UID_MODE) < 0 && errno == EPERM && !has_bit(fd),
           "and does not become so again");
    }
    if (fd >= 0)
        (void) unlink(name);         /* the folder is removed after it, which would tell */
    (void) lseek(full, 0, SEEK_SET); /* a regular file */
}

static int try_all(void)
{
    char folder[] = "/tmp/wasp-setuid-XXXXXX";
    if (mkdtemp(folder) == NULL || chdir(folder) < 0)
        rig_die("no folder to work in");
    _cleanup_fd_ int full = open(".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (full < 0 || pwrite(full, "full", 4, 0) != 4)
        rig_die("no file to copy from");
    drop_capabilities();
    rig_load(NATIVE);
    for (size_t i = 0; i < ARRAY_SIZE(ways); i++)
        try_way(i, full);
    ok(rmdir(folder) == 0, "nothing is left");
    return done();
}

/* In a child: a sanitizer looks for leaks at the end by ptrace, which the filter does not have. */
int main(void)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0)
        _exit(try_all());
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        rig_die("lost the child");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
