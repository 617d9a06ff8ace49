#include "cell/wasi/path.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "cell/wasi/denial.h"
#include "cell/wasi/errno.h"

/* As open(2) has it; the umask takes from it. */
#define NEW_FILE_MODE 0666

static uint32_t refuse(struct wasi *wasi, const struct path *path, const char *rule, uint32_t error)
{
    wasi_deny(wasi, path->need->action, path->dir, path->text, rule);
    return error;
}

static uint32_t copy_text(const struct wasi_memory *memory, uint32_t pointer, uint32_t len,
                          struct path *path)
{
    const char *text = memory_at(memory, pointer, len);

    if (text == NULL)
        return WASI_EFAULT;
    if (len == 0)
        return WASI_ENOENT;
    if (len >= sizeof(path->text))
        return WASI_ENAMETOOLONG;
    if (memchr(text, '\0', len) != NULL)
        return WASI_EINVAL;
    memcpy(path->text, text, len);
    path->text[len] = '\0';
    path->len = len;
    return WASI_SUCCESS;
}

/* "." or "..", with or without slashes behind it. */
static bool is_dots(const char *name)
{
    size_t dots = strspn(name, ".");

    return (dots == 1 || dots == 2) && name[dots + strspn(name + dots, "/")] == '\0';
}

uint32_t path_take(struct wasi *wasi, const struct wasi_memory *memory, uint32_t fd,
                   uint32_t pointer, uint32_t len, const struct path_need *need,
                   struct path *ret_path)
{
    uint32_t failed = fds_get(&wasi->fds, fd, need->rights, &ret_path->dir);
    if (failed)
        return failed;
    failed = copy_text(memory, pointer, len, ret_path);
    if (failed)
        return failed;
    ret_path->need = need;
    ret_path->is_plain = memchr(ret_path->text, '/', len) == NULL && !is_dots(ret_path->text);
    if (ret_path->text[0] == '/')
        return refuse(wasi, ret_path, RULE_OUTSIDE, WASI_EPERM);
    if (need->writes && !ret_path->dir->writable)
        return refuse(wasi, ret_path, RULE_READ_ONLY, WASI_EROFS);
    return WASI_SUCCESS;
}

/*
 * RESOLVE_BENEATH answers EXDEV to "..", to an absolute symlink and to a symlink that climbs out.
 */
static uint32_t open_beneath(struct wasi *wasi, const struct path *path, const char *text,
                             int flags, int *ret_fd)
{
    int fd = fd_openat2(path->dir->host, text, (unsigned int) flags, NEW_FILE_MODE,
                        RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS);

    if (fd < 0 && errno == EXDEV)
        return refuse(wasi, path, RULE_OUTSIDE, WASI_EPERM);
    if (fd < 0 && errno == EMFILE)
        wasi->counters.limits_hit |= HIT_OPEN_FILES;
    if (fd < 0)
        return wasi_errno_of(errno);
    *ret_fd = fd;
    return WASI_SUCCESS;
}

uint32_t path_walk(struct wasi *wasi, const struct path *path, int flags, int *ret_fd)
{
    return open_beneath(wasi, path, path->text, flags, ret_fd);
}

/* Where the last component begins: "c/" of "a/b/c/". */
static size_t find_last(const struct path *path)
{
    size_t at = path->len;

    while (at > 0 && path->text[at - 1] == '/')
        at--;
    while (at > 0 && path->text[at - 1] != '/')
        at--;
    return at;
}

/* A name of dots is never created or removed, but ".." may lead out, and that is worth telling. */
static uint32_t check_dots(struct wasi *wasi, const struct path *path)
{
    _cleanup_fd_ int fd = -1;

    return path_walk(wasi, path, O_PATH | O_DIRECTORY, &fd);
}

uint32_t path_open_parent(struct wasi *wasi, const struct path *path,
                          struct path_parent *ret_parent)
{
    size_t last = find_last(path);
    uint32_t failed = is_dots(path->text + last) ? check_dots(wasi, path) : WASI_SUCCESS;
    if (failed)
        return failed;

    ret_parent->name = path->text + last;
    ret_parent->fd = path->dir->host;
    ret_parent->owned = -1;
    if (last == 0)
        return WASI_SUCCESS;

    /* a copy, so that a refusal can still name the whole path */
    char parent[PATH_MAX];
    memcpy(parent, path->text, last);
    parent[last] = '\0';
    failed = open_beneath(wasi, path, parent, O_PATH | O_DIRECTORY, &ret_parent->owned);
    ret_parent->fd = ret_parent->owned;
    return failed;
}

void path_parent_release(struct path_parent *parent)
{
    cleanup_fd(&parent->owned);
}
