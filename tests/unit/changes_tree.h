/*
 * changes_tree: trees for the tests of store/changes_*.c: made from tables, as text to compare, and
 * as what a guest left in a real overlay. Each program includes this header once.
 */
#pragma once

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "store/changes.h"

#define MAYBE_UNUSED __attribute__((unused))
#define RUN_ID "01890a5d-ac96-774b-bcce-b302099a8057"

/* Where those are made: a disk, or, for a test that makes many, a file system in memory. */
static const char *ground_home = "/tmp";

/* What a test needs on the disk: the host's directory, the guest's layer, wasp's folder. */
struct ground {
    char base[64], lower[80], upper[80], state[80];
    uint64_t started_ns;
    struct arena *arena;
};

/* ---- one file -------------------------------------------------------------------------------- */

enum tree_kind {
    TREE_FILE,
    TREE_DIR,
    TREE_LINK, /* text is its target */
    TREE_FIFO,
    TREE_SOCKET,
    TREE_WHITEOUT, /* as the kernel makes them */
    TREE_MARKED,   /* a whiteout of the other kind: an empty file with an attribute */
    TREE_OPAQUE,   /* marks the directory, which is there */
    TREE_HARD,     /* another name of the file that text names */
};

struct tree_item {
    const char *path;
    enum tree_kind kind;
    const char *text;
    mode_t mode; /* 0: the usual one */
};

MAYBE_UNUSED static bool make_file(int root, const char *path, const char *text, mode_t mode)
{
    _cleanup_fd_ int fd = openat(root, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    return fd >= 0 && fd_write_all(fd, text ? text : "", text ? strlen(text) : 0) == 0 &&
           fchmod(fd, mode ? mode : 0644) == 0;
}

MAYBE_UNUSED static bool mark(int root, const char *path, const char *name, const char *value)
{
    _cleanup_fd_ int fd = openat(root, path, O_RDONLY | O_CLOEXEC);

    return fd >= 0 && fsetxattr(fd, name, value, strlen(value), 0) == 0;
}

MAYBE_UNUSED static bool make_item(int root, const struct tree_item *item)
{
    switch (item->kind) {
    case TREE_FILE:
        return make_file(root, item->path, item->text, item->mode);
    case TREE_DIR:
        return (mkdirat(root, item->path, 0700) == 0 || errno == EEXIST) &&
               fchmodat(root, item->path, item->mode ? item->mode : 0755, 0) == 0;
    case TREE_LINK:
        return symlinkat(item->text, root, item->path) == 0;
    case TREE_FIFO:
        return mknodat(root, item->path, S_IFIFO | 0644, 0) == 0;
    case TREE_SOCKET:
        return mknodat(root, item->path, S_IFSOCK | 0644, 0) == 0;
    case TREE_WHITEOUT:
        return mknodat(root, item->path, S_IFCHR | 0000, makedev(0, 0)) == 0;
    case TREE_MARKED:
        return make_file(root, item->path, "", 0) &&
               mark(root, item->path, "user.overlay.whiteout", "");
    case TREE_OPAQUE:
        return mark(root, item->path, "user.overlay.opaque", "y");
    case TREE_HARD:
        return linkat(root, item->text, root, item->path, 0) == 0;
    }
    return false;
}

/* A table ends with a row without a path. */
MAYBE_UNUSED static bool make_tree(const char *folder, const struct tree_item *items)
{
    _cleanup_fd_ int root = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    for (; root >= 0 && items->path; items++)
        if (!make_item(root, items)) {
            printf("# cannot make %s: %s\n", items->path, strerror(errno));
            return false;
        }
    return root >= 0;
}

/* ---- a tree as text -------------------------------------------------------------------------- */

MAYBE_UNUSED static void remove_tree(int parent, const char *name)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);

    if (fd < 0 && errno == EACCES && fchmodat(parent, name, 0700, 0) == 0) {
        fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        dir = fd < 0 ? NULL : fdopendir(fd);
    }
    if (!dir) {
        (void) unlinkat(parent, name, 0); /* a test's own leftovers */
        return;
    }
    (void) fchmod(fd, 0700); /* as above */
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            remove_tree(fd, entry->d_name);
    (void) closedir(dir);
    (void) unlinkat(parent, name, AT_REMOVEDIR); /* as above */
}

MAYBE_UNUSED static void add_leaf(int parent, const char *name, const struct stat *st,
                                  struct buf *text)
{
    char bytes[4096];
    ssize_t n = -1;

