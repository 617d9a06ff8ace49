/*
 * module: the .wasm file. Opened once; read at most once, into a sealed memfd, so that what was
 * hashed is what is compiled.
 */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

#include "base/digest.h"
#include "base/err.h"
#include "run/cache.h"

/* Larger files are refused: nothing that people build comes near, and it bounds the compiler's
 * input. */
#define MODULE_MAX_BYTES (256ULL << 20)

struct module {
    const char *path; /* for messages */
    int file;
    struct stat st; /* from before anything was read */
    int bytes;      /* sealed memfd; -1 until it was read */
    struct digest digest;
};

/* Opens it: a regular file of a sane size. 0, or -1 and *err; module_release in both cases. */
int module_open(const char *path, struct module *ret_module, struct err *err);
/* Fills in the digest, from memory where the cache knows the file. */
int module_digest(struct module *module, const struct cache *cache, struct err *err);
/* Reads it, if that has not happened. Fails if what is read is not what the digest says. */
int module_read(struct module *module, struct err *err);
void module_release(struct module *module);
