#include "run/host.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fd.h"

/* A table of mounts may be long; what lies behind this is not looked at. */
#define FACT_MAX_BYTES (256 * 1024)
/* Ordinary users can make them all since then. */
#define NAMESPACES_SINCE "4.6"

/* ---- reading --------------------------------------------------------------------------------- */

static int read_text(const char *path, struct buf *text)
{
    _cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *room;

    if (fd < 0 || buf_reserve(text, FACT_MAX_BYTES, &room) < 0)
        return -1;
    ssize_t len = fd_read_full(fd, room, FACT_MAX_BYTES);
    if (len < 0)
        return -1;
    buf_commit(text, (size_t) len);
    return 0;
}

static bool text_has(const char *path, const char *part)
{
    _cleanup_(buf_release) struct buf text = BUF_INIT(FACT_MAX_BYTES);

    return read_text(path, &text) == 0 && text.data && strstr(text.data, part);
}

/* A setting that is not there has no value. */
static bool setting_is(const char *path, char value)
{
    _cleanup_(buf_release) struct buf text = BUF_INIT(FACT_MAX_BYTES);

    return read_text(path, &text) == 0 && text.len > 0 && text.data[0] == value;
}

/* The fifth word of a line of mountinfo is where it is mounted. No line says "/" in a chroot. */
static bool root_is_no_mount(void)
{
    _cleanup_(buf_release) struct buf text = BUF_INIT(FACT_MAX_BYTES);

    if (read_text("/proc/self/mountinfo", &text) < 0 || text.len == 0)
        return false;
    for (const char *line = text.data; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        const char *at = line;
        for (int word = 0; word < 4 && at; word++) {
            at = strchr(at, ' ');
            at = at ? at + 1 : NULL;
        }
        if (at && at[0] == '/' && at[1] == ' ')
            return false;
    }
    return true;
}

/* Where each kind of container leaves its mark: a file that is there, or a part of its text. */
static const struct mark {
    const char *container;
    const char *path;
    const char *part; /* NULL: that it is there says it */
} marks[] = {
    {"docker", "/.dockerenv", NULL},
    {"podman", "/run/.containerenv", NULL},
    {"kubernetes", "/var/run/secrets/kubernetes.io", NULL},
    {"kubernetes", "/proc/self/cgroup", "kubepods"},
    {"docker", "/proc/self/cgroup", "/docker"},
    {"lxc", "/proc/self/cgroup", "/lxc"},
    {"systemd-nspawn", "/run/systemd/container", "systemd-nspawn"},
    {"container", "/run/systemd/container", NULL},
};

static const char *find_container(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(marks); i++)
        if (marks[i].part ? text_has(marks[i].path, marks[i].part)
                          : access(marks[i].path, F_OK) == 0)
            return marks[i].container;
    return "";
}

void host_read(struct host *ret_host)
{
    struct utsname name;
    struct host host = {
        .has_outer_seccomp = text_has("/proc/self/status", "\nSeccomp:\t2\n"),
        .is_chroot = root_is_no_mount(),
        .has_apparmor_restriction =
            setting_is("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", '1'),
        .has_userns_clone_off = setting_is("/proc/sys/kernel/unprivileged_userns_clone", '0'),
    };

    (void) snprintf(host.container, sizeof(host.container), "%s", find_container()); /* fits */
    if (uname(&name) == 0)
        (void) snprintf(host.kernel, sizeof(host.kernel), "%s", name.release); /* as long as it */
    *ret_host = host;
}

/* ---- explaining ------------------------------------------------------------------------------ */

/* "6.1.0-13-amd64" is newer than "5.13". Unreadable counts as old. */
static bool is_newer(const char *release, const char *since)
{
    char *end;
    unsigned long have = strtoul(release, &end, 10), want = strtoul(since, NULL, 10);

    if (have != want)
        return have > want;
    const char *minor = strchr(since, '.');
    return *end == '.' && minor && strtoul(end + 1, NULL, 10) >= strtoul(minor + 1, NULL, 10);
}

/* Filters answer EPERM, and ENOSYS for calls they do not know; security modules EACCES. */
enum remedy host_why_call(const struct host *host, int errnum, const char *since)
{
    switch (errnum) {
    case ENOSYS:
        return host->has_outer_seccomp && is_newer(host->kernel, since) ? REMEDY_OUTER_SECCOMP
                                                                        : REMEDY_KERNEL;
    case EINVAL:
        return REMEDY_KERNEL;
    case EPERM:
        return host->has_outer_seccomp ? REMEDY_OUTER_SECCOMP : REMEDY_FORBIDDEN;
    case EACCES:
        return REMEDY_OUTER_LSM;
    case ENODEV:
        return REMEDY_MODULE;
    default:
        return REMEDY_FORBIDDEN;
    }
}

/*
 * Ubuntu lets everybody make a user namespace and gives no capability in it. A filter would have
 * met the clone already, so it comes second.
 */
enum remedy host_why_capability(const struct host *host, int errnum, const char *since)
{
    if ((errnum == EPERM || errnum == EACCES) && host->has_apparmor_restriction)
        return REMEDY_APPARMOR_USERNS;
    return host_why_call(host, errnum, since);
}

enum remedy host_why_user_namespace(const struct host *host, int errnum)
{
    if (errnum == EPERM && host->has_userns_clone_off)
        return REMEDY_USERNS_CLONE;
    if (errnum == EPERM && host->has_outer_seccomp)
        return REMEDY_OUTER_SECCOMP;
    if (errnum == EPERM && host->is_chroot)
        return REMEDY_CHROOT;
    return host_why_namespaces(host, errnum);
}

enum remedy host_why_namespaces(const struct host *host, int errnum)
{
    if (errnum == ENOSPC || errnum == EUSERS)
        return REMEDY_MAX_NAMESPACES;
    if (errnum == EINVAL || (errnum == ENOSYS && !host->has_outer_seccomp))
        return REMEDY_KERNEL_NAMESPACES;
    return host_why_capability(host, errnum, NAMESPACES_SINCE);
}
