/*
 * protect_rig: a throwaway tree with names in it.
 */
#pragma once

#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "plan/protected.h"
#include "run/protect.h"

/* In memory where there is such a place: a hundred thousand files are made and removed. */
static char root[64];

__attribute__((unused)) static void die(const char *what)
{
    printf("Bail out! %s: %s\n", what, strerror(errno));
    exit(1);
}

__attribute__((unused)) static int remove_one(const char *path, const struct stat *st, int kind,
                                              struct FTW *where)
{
    (void) st;
    (void) kind;
    (void) where;
    return remove(path);
}

/* A new, empty tree; the working directory is in it. */
__attribute__((unused)) static int new_tree(void)
{
    if (chdir("/") < 0)
        die("chdir");
    (void) nftw(root, remove_one, 64, FTW_DEPTH | FTW_PHYS); /* the first time there is none */
    if ((mkdir(root, 0700) < 0 && errno != EEXIST) || chdir(root) < 0)
        die(root);
    int dir = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        die(root);
    return dir;
}

/* "a/b/" makes a directory, "a/b" a file, "a -> b" a link, and what is above them. */
__attribute__((unused)) static void plant(const char *what)
{
    char path[256];
    const char *arrow = strstr(what, " -> ");
    size_t len = arrow ? (size_t) (arrow - what) : strlen(what);

    (void) snprintf(path, sizeof(path), "%.*s", (int) len, what); /* fits */
    for (char *slash = strchr(path, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(path, 0755) < 0 && errno != EEXIST)
            die(path);
        *slash = '/';
    }
    if (path[len - 1] == '/')
        return;
    int fd = arrow ? symlink(arrow + 4, path) : open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0)
        die(path);
    if (!arrow)
        (void) close(fd); /* it is empty */
}

__attribute__((unused)) static void plant_all(const char *const *names)
{
    for (; *names != NULL; names++)
        plant(*names);
}

/* The tree's folder, and an arena; and both gone again. */
__attribute__((unused)) static struct arena *rig_begin(void)
{
    const char *place = access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp";
    struct arena *arena = arena_new();

    (void) snprintf(root, sizeof(root), "%s/wasp-protect.XXXXXX", place); /* fits */
    if (mkdtemp(root) == NULL || arena == NULL)
        die("mkdtemp");
    return arena;
}

__attribute__((unused)) static void rig_end(struct arena *arena)
{
    (void) close(new_tree()); /* only a path */
    (void) rmdir(root);       /* empty by now */
    arena_free(arena);
}
