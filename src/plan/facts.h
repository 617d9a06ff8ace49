/*
 * facts: what a request's names are on this host. plan/ touches no file, so run/facts.c finds out
 * and plan/ decides on it; what is used later is compared with what was decided on.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"

struct file_id {
    uint64_t dev, ino;
};

struct fact {
    bool is_known;
    const char *real; /* absolute, by the kernel's own word: no links, no ".." */
    struct file_id id;
    const char *asked; /* absolute, as it was written; NULL: it has a ".." in it */
};

struct facts {
    struct fact *dirs;     /* as many as the request has */
    struct fact *paths;    /* of its capabilities, as many as it has; unknown where none is named */
    struct fact *commands; /* programs of its commands, as many as it has */
    struct fact program;   /* unknown with a rootfs, or if it lies in no place known here */
    struct fact rootfs;    /* if it has one */
    struct fact module;    /* a file */
    struct digest module_sha256;
    bool has_module_sha256;
    struct fact stdin_file;
    const char *link; /* an agent's symlink at the root of a grant, which is refused; NULL: none */
};
