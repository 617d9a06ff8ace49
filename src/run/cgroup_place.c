#include "run/cgroup_place.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fd.h"

#define OWN_BYTES (16UL << 10)      /* of /proc/self/cgroup: a line for each hierarchy */
#define MOUNTS_BYTES (1024UL << 10) /* of /proc/self/mountinfo: several thousand mounts */

/* Fixed in the kernel: inode of the first cgroup namespace, and of the root of any hierarchy. */
#define FIRST_CGROUP_NAMESPACE 0xeffffffbUL
#define HIERARCHY_ROOT 1UL

static const char *const controllers[CGROUP_SLOTS] = {
    [CGROUP_MEMORY] = "memory",
    [CGROUP_PIDS] = "pids",
    [CGROUP_CPUACCT] = "cpuacct",
};

/* Where we are, as /proc/self/cgroup has it; NULL: no such hierarchy. */
struct own {
    char text[OWN_BYTES];
    const char *v1[CGROUP_SLOTS];
    const char *v2;
    bool is_from_root; /* we are in the first cgroup namespace: others have a root of their own */
};

/* One hierarchy to look for. */
struct wanted {
    const char *controller; /* NULL: v2 */
    const char *path;       /* ours in it */
    bool is_from_root;      /* and told from the hierarchy's root */
};

/* True if the item stands in a list with commas. */
static bool has_item(const char *list, const char *item)
{
    size_t len = strlen(item);
    for (const char *at = list; at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, item, len) == 0 && (at[len] == ',' || at[len] == '\0'))
            return true;
    }
    return false;
}

/* ---- where we are ---------------------------------------------------------------------------- */

/* "4:memory:/path" or, for v2, "0::/path". */
static void take_line(struct own *own, char *line)
{
    (void) strsep(&line, ":"); /* its number */
    const char *list = strsep(&line, ":");
    if (list == NULL || line == NULL || line[0] != '/')
        return;
    if (list[0] == '\0')
        own->v2 = line;
    for (int i = 0; i < CGROUP_SLOTS; i++)
        if (has_item(list, controllers[i]))
            own->v1[i] = line;
}

static int read_own(struct own *own)
{
    _cleanup_fd_ int fd = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : fd_read_full(fd, own->text, sizeof(own->text) - 1);
    if (n < 0 || n == sizeof(own->text) - 1)
        return -1;
    own->text[n] = '\0';
    for (char *rest = own->text, *line; (line = strsep(&rest, "\n")) != NULL;)
        take_line(own, line);
    struct stat st;
    own->is_from_root =
        stat("/proc/self/ns/cgroup", &st) == 0 && st.st_ino == FIRST_CGROUP_NAMESPACE;
    return 0;
}

/* ---- the usual places ------------------------------------------------------------------------ */

static int open_at(const char *mount_point, const char *path, bool is_v2)
{
    char whole[2 * PATH_MAX];
    struct statfs fs;
    int len = snprintf(whole, sizeof(whole), "%s%s", mount_point, path);
    if (len < 0 || (size_t) len >= sizeof(whole))
        return -1;
    _cleanup_fd_ int fd = open(whole, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fstatfs(fd, &fs) < 0 ||
        fs.f_type != (is_v2 ? CGROUP2_SUPER_MAGIC : CGROUP_SUPER_MAGIC))
        return -1;
    return take_fd(&fd);
}

/*
 * Good if the root is mounted there and not a part of the hierarchy, as in a container. Else the
 * list of mounts has to say where; it takes longer to read than all of this.
 */
static int open_usual(const struct wanted *wanted, const char *mount_point)
{
    struct stat st;
    if (!wanted->is_from_root || stat(mount_point, &st) < 0 || st.st_ino != HIERARCHY_ROOT)
        return -1;
    return open_at(mount_point, wanted->path, wanted->controller == NULL);
}

/* ---- any other place ------------------------------------------------------------------------- */

struct mount_line {
    char *root, *point, *type, *options;
};

/* "36 31 0:33 ROOT POINT rw,relatime shared:1 - TYPE SOURCE OPTIONS" */
static bool parse_mount(char *line, struct mount_line *ret_mount)
{
    char *fields[5] = {NULL}, *at = line;
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
        fields[i] = strsep(&at, " ");
    char *dash = at == NULL ? NULL : strstr(at, " - ");
    if (dash == NULL)
        return false;
    at = dash + strlen(" - ");
    char *type = strsep(&at, " ");
    (void) strsep(&at, " "); /* its source is just a word */
    if (at == NULL)
        return false;
    *ret_mount = (struct mount_line){fields[3], fields[4], type, at};
    return true;
}

/* Blanks and the like are written as \040 there. */
static void unescape(char *text)
{
    char *to = text;
    for (const char *from = text; *from != '\0'; to++) {
        char digits[4] = "";
        if (*from == '\\' && strspn(from + 1, "01234567") >= 3) {
            memcpy(digits, from + 1, 3);
            *to = (char) strtol(digits, NULL, 8);
            from += 4;
        } else {
            *to = *from++;
        }
    }
    *to = '\0';
}

/* The path as seen from the mount's root, or NULL: not below it. */
static const char *below(const char *path, const char *root)
{
    size_t len = strlen(root);
    if (strstr(path, "/..") != NULL || strstr(root, "/..") != NULL)
        return NULL; /* outside of our cgroup namespace: no names for what lies between */
    if (strcmp(root, "/") == 0)
        return path;
    bool fits = strncmp(path, root, len) == 0 && (path[len] == '/' || path[len] == '\0');
    return fits ? path + len : NULL;
}

