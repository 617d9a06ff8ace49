/*
 * place: where a path of the guest's leads, found out without opening what is there. For this room
 * alone.
 */
#pragma once

#include <limits.h>
#include <sys/stat.h>

#include "broker/calls.h"

struct place {
    const struct broker_scope *scope;
    const char *path;    /* as the guest wrote it, without "." and "//" */
    int dir;             /* the directory it is in, O_PATH */
    int file;            /* the file, O_PATH; -1: it is to be written, or not there */
    const char *name;    /* in the directory */
    char real[PATH_MAX]; /* where it is, by the kernel's word */
    bool exists;         /* st holds */
    struct stat st;
};

#define PLACE_NONE            \
    {                         \
        .dir = -1, .file = -1 \
    }

void place_release(struct place *place);

/*
 * A regular file that is there, beneath a scope; links that stay beneath it are followed. 0, or -1
 * and call->err; call->target is the path.
 */
int place_to_read(struct call *call, const char *path, struct place *place);
/*
 * A regular file, or none yet, in a directory beneath a writable scope, and not by a protected
 * name. A link at the end is refused.
 */
int place_to_write(struct call *call, const char *path, struct place *place);
/* A file of the kernel's is refused. 0, or -1 and call->err. */
int place_check_kernel_file(struct call *call, int fd, const char *path);
/* Fails as errno says; `doing` is "read", "written". Returns -1. */
int place_fail(struct call *call, const char *path, const char *doing);
