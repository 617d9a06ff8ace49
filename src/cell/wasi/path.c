#include "cell/wasi/path.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "cell/wasi/denial.h"
#include "cell/wasi/errno.h"
#include "plan/protected.h"

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
                             int flags, uint64_t resolve, int *ret_fd)
{
    int fd = fd_openat2(path->dir->host, text, (unsigned int) flags, NEW_FILE_MODE,
                        RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | resolve);

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
    return open_beneath(wasi, path, path->text, flags, 0, ret_fd);
}

/* ---- protected names ------------------------------------------------------------------------- */

static uint32_t judge(struct wasi *wasi, const struct path *path, uint8_t at,
                      enum path_change change)
{
    const char *rule = change == CHANGE_NAME         ? protected_at_move(at)
                       : change == CHANGE_DIRECTORY  ? protected_at_name(at)
                       : change == CHANGE_ATTRIBUTES ? protected_at_rule(at)
                                                     : NULL;

    return rule != NULL ? refuse(wasi, path, RULE_PROTECTED, WASI_EACCES) : WASI_SUCCESS;
}

uint32_t path_judge(struct wasi *wasi, const struct path *path, enum path_change change)
{
    if (!path->dir->writable)
        return WASI_SUCCESS; /* whatever it is, it changes nothing */
    return judge(wasi, path, protected_walk(path->dir->at, path->text, wasi->config.unprotected),
                 change);
}

/* As text says; ELOOP if the text is not the whole truth, and nothing has then happened. */
static uint32_t open_straight(struct wasi *wasi, const struct path *path, const char *text,
                              int flags, enum path_change change, int *ret_fd, uint8_t *ret_at)
{
    uint8_t at = protected_walk(path->dir->at, text, wasi->config.unprotected);
    uint32_t failed = judge(wasi, path, at, change);

    if (!failed)
        failed = open_beneath(wasi, path, text, flags, RESOLVE_NO_SYMLINKS, ret_fd);
    if (!failed)
        *ret_at = at;
    return failed;
}

/* The text of the link that a path ends in; 0 if it is no link. Nothing on the way may be one. */
static uint32_t read_link(struct wasi *wasi, const struct path *path, const char *text,
                          char ret_link[PATH_MAX], size_t *ret_len)
{
    _cleanup_fd_ int fd = -1;
    uint32_t failed = open_beneath(wasi, path, text, O_PATH | O_NOFOLLOW, RESOLVE_NO_SYMLINKS, &fd);
    ssize_t len = failed ? -1 : readlinkat(fd, "", ret_link, PATH_MAX - 1);

    *ret_len = len > 0 ? (size_t) len : 0;
    ret_link[*ret_len] = '\0';
    return failed;
}

/*
 * Puts a link's text in the place of its first link. A link at the very end stays where flags have
 * O_NOFOLLOW; a slash behind it makes it no end. Returns a WASI errno, ELOOP if there is no link to
 * follow.
 */
static uint32_t follow_first_link(struct wasi *wasi, const struct path *path, int flags,
                                  char text[PATH_MAX])
{
    char link[PATH_MAX], rest[PATH_MAX];
    size_t len = 0, begin, end = 0;

    do {
        begin = end + strspn(text + end, "/");
        end = begin + strcspn(text + begin, "/");
        if (begin == end)
            return WASI_ELOOP;
        memcpy(rest, text + end, strlen(text + end) + 1);
        text[end] = '\0';
        uint32_t failed = read_link(wasi, path, text, link, &len);
        text[end] = rest[0];
        if (failed)
            return failed;
    } while (len == 0);
    if (rest[0] == '\0' && (flags & O_NOFOLLOW))
        return WASI_ELOOP;
    if (link[0] == '/')
        return refuse(wasi, path, RULE_OUTSIDE, WASI_EPERM);
    if (begin + len + strlen(rest) >= PATH_MAX)
        return WASI_ENAMETOOLONG;
    (void) snprintf(text + begin, PATH_MAX - begin, "%s%s", link, rest); /* fits, see above */
    return WASI_SUCCESS;
}

/* As many links as the kernel would follow. */
#define MAX_LINKS 40

static uint32_t open_through_links(struct wasi *wasi, const struct path *path, const char *given,
                                   int flags, enum path_change change, int *ret_fd, uint8_t *ret_at)
{
    char text[PATH_MAX];

    memcpy(text, given, strlen(given) + 1);
    for (int links = 0; links < MAX_LINKS; links++) {
        uint32_t failed = follow_first_link(wasi, path, flags, text);
        if (!failed)
            failed = open_straight(wasi, path, text, flags, change, ret_fd, ret_at);
        if (failed != WASI_ELOOP)
            return failed;
    }
    return WASI_ELOOP;
}

/* Below a read-only grant nothing is protected from anything. */
static uint32_t reach(struct wasi *wasi, const struct path *path, const char *text, int flags,
                      enum path_change change, int *ret_fd, uint8_t *ret_at)
{
    if (!path->dir->writable) {
        *ret_at = PROTECTED_NOWHERE;
        return open_beneath(wasi, path, text, flags, 0, ret_fd);
    }
    uint32_t failed = open_straight(wasi, path, text, flags, change, ret_fd, ret_at);
    if (failed != WASI_ELOOP)
        return failed;
    return open_through_links(wasi, path, text, flags, change, ret_fd, ret_at);
}

uint32_t path_reach(struct wasi *wasi, const struct path *path, int flags, enum path_change change,
                    int *ret_fd, uint8_t *ret_at)
{
    return reach(wasi, path, path->text, flags, change, ret_fd, ret_at);
}

/* ---- parents --------------------------------------------------------------------------------- */

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

uint32_t path_open_parent(struct wasi *wasi, const struct path *path, enum path_change change,
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
        return path_judge(wasi, path, change);

    /* a copy, so that a refusal can still name the whole path */
    char parent[PATH_MAX];
    uint8_t at = PROTECTED_NOWHERE;
    memcpy(parent, path->text, last);
    parent[last] = '\0';
    failed =
        reach(wasi, path, parent, O_PATH | O_DIRECTORY, CHANGE_NOTHING, &ret_parent->owned, &at);
    ret_parent->fd = ret_parent->owned;
    if (failed || !path->dir->writable)
        return failed;
    at = protected_walk(at, ret_parent->name, wasi->config.unprotected);
    return judge(wasi, path, at, change);
}

void path_parent_release(struct path_parent *parent)
{
    cleanup_fd(&parent->owned);
}