    if (S_ISLNK(st->st_mode))
        n = readlinkat(parent, name, bytes, sizeof(bytes));
    if (S_ISREG(st->st_mode)) {
        _cleanup_fd_ int fd = openat(parent, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        n = fd < 0 ? -1 : fd_read_full(fd, bytes, sizeof(bytes));
    }
    if (n >= 0)
        (void) buf_add(text, bytes, (size_t) n); /* a test's text is small */
}

/* A line for each: path, type and mode, content. Sorted, so that equal trees are equal texts. */
MAYBE_UNUSED static void add_tree(int parent, const char *name, const char *path, struct buf *text)
{
    struct dirent **entries = NULL;
    char below[4600];
    struct stat st;

    if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return;
    (void) buf_printf(text, "%s %06o ", path, st.st_mode); /* small, as above */
    add_leaf(parent, name, &st, text);
    (void) buf_add_char(text, '\n');
    if (!S_ISDIR(st.st_mode))
        return;
    _cleanup_fd_ int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int count = fd < 0 ? 0 : scandirat(fd, ".", &entries, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        const char *entry = entries[i]->d_name;
        (void) snprintf(below, sizeof(below), "%s/%s", path, entry); /* may be cut */
        if (strcmp(entry, ".") != 0 && strcmp(entry, "..") != 0)
            add_tree(fd, entry, below, text);
        free(entries[i]);
    }
    free(entries);
}

#define TREE_MAX (4 * 1024 * 1024)

MAYBE_UNUSED static void tree_text(const char *folder, struct buf *text)
{
    *text = (struct buf) BUF_INIT(TREE_MAX);
    add_tree(AT_FDCWD, folder, "", text);
}

MAYBE_UNUSED static bool same_tree(const char *folder, const struct buf *expected)
{
    _cleanup_(buf_release) struct buf now;

    tree_text(folder, &now);
    bool same = now.len == expected->len && memcmp(now.data, expected->data, now.len) == 0;
    if (!same)
        printf("# expected:\n%s# is:\n%s", expected->data, now.data);
    return same;
}

/* ---- the ground ------------------------------------------------------------------------------ */

/*
 * The run begins: files that were made are older than it. Times on the disk are up to a tick
 * behind, so it is waited until those that are made from here on are younger.
 */
MAYBE_UNUSED static void ground_start(struct ground *ground)
{
    struct timespec now = {0};

    ground->started_ns = clock_realtime_ns();
    while ((uint64_t) now.tv_sec * NS_PER_S + (uint64_t) now.tv_nsec <= ground->started_ns)
        (void) clock_gettime(CLOCK_REALTIME_COARSE, &now); /* cannot fail: the clock is there */
}

MAYBE_UNUSED static bool ground_init(struct ground *ground, const struct tree_item *lower)
{
    *ground = (struct ground){.arena = arena_new()};
    (void) snprintf(ground->base, sizeof(ground->base), "%s/wasp-changes-XXXXXX", ground_home);
    if (!ground->arena || !mkdtemp(ground->base))
        return false;
    (void) snprintf(ground->lower, sizeof(ground->lower), "%s/lower", ground->base);
    (void) snprintf(ground->upper, sizeof(ground->upper), "%s/upper", ground->base);
    (void) snprintf(ground->state, sizeof(ground->state), "%s/state", ground->base);
    if (mkdir(ground->lower, 0755) < 0 || mkdir(ground->upper, 0755) < 0 ||
        (lower && !make_tree(ground->lower, lower)))
        return false;
    ground_start(ground);
    return true;
}

MAYBE_UNUSED static void ground_release(struct ground *ground)
{
    arena_free(ground->arena);
    if (ground->base[0])
        remove_tree(AT_FDCWD, ground->base);
}

/* Keeps what is in a layer that is open. */
MAYBE_UNUSED static int keep_layer(struct ground *ground, int upper,
                                   const struct changes_limits *limits, struct changes *ret,
                                   struct err *err)
{
    _cleanup_fd_ int lower = open(ground->lower, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct changes_source source = {upper, lower, ground->lower, "/ws"};

    return changes_keep(ground->state, RUN_ID, &source, 1, ground->started_ns, limits,
                        ground->arena, ret, err);
}

MAYBE_UNUSED static int keep(struct ground *ground, const struct changes_limits *limits,
                             struct changes *ret, struct err *err)
{
    _cleanup_fd_ int upper = open(ground->upper, O_PATH | O_DIRECTORY | O_CLOEXEC);