static int open_mount(struct mount_line *mount, const struct wanted *wanted)
{
    bool is_v2 = wanted->controller == NULL;
    if (strcmp(mount->type, is_v2 ? "cgroup2" : "cgroup") != 0 ||
        (!is_v2 && !has_item(mount->options, wanted->controller)))
        return -1;
    unescape(mount->root);
    unescape(mount->point);
    const char *rest = below(wanted->path, mount->root);
    return rest == NULL ? -1 : open_at(mount->point, rest, is_v2);
}

/* Page by page: more the kernel does not give at once. */
static int read_mounts(struct buf *mounts)
{
    _cleanup_fd_ int fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : 1;
    while (n > 0) {
        char *room;
        if (buf_reserve(mounts, 4096, &room) < 0)
            return -1;
        n = fd_read_full(fd, room, 4096);
        if (n > 0)
            buf_commit(mounts, (size_t) n);
    }
    return n < 0 ? -1 : 0;
}

static int open_listed(const struct wanted *wanted)
{
    _cleanup_(buf_release) struct buf mounts = BUF_INIT(MOUNTS_BYTES);
    if (read_mounts(&mounts) < 0)
        return -1;
    int fd = -1;
    for (char *rest = mounts.data, *line; fd < 0 && (line = strsep(&rest, "\n")) != NULL;) {
        struct mount_line mount;
        if (parse_mount(line, &mount))
            fd = open_mount(&mount, wanted);
    }
    return fd;
}

/* ---- v2 -------------------------------------------------------------------------------------- */

/* Of a small file; false if it cannot be read. */
static bool read_line(int folder, const char *name, char *ret_text, size_t size)
{
    _cleanup_fd_ int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : fd_read_full(fd, ret_text, size - 1);
    if (n < 0)
        return false;
    ret_text[n] = '\0';
    ret_text[strcspn(ret_text, "\n")] = '\0';
    return true;
}

/* "cpu memory pids" */
static bool shares_out(int folder)
{
    char text[512];
    if (!read_line(folder, "cgroup.subtree_control", text, sizeof(text)))
        return false;
    for (char *at = text; (at = strchr(at, ' ')) != NULL;)
        *at = ',';
    return has_item(text, "memory") && has_item(text, "pids");
}

/* The kernel says no where that folder has processes of its own: then nothing has changed. */
static bool make_share_out(int folder)
{
    static const char both[] = "+memory +pids";
    _cleanup_fd_ int fd =
        openat(folder, "cgroup.subtree_control", O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
    return fd >= 0 && write(fd, both, strlen(both)) == (ssize_t) strlen(both);
}

/* Going from our cgroup to one below that folder takes the right to write its list. */
static bool is_offered(int folder)
{
    return faccessat(folder, "cgroup.procs", W_OK, AT_EACCESS) == 0 &&
           (shares_out(folder) || make_share_out(folder));
}

/*
 * A limit on the cgroup we are in must hold for the run, which would be beside it. Its pids.max
 * does not count: systemd sets a wide one on everything, and a run always has its own.
 */
static bool is_unlimited(int folder)
{
    static const char *const files[] = {"memory.max", "memory.high", "cpu.max"};
    for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
        char text[64];
        if (read_line(folder, files[i], text, sizeof(text)) && strncmp(text, "max", 3) != 0)
            return false;
    }
    return true;
}

static bool find_v2(struct cgroup *cgroup, const struct own *found)
{
    const struct wanted wanted = {NULL, found->v2, found->is_from_root};
    _cleanup_fd_ int own = open_usual(&wanted, "/sys/fs/cgroup");
    if (own < 0)
        own = open_listed(&wanted);
    if (own < 0)
        return false;
    if (is_offered(own)) {
        cgroup->parents[0] = take_fd(&own);
        return true;
    }
    _cleanup_fd_ int parent = fd_openat2(own, "..", O_PATH | O_DIRECTORY, 0, RESOLVE_NO_XDEV);
    if (parent < 0 || !is_offered(parent) || !is_unlimited(own))
        return false;
    cgroup->parents[0] = take_fd(&parent);
    return true;
}

/* ---- v1 -------------------------------------------------------------------------------------- */

static bool find_v1(struct cgroup *cgroup, const struct own *found)
{
    for (int i = 0; i < CGROUP_SLOTS; i++) {
        const struct wanted wanted = {controllers[i], found->v1[i], found->is_from_root};
        char usual[64];
        if (wanted.path == NULL)
            return false;
        (void) snprintf(usual, sizeof(usual), "/sys/fs/cgroup/%s", controllers[i]); /* fits */
        cgroup->parents[i] = open_usual(&wanted, usual);
        if (cgroup->parents[i] < 0)
            cgroup->parents[i] = open_listed(&wanted);
        if (cgroup->parents[i] < 0)
            return false;
    }
    return true;
}

void cgroup_find(struct cgroup *cgroup, unsigned int without)
{
    struct own own = {.v2 = NULL};
    if (read_own(&own) < 0)
        return;
    /* a controller that v1 has is not to be had from v2 */
    bool is_v1 = own.v1[CGROUP_MEMORY] != NULL || own.v1[CGROUP_PIDS] != NULL;
    if (!(without & CGROUP_WITHOUT_V2) && !is_v1 && own.v2 != NULL && find_v2(cgroup, &own))
        cgroup->kind = CGROUP_V2;
    else if (!(without & CGROUP_WITHOUT_V1) && is_v1 && find_v1(cgroup, &own))
        cgroup->kind = CGROUP_V1;
}
