/*
 * Names in directories: making, removing, moving and reading them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cell/wasi/abi.h"
#include "cell/wasi/calls.h"
#include "cell/wasi/denial.h"
#include "cell/wasi/errno.h"
#include "cell/wasi/path.h"
#include "cell/wasi/quota.h"

/* As mkdir(2) has it; the umask takes from it. */
#define NEW_DIRECTORY_MODE 0777

static uint32_t result(int returned)
{
    return returned < 0 ? wasi_errno_of(errno) : WASI_SUCCESS;
}

static uint32_t count_made(struct wasi *wasi, uint32_t failed)
{
    if (!failed)
        quota_charge_name(wasi);
    return failed;
}

/* The parent of a path that the call at hand will change in this way. */
static uint32_t take_parent(struct wasi *wasi, const struct wasi_memory *memory, uint32_t fd,
                            uint32_t pointer, uint32_t len, const struct path_need *need,
                            enum path_change change, struct path *ret_path,
                            struct path_parent *ret_parent)
{
    uint32_t failed = path_take(wasi, memory, fd, pointer, len, need, ret_path);

    return failed ? failed : path_open_parent(wasi, ret_path, change, ret_parent);
}

uint32_t call_path_create_directory(struct wasi *wasi, const struct wasi_memory *memory,
                                    const uint64_t *args)
{
    static const struct path_need need = {"path_create_directory", RIGHT_PATH_CREATE_DIRECTORY,
                                          true};
    _cleanup_(path_parent_release) struct path_parent parent = PATH_PARENT_INIT;
    struct path path;
    uint32_t failed = take_parent(wasi, memory, (uint32_t) args[0], (uint32_t) args[1],
                                  (uint32_t) args[2], &need, CHANGE_DIRECTORY, &path, &parent);

    if (!failed)
        failed = quota_check_name(wasi);
    if (failed)
        return failed;
    return count_made(wasi, result(mkdirat(parent.fd, parent.name, NEW_DIRECTORY_MODE)));
}

uint32_t call_path_remove_directory(struct wasi *wasi, const struct wasi_memory *memory,
                                    const uint64_t *args)
{
    static const struct path_need need = {"path_remove_directory", RIGHT_PATH_REMOVE_DIRECTORY,
                                          true};
    _cleanup_(path_parent_release) struct path_parent parent = PATH_PARENT_INIT;
    struct path path;
    uint32_t failed = take_parent(wasi, memory, (uint32_t) args[0], (uint32_t) args[1],
                                  (uint32_t) args[2], &need, CHANGE_DIRECTORY, &path, &parent);

    return failed ? failed : result(unlinkat(parent.fd, parent.name, AT_REMOVEDIR));
}

uint32_t call_path_unlink_file(struct wasi *wasi, const struct wasi_memory *memory,
                               const uint64_t *args)
{
    static const struct path_need need = {"path_unlink_file", RIGHT_PATH_UNLINK_FILE, true};
    _cleanup_(path_parent_release) struct path_parent parent = PATH_PARENT_INIT;
    struct path path;
    uint32_t failed = take_parent(wasi, memory, (uint32_t) args[0], (uint32_t) args[1],
                                  (uint32_t) args[2], &need, CHANGE_NAME, &path, &parent);

    return failed ? failed : result(unlinkat(parent.fd, parent.name, 0));
}

/*
 * Between two grants the answer is always EXDEV, also where both lie on one mount and the kernel
 * would do it.
 */
static bool same_grant(const struct wasi *wasi, const struct path *a, const struct path *b)
{
    return wasi->grants[a->dir->grant].same_as == wasi->grants[b->dir->grant].same_as;
}

uint32_t call_path_rename(struct wasi *wasi, const struct wasi_memory *memory, const uint64_t *args)
{
    static const struct path_need source = {"path_rename", RIGHT_PATH_RENAME_SOURCE, true};
    static const struct path_need target = {"path_rename", RIGHT_PATH_RENAME_TARGET, true};
    _cleanup_(path_parent_release) struct path_parent from = PATH_PARENT_INIT;
    _cleanup_(path_parent_release) struct path_parent to = PATH_PARENT_INIT;
    struct path old, new;
    uint32_t failed = take_parent(wasi, memory, (uint32_t) args[0], (uint32_t) args[1],
                                  (uint32_t) args[2], &source, CHANGE_NAME, &old, &from);

    if (!failed)
        failed = take_parent(wasi, memory, (uint32_t) args[3], (uint32_t) args[4],
                             (uint32_t) args[5], &target, CHANGE_NAME, &new, &to);
    if (failed)
        return failed;
    if (!same_grant(wasi, &old, &new))
        return WASI_EXDEV;
    return result((int) syscall(SYS_renameat2, from.fd, from.name, to.fd, to.name, 0));
}

/*
 * What is linked is looked up by the kernel, and a slash behind a symlink would make it follow
 * that. Only a directory can stand there, and a directory cannot be linked.
 */
static uint32_t check_link_source(struct wasi *wasi, const struct path *path)
{
    _cleanup_fd_ int fd = -1;

    if (path->text[path->len - 1] != '/')
        return WASI_SUCCESS;
    uint32_t failed = path_walk(wasi, path, O_PATH | O_DIRECTORY, &fd);
    return failed ? failed : WASI_EPERM;
}

