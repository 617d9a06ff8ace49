/*
 * own: wasp's own folders. A guest that could write there would write compiled code, and one that
 * could read there, keys.
 */
#pragma once

#include <sys/stat.h>

#include "base/err.h"
#include "run/run.h"

#define OWN_FOLDERS 4

struct own {
    struct own_folder {
        const char *path; /* NULL: there is none */
        const char *what;
    } folders[OWN_FOLDERS];
};

void own_init(struct own *own, const struct places *places);
/*
 * 0 if the directory neither contains one of them nor lies inside one; else -1 and *err
 * (ERR_DENIED). By identity, not by name: a bind mount or a symlink does not get around it.
 */
int own_refuse(const struct own *own, int dir, const struct stat *st, const char *name,
               struct err *err);
