/*
 * module: the .wasm file. Opened once; read at most once, into a sealed memfd, so that what was
 * hashed is what is compiled. Or bytes that are part of the program, with a digest that the build
 * made: then nothing is opened, hashed or remembered.
 */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

#include "base/digest.h"
#include "base/err.h"
#include "plan/request.h"
#include "run/cache.h"

struct module {
    const void *embedded; /* NULL: it is a file */
    size_t embedded_len;
    int file;       /* -1 for an embedded one */
    struct stat st; /* of the file, from before anything was read */
    int bytes;      /* sealed memfd; -1 until it was read */
    struct digest digest;
};

/*
 * Opens the request's module: a regular file of a sane size. 0, or -1 and *err; module_release in
 * both cases.
 */
int module_open(const struct request *request, struct module *ret_module, struct err *err);
/* Fills in the digest, from memory where the cache knows the file. */
int module_digest(struct module *module, const struct cache *cache, struct err *err);
/* Reads it, if that has not happened. Fails if what is read is not what the digest says. */
int module_read(struct module *module, struct err *err);
void module_release(struct module *module);