uint32_t call_path_link(struct wasi *wasi, const struct wasi_memory *memory, const uint64_t *args)
{
    static const struct path_need source = {"path_link", RIGHT_PATH_LINK_SOURCE, false};
    static const struct path_need target = {"path_link", RIGHT_PATH_LINK_TARGET, true};
    _cleanup_(path_parent_release) struct path_parent from = PATH_PARENT_INIT;
    _cleanup_(path_parent_release) struct path_parent to = PATH_PARENT_INIT;
    struct path old, new;
    uint32_t failed = take_parent(wasi, memory, (uint32_t) args[0], (uint32_t) args[2],
                                  (uint32_t) args[3], &source, CHANGE_NAME, &old, &from);

    if (!failed)
        failed = check_link_source(wasi, &old);
    if (!failed)
        failed = take_parent(wasi, memory, (uint32_t) args[4], (uint32_t) args[5],
                             (uint32_t) args[6], &target, CHANGE_NAME, &new, &to);
    if (failed)
        return failed;
    if ((uint32_t) args[1] != 0) /* following a symlink here is not offered, as in other runtimes */
        return WASI_EINVAL;
    if (!same_grant(wasi, &old, &new))
        return WASI_EXDEV;
    failed = quota_check_name(wasi);
    if (failed)
        return failed;
    return count_made(wasi, result(linkat(from.fd, from.name, to.fd, to.name, 0)));
}

/* The text of a symlink: any bytes but NUL. */
static uint32_t take_text(const struct wasi_memory *memory, uint32_t pointer, uint32_t len,
                          char ret_text[PATH_MAX])
{
    const char *text = memory_at(memory, pointer, len);

    if (text == NULL)
        return WASI_EFAULT;
    if (len >= PATH_MAX)
        return WASI_ENAMETOOLONG;
    if (memchr(text, '\0', len) != NULL)
        return WASI_EINVAL;
    memcpy(ret_text, text, len);
    ret_text[len] = '\0';
    return WASI_SUCCESS;
}

uint32_t call_path_symlink(struct wasi *wasi, const struct wasi_memory *memory,
                           const uint64_t *args)
{
    static const struct path_need need = {"path_symlink", RIGHT_PATH_SYMLINK, true};
    _cleanup_(path_parent_release) struct path_parent parent = PATH_PARENT_INIT;
    struct path path;
    char text[PATH_MAX];
    uint32_t failed = take_text(memory, (uint32_t) args[0], (uint32_t) args[1], text);

    if (!failed)
        failed = take_parent(wasi, memory, (uint32_t) args[2], (uint32_t) args[3],
                             (uint32_t) args[4], &need, CHANGE_NAME, &path, &parent);
    if (failed)
        return failed;
    /* nothing in the sandbox could follow it; outside, programs might. "../.." may be meant well */
    if (text[0] == '/') {
        wasi_deny(wasi, need.action, path.dir, text, RULE_ABSOLUTE_LINK);
        return WASI_EPERM;
    }
    failed = quota_check_name(wasi);
    if (failed)
        return failed;
    return count_made(wasi, result(symlinkat(text, parent.fd, parent.name)));
}

/* readlinkat of an empty path reads the opened link itself, and answers ENOENT where it is none. */
static ssize_t read_link(struct wasi *wasi, const struct path *path, char *text, size_t size,
                         uint32_t *ret_failed)
{
    _cleanup_fd_ int fd = -1;
    const char *name = path->is_plain ? path->text : "";

    *ret_failed = path->is_plain ? WASI_SUCCESS : path_walk(wasi, path, O_PATH | O_NOFOLLOW, &fd);
    if (*ret_failed)
        return -1;
    ssize_t len = readlinkat(path->is_plain ? path->dir->host : fd, name, text, size);
    if (len < 0)
        *ret_failed = errno == ENOENT && !path->is_plain ? WASI_EINVAL : wasi_errno_of(errno);
    return len;
}

uint32_t call_path_readlink(struct wasi *wasi, const struct wasi_memory *memory,
                            const uint64_t *args)
{
    static const struct path_need need = {"path_readlink", RIGHT_PATH_READLINK, false};
    uint32_t size = (uint32_t) args[4], used_at = (uint32_t) args[5];
    void *buffer = memory_at(memory, (uint32_t) args[3], size);
    char text[PATH_MAX];
    struct path path;
    uint32_t failed = path_take(wasi, memory, (uint32_t) args[0], (uint32_t) args[1],
                                (uint32_t) args[2], &need, &path);

    if (failed)
        return failed;
    if (buffer == NULL || memory_at(memory, used_at, sizeof(uint32_t)) == NULL)
        return WASI_EFAULT;
    ssize_t len = read_link(wasi, &path, text, sizeof(text), &failed);
    if (failed)
        return failed;
    uint32_t used = (size_t) len < size ? (uint32_t) len : size;
    memcpy(buffer, text, used);
    (void) memory_put_u32(memory, used_at, used); /* checked above */
    return WASI_SUCCESS;
}
