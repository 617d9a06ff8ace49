#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/fd.h"

struct target {
    int folder;
    const char *name; /* in the folder */
    char temp[32];    /* what the file is called until it is whole */
};

static int open_folder(const char *path, struct target *target, struct err *err)
{
    char folder[PATH_MAX] = ".";
    const char *slash = strrchr(path, '/');
    size_t len = slash ? (size_t) (slash - path) + 1 : 0; /* with its slash, for "/name" */

    target->name = path + len;
    if (target->name[0] == '\0' || len >= sizeof(folder))
        return err_set(err, ERR_REQUEST, "'%s' is not the name of a file", path);
    if (len > 0) {
        memcpy(folder, path, len);
        folder[len] = '\0';
    }
    target->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (target->folder < 0)
        return err_sys(err, ERR_HOST, "cannot open the folder '%s'", folder);
    return 0;
}

/* 0, or -1 and errno. */
static int write_temp(struct target *target, const void *bytes, size_t len)
{
    uint64_t chance;

    random_bytes(&chance, sizeof(chance));
    (void) snprintf(target->temp, sizeof(target->temp), ".wasp-%016llx",
                    (unsigned long long) chance); /* fits */
    _cleanup_fd_ int fd =
        openat(target->folder, target->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0) {
        target->temp[0] = '\0'; /* nothing to remove */
        return -1;
    }
    return fd_write_all(fd, bytes, len) < 0 ? -1 : fsync(fd);
}

/* As renameat2, for file systems that cannot refuse to replace: a link never replaces. */
static int name_unless_there(const struct target *target)
{
    int rc =
        renameat2(target->folder, target->temp, target->folder, target->name, RENAME_NOREPLACE);

    if (rc == 0 || errno != EINVAL)
        return rc;
    rc = linkat(target->folder, target->temp, target->folder, target->name, 0);
    return rc < 0 ? rc : unlinkat(target->folder, target->temp, 0);
}

static int name_it(const struct target *target, bool no_clobber)
{
    int rc = no_clobber ? name_unless_there(target)
                        : renameat(target->folder, target->temp, target->folder, target->name);

    if (rc == 0)
        (void) fsync(target->folder); /* not all can; the file is whole under either name */
    return rc;
}

int file_replace(const char *path, const void *bytes, size_t len, bool no_clobber, struct err *err)
{
    struct target target = {.folder = -1};

    if (open_folder(path, &target, err) < 0)
        return -1;
    _cleanup_fd_ int folder = target.folder;
    if (write_temp(&target, bytes, len) == 0 && name_it(&target, no_clobber) == 0)
        return 0;
    int number = errno;
    if (target.temp[0])
        (void) unlinkat(folder, target.temp, 0); /* the first failure is the one to tell */
    if (no_clobber && number == EEXIST)
        return err_set(err, ERR_REQUEST, "'%s' is there already", path);
    errno = number;
    return err_sys(err, ERR_HOST, "cannot write '%s'", path);
}
