/*
 * view: what a native guest finds at /. A tmpfs of its own with the host's system on it, read-only,
 * its own places to write, and the grants. Made by descriptor while the host's tree is still there,
 * put together after it is gone, and then made read-only.
 */
#pragma once

#include "cell/cell.h"

/* A mount that hangs nowhere yet, and where it belongs. */
struct view_part {
    int mount;
    const char *path; /* relative to the root */
};

#define VIEW_MAX_PARTS 24

struct view_parts {
    struct view_part items[VIEW_MAX_PARTS];
    size_t count;
};

struct view {
    struct cell *cell;
    int root;                 /* the tmpfs */
    struct view_parts system; /* the host's, read-only */
    struct view_parts own;    /* devices, /proc, scratch: put there when the rest is read-only */
    int proc;                 /* among the own; -1: none */
    int empty;                /* a directory with nothing in it; -1: not needed */
};

/* Keeps a mount until it is put in its place; it is then the view's. */
int view_add(struct view_parts *parts, int mount, const char *path, struct err *err);
/* Puts all of them in their places. */
int view_attach(const struct view *view, const struct view_parts *parts, struct err *err);
/* Lets Landlock know. The descriptor must stay. */
int view_allow(struct cell *cell, int fd, enum cell_right right, const char *name, struct err *err);
/* A directory of ours in the tmpfs; those above it are there. */
int view_make_dir(const struct view *view, const char *path, struct err *err);
/* A place that a request names, and the directories above it, never through a link. */
int view_make_place(const struct view *view, const char *path, struct err *err);
/* An empty file that something is mounted on. */
int view_make_file(const struct view *view, const char *path, struct err *err);

/* The landlock rung: lets Landlock know the same places on the host. */
int view_allow_host(struct cell *cell, struct err *err);

/* The stages, in this order; the host's tree is gone between the first two groups. */
typedef int view_stage(struct view *view, struct err *err);
view_stage view_take_system;  /* /usr and its like, parts of /etc */
view_stage view_take_rootfs;  /* or a tree instead */
view_stage view_take_devices; /* and the terminal, if there is one */
view_stage view_take_proc;
view_stage view_raise_loopback; /* --loopback; no part of the view, but made with it */
view_stage view_write_files;    /* /etc, the source text */
/* --- */
view_stage view_enter_rootfs;  /* --rootfs: its parts instead of the host's */
view_stage view_take_scratch;  /* /tmp, /dev/shm, HOME */
view_stage view_make_overlays; /* before the root is read-only: upper layers lie in it */
view_stage view_place_grants;  /* with their pins */
view_stage view_mask_proc;