    return keep_layer(ground, upper, limits, ret, err);
}

MAYBE_UNUSED static int apply(struct ground *ground, const struct changes_options *options,
                              struct changes_outcome *ret, struct err *err)
{
    static const struct changes_options none;

    return changes_apply(ground->state, RUN_ID, options ? options : &none, ground->arena, ret, err);
}

/* ---- a real overlay -------------------------------------------------------------------------- */

/* What a guest does: in the merged directory, as its own user. */
typedef void guest_acts(void);

MAYBE_UNUSED static bool write_proc(const char *path, const char *text)
{
    _cleanup_fd_ int fd = open(path, O_WRONLY | O_CLOEXEC);

    return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t) strlen(text);
}

MAYBE_UNUSED static bool send_fd(int socket, int fd)
{
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {0};
    char byte = 0;
    struct iovec iov = {&byte, 1};
    struct msghdr message = {.msg_iov = &iov,
                             .msg_iovlen = 1,
                             .msg_control = control.room,
                             .msg_controllen = sizeof(control.room)};

    control.header = (struct cmsghdr){
        .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
    return sendmsg(socket, &message, 0) == 1;
}

MAYBE_UNUSED static int receive_fd(int socket)
{
    char room[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8)));
    char byte;
    struct iovec iov = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room)};
    int fd = -1;

    if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) == 1 && CMSG_FIRSTHDR(&message))
        memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
    return fd;
}

/* Of user and mounts, with the caller as user 1000. */
MAYBE_UNUSED static bool enter_namespaces(void)
{
    char uid_map[64], gid_map[64];

    (void) snprintf(uid_map, sizeof(uid_map), "1000 %u 1", getuid());
    (void) snprintf(gid_map, sizeof(gid_map), "1000 %u 1", getgid());
    return unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 &&
           write_proc("/proc/self/setgroups", "deny") &&
           write_proc("/proc/self/uid_map", uid_map) && write_proc("/proc/self/gid_map", gid_map);
}

/* In the child: namespaces, a tmpfs for the layer, the overlay over it. */
MAYBE_UNUSED static bool enter_overlay(const struct ground *ground)
{
    char options[512], cell[80];

    (void) snprintf(cell, sizeof(cell), "%s/cell", ground->base);
    if (mkdir(cell, 0755) < 0 || !enter_namespaces() ||
        mount("tmpfs", cell, "tmpfs", 0, "size=16m,mode=0755") < 0 || chdir(cell) < 0 ||
        mkdir("upper", 0755) < 0 || mkdir("work", 0755) < 0 || mkdir("merged", 0755) < 0)
        return false;
    (void) snprintf(options, sizeof(options),
                    "lowerdir=%s,upperdir=%s/upper,workdir=%s/work,userxattr", ground->lower, cell,
                    cell);
    return mount("overlay", "merged", "overlay", 0, options) == 0 && chdir("merged") == 0;
}

MAYBE_UNUSED static void be_guest(const struct ground *ground, int socket, guest_acts *acts)
{
    if (!enter_overlay(ground)) {
        printf("# no overlay: %s\n", strerror(errno));
        (void) fflush(stdout); /* _exit does not */
        _exit(1);
    }
    acts();
    _cleanup_(buf_release) struct buf seen;
    char path[80];
    tree_text(".", &seen);
    (void) snprintf(path, sizeof(path), "%s/seen", ground->base);
    if (!make_file(AT_FDCWD, path, seen.data, 0644))
        _exit(1);
    int upper = open("../upper", O_PATH | O_DIRECTORY | O_CLOEXEC);
    _exit(upper >= 0 && send_fd(socket, upper) ? 0 : 1);
}

/*
 * Lets a guest act on the host's directory through an overlay of its own. The layer that it leaves
 * when it and its namespaces are gone, or -1. What it saw in the end is in the file BASE/seen.
 */
MAYBE_UNUSED static int run_guest(const struct ground *ground, guest_acts *acts)
{
    int sockets[2], status = 0;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
        return -1;
    pid_t child = fork();
    if (child == 0)
        be_guest(ground, sockets[1], acts);
    (void) close(sockets[1]); /* the child has its own */
    int upper = child < 0 ? -1 : receive_fd(sockets[0]);
    (void) close(sockets[0]); /* it was read from */
    bool well = child > 0 && waitpid(child, &status, 0) == child && status == 0;
    return well ? upper : -1;
}
