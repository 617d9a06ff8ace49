/*
 * changes_host: looking at, reading and copying files beneath a directory that others write to. For
 * store/changes_*.c alone.
 */
#pragma once

#include "plan/request.h"
#include "store/changes_record.h"

/*
 * Where a path's last name is, beneath a root: never through a symlink, never into another mount.
 * The parent of the last path is kept open for the next one.
 */
struct changes_place {
    int root;   /* borrowed */
    int parent; /* -1: none is kept; never the root */
    char parent_path[CHANGES_PATH_SIZE];
};

/*
 * 0, with the directory that holds the path's last name (it stays the place's, until the next
 * call) and the name; or -1 and errno.
 */
int changes_place_enter(struct changes_place *place, const char *path, int *ret_parent,
                        const char **ret_name);
void changes_place_forget(struct changes_place *place);
void changes_place_release(struct changes_place *place);

/*
 * What has that name. Not there is an answer, too. -1 and errno: EXDEV if it is a mount, of which
 * *ret_host is then the root.
 */
int changes_look(int parent, const char *name, struct change_host *ret_host);
/*
 * The same thing, and as far as its times and size tell, nobody touched it in between. Strictly:
 * nor a name of it. Without, it may have lost other names: that is what removing them does.
 */
bool changes_is_same(const struct change_host *a, const struct change_host *b, bool strictly);
/* Opens a regular file for reading: never waits, never follows. Or -1 and errno. */
int changes_open_file(int parent, const char *name);
/* Its target as text. 0, or -1 and errno. */
int changes_read_link(int parent, const char *name, char ret_target[CHANGES_PATH_SIZE]);
/* Whether both have the same bytes, from the start on. -1 and errno if one cannot be read. */
int changes_compare(int a, int b, bool *ret_equal);
/* Copies a file of that size; holes stay holes. 0, or -1 and errno. */
int changes_copy(int from, int to, uint64_t size);

/* ---- the host's directories of a set --------------------------------------------------------- */

struct changes_hosts {
    int fds[REQUEST_MAX_DIRS];
    size_t count;
    struct changes_place place; /* in the directory of the last entry asked for */
};

/* 0, or -1 and *err if one is not there any more, or another. Release in both cases. */
int changes_hosts_open(const struct changes *changes, struct changes_hosts *ret_hosts,
                       struct err *err);
void changes_hosts_release(struct changes_hosts *hosts);
/* As changes_place_enter, in the directory of the entry. */
int changes_hosts_enter(struct changes_hosts *hosts, const struct change *change, int *ret_parent,
                        const char **ret_name);

/* What a new file is called until it gets its name. */
#define CHANGES_TEMP_PREFIX ".wasp-"
#define CHANGES_TEMP_SIZE 72
void changes_temp_name(const char *run_id, const struct change *change,
                       char ret_name[CHANGES_TEMP_SIZE]);
/* Removes that file of the entry, if there is one. */
void changes_host_clean(struct changes_hosts *hosts, const char *run_id,
                        const struct change *change);
