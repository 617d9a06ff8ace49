/*
 * folder: wasp's own folders: ours alone, or not used.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"

/*
 * Opens a folder by absolute path, making what is missing (0700). Refused if it belongs to somebody
 * else or others can write to it. 0 and a descriptor the caller owns, or -1 and *err.
 */
int folder_open(const char *path, int *ret_fd, struct err *err);
/* The same for a single name in an open folder. */
int folder_open_in(int parent, const char *name, int *ret_fd, struct err *err);

struct folder_names {
    const char **items;
    size_t count;
};

/* The names in it that end so, sorted. 0, or -1 and errno; *ret_names is then untouched. */
int folder_list(int folder, const char *suffix, struct arena *arena,
                struct folder_names *ret_names);
/* Removes a file, unless somebody holds a lock on it; true if it went. */
bool folder_sweep_one(int folder, const char *name);

/*
 * A file that is being written: it has its name only when it is whole. Locked, so that a sweep
 * knows it is alive.
 */
struct temp_file {
    int folder; /* where it lies; borrowed */
    int fd;     /* open for reading and writing; 0600 */
    char name[24];
};

/* 0, or -1 and errno. */
int temp_create(int folder, struct temp_file *ret_file);
/*
 * Gives it its name, replacing what is there, and closes it. 0, or -1 and errno; it is then gone.
 */
int temp_rename(struct temp_file *file, int folder, const char *name);
void temp_drop(struct temp_file *file);
/* Removes the files in the folder that nobody holds any more; returns how many. */
int temp_sweep(int folder);
