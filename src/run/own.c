#include "run/own.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

#define MAX_DEPTH 256

void own_init(struct own *own, const struct places *places)
{
    *own = (struct own){{
        {places->cache_dir, "cache"},
        {places->state_dir, "state"},
        {places->config_dir, "configuration"},
        {places->program_dir, "programs"},
    }};
}

static bool same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* 1 if `wanted` is `dir` or a directory above it, 0 if not, -1 and errno if that cannot be seen. */
static int is_at_or_above(const struct stat *wanted, int dir)
{
    char path[3 * MAX_DEPTH + 2] = ".";
    struct stat st, below = {.st_ino = 0};
    for (size_t len = 1; len + 3 < sizeof(path); len += 3) {
        if (fstatat(dir, path, &st, 0) < 0)
            return -1;
        if (same(&st, wanted))
            return 1;
        if (same(&st, &below))
            return 0; /* the root is its own parent */
        below = st;
        memcpy(path + len, "/..", 4);
    }
    errno = ELOOP;
    return -1;
}

/* The folder, or where it would be made: the nearest ancestor that exists. */
static int open_nearest(const char *path)
{
    char text[4096];
    size_t len = strlen(path);
    if (len >= sizeof(text))
        return -1;
    memcpy(text, path, len + 1);
    for (;;) {
        int fd = open(text, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (fd >= 0 || (errno != ENOENT && errno != ENOTDIR))
            return fd;
        char *slash = strrchr(text, '/');
        if (slash == NULL)
            return -1;
        slash[slash == text] = '\0';
    }
}

static int refuse(const char *name, const char *verb, const struct own_folder *folder,
                  struct err *err)
{
    (void) err_set(err, ERR_DENIED, "the grant '%s' %s wasp's own %s folder '%s'", name, verb,
                   folder->what, folder->path);
    return err_hint(err, "grant a directory elsewhere, one that holds the guest's files only");
}

/* What cannot be judged is not granted. */
static int judge(int verdict, const char *verb, const char *name, const struct own_folder *folder,
                 struct err *err)
{
    if (verdict == 0)
        return 0;
    if (verdict > 0)
        return refuse(name, verb, folder, err);
    (void) err_sys(err, ERR_REQUEST, "cannot look at what is above the directory '%s'", name);
    return err_hint(err, "grant a directory that you can enter");
}

int own_refuse(const struct own *own, int dir, const struct stat *st, const char *name,
               struct err *err)
{
    for (size_t i = 0; i < OWN_FOLDERS; i++) {
        const struct own_folder *folder = &own->folders[i];
        struct stat folder_stat;
        if (folder->path == NULL)
            continue;
        if (stat(folder->path, &folder_stat) == 0 &&
            judge(is_at_or_above(&folder_stat, dir), "lies inside", name, folder, err) < 0)
            return -1;
        _cleanup_fd_ int nearest = open_nearest(folder->path);
        if (nearest >= 0 && judge(is_at_or_above(st, nearest), "contains", name, folder, err) < 0)
            return -1;
    }
    return 0;
}
