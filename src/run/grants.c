#include "run/grants.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mount.h"
#include "run/identity.h"
#include "run/own.h"
#include "run/protect.h"

static int refuse(const char *host, struct err *err)
{
    int number = errno;
    (void) err_sys(err, ERR_REQUEST, "cannot grant the directory '%s'", host);
    if (number == ENOENT && strchr(host, ':') != NULL)
        return err_hint(err, "another name or access for the guest is written "
                             "HOST::GUEST[:ro|:rw|:overlay], as in .::/ws:ro");
    if (number == ENOENT)
        return err_hint(err, "create it first");
    if (number == ENOTDIR)
        return err_hint(err, "grant the directory that holds it");
    return err_hint(err, "grant a directory that you can open");
}

int grants_changed(const char *path, struct err *err)
{
    (void) err_set(err, ERR_DENIED, "'%s' is not what it was when the policy judged it", path);
    return err_hint(err, "something else was put in its place meanwhile: ask again");
}

static int open_dir(const struct request_dir *dir, int *ret_fd, struct stat *ret_stat,
                    struct err *err)
{
    /* the owner's own symlink at the root of a grant is followed, this once */
    _cleanup_fd_ int fd = open(dir->host, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, ret_stat) < 0) {
        return refuse(dir->host, err);
    }
    if (dir->is_judged &&
        (dir->judged.dev != ret_stat->st_dev || dir->judged.ino != ret_stat->st_ino))
        return grants_changed(dir->host, err);
    *ret_fd = take_fd(&fd);
    return 0;
}

/* How the directory reaches the cell. */
static int hand_over(struct grants *grants, struct identity_maps *maps, int *fd,
                     const struct stat *st, const struct request_dir *dir, struct err *err)
{
    int user_namespace, clone;
    uint64_t attributes =
        mount_attributes(dir->access != ACCESS_RW, grants->backend == BACKEND_NATIVE);
    switch (grants->identity) {
    case IDENTITY_USER:
        return 0; /* by path, in the cell's own mount namespace; dev and ino are in the plan */
    case IDENTITY_CALLER:
        grants->fds[grants->n_fds++] = take_fd(fd);
        return 0;
    case IDENTITY_RANGE:
        break;
    }
    if (identity_map(maps, st->st_uid, st->st_gid, grants->host_uid, &user_namespace, err) < 0 ||
        mount_detach(*fd, dir->host, attributes, user_namespace, &clone, err) < 0)
        return err_step(err, "root");
    grants->fds[grants->n_fds++] = clone;
    return 0;
}

/* Where a directory lies on the host: by the kernel's own word for the one that was opened. */
static int find_path(const struct request_dir *dir, int fd, struct arena *arena,
                     const char **ret_path, struct err *err)
{
    char link[32], path[PATH_MAX];
    (void) snprintf(link, sizeof(link), "/proc/self/fd/%d", fd); /* fits */
    ssize_t len = readlink(link, path, sizeof(path) - 1);
    if (len < 0)
        return err_sys(err, ERR_HOST, "cannot see where the directory '%s' lies", dir->host);
    path[len] = '\0';
    *ret_path = arena_strdup(arena, path);
    return *ret_path ? 0 : err_no_memory(err);
}

/* A native guest finds a plain directory where it lies on the host. */
static int check_place(const struct request_dir *dir, const char *path, struct err *err)
{
    if (request_check_place(path, err) == 0)
        return 0;
    (void) err_prefix(err, "the directory '%s'", dir->host); /* always -1 */
    return err_hint(err, "name another place for it in the guest's view: HOST::GUEST");
}

static int place_native(struct grants *grants, size_t index, const struct request_dir *dir, int fd,
                        struct arena *arena, struct err *err)
{
    struct plan_grant *planned = &grants->planned[index];
    if (find_path(dir, fd, arena, &grants->paths[index], err) < 0 ||
        (dir->plain && check_place(dir, grants->paths[index], err) < 0))
        return -1;
    if (dir->plain)
        planned->guest = grants->paths[index];
    for (size_t i = 0; i < index; i++)
        if (strcmp(grants->planned[i].guest, planned->guest) == 0)
            return err_set(err, ERR_REQUEST,
                           "guest path '%s' is given twice: '%s' is found there already",
                           planned->guest, grants->planned[i].host);
    grants->hosts[index] = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (grants->hosts[index] < 0)
        return err_sys(err, ERR_HOST, "cannot keep the directory '%s' open", dir->host);
    grants->n_hosts = index + 1;
    return 0;
}

static int open_grants(const struct request *request, const struct own *own,
                       struct identity_maps *maps, struct grants *grants, struct arena *arena,
                       struct err *err)
{
    for (size_t i = 0; i < request->n_dirs; i++) {
        const struct request_dir *dir = &request->dirs[i];
        _cleanup_fd_ int fd = -1;
        struct stat st;
        if (open_dir(dir, &fd, &st, err) < 0 || own_refuse(own, fd, &st, dir->host, err) < 0)
            return -1;
        grants->planned[i] = (struct plan_grant){
            .host = dir->host,
            .guest = dir->guest,
            .also_dot = dir->also_dot,
            .at = dir->access == ACCESS_RW ? protect_root(fd, dir->host, request->unprotected) : 0,
            .access = dir->access,
            .dev = st.st_dev,
            .ino = st.st_ino,
        };
        if (request->backend == BACKEND_NATIVE && place_native(grants, i, dir, fd, arena, err) < 0)
            return -1;
        if (hand_over(grants, maps, &fd, &st, dir, err) < 0)
            return -1;
    }
    return 0;
}

/* Never 0, which programs take for root, nor what the kernel shows for owners it does not map. */
static uint32_t usable_id(uint32_t id)
{
    return id == 0 || id == 65534 || id == UINT32_MAX ? CELL_UID : id;
}

/*
 * A native guest has the ids that its files have on the host. It is looks alone: which owner's
 * files are its own is decided when the directories are opened.
 */
static void choose_inside(const struct request *request, struct grants *grants)
{
    struct stat st = {.st_uid = CELL_UID, .st_gid = CELL_UID};
    if (request->backend == BACKEND_NATIVE && grants->identity == IDENTITY_USER) {
        st.st_uid = geteuid();
        st.st_gid = getegid();
    } else if (request->backend == BACKEND_NATIVE && request->n_dirs > 0) {
        (void) stat(request->dirs[0].host, &st); /* opening it says what is wrong */
    }
    grants->uid = usable_id(st.st_uid);
    grants->gid = usable_id(st.st_gid);
}

int grants_choose(const struct request *request, const struct places *places,
                  struct grants *ret_grants, struct err *err)
{
    *ret_grants = (struct grants){.uid_lock = -1, .backend = request->backend};
    if (identity_choose(request->isolation, places, &ret_grants->identity, &ret_grants->host_uid,
                        &ret_grants->uid_lock, err) < 0)
        return err_step(err, "identity");
    choose_inside(request, ret_grants);
    return 0;
}

int grants_open(struct grants *grants, const struct request *request, const struct places *places,
                struct arena *arena, struct err *err)
{
    if (request->n_dirs == 0)
        return 0;
    grants->count = request->n_dirs;
    grants->planned = arena_array(arena, request->n_dirs, sizeof(*grants->planned));
    if (grants->planned == NULL)
        return err_set(err, ERR_HOST, "no memory for %zu grants", request->n_dirs);
    struct own own;
    own_init(&own, places);
    _cleanup_(identity_maps_release) struct identity_maps maps = {.count = 0};
    return open_grants(request, &own, &maps, grants, arena, err);
}

void grants_release(struct grants *grants)
{
    for (size_t i = 0; i < grants->n_fds; i++)
        cleanup_fd(&grants->fds[i]);
    for (size_t i = 0; i < grants->n_hosts; i++)
        cleanup_fd(&grants->hosts[i]);
    grants->n_fds = grants->n_hosts = 0;
    cleanup_fd(&grants->uid_lock);
    grants->uid_lock = -1;
}
