/*
 * samples: guests that come with the command. Built from samples/ and embedded with their digests
 * at build time, so that running one reads and hashes no file.
 */
#pragma once

#include <stddef.h>

#include "base/digest.h"
#include "base/err.h"
#include "plan/request.h"

struct sample {
    const char *name;
    const char *description;
    const char *needs; /* what must be there for it to succeed; NULL: nothing */
    const void *bytes;
    size_t len;
    const struct digest *digest;
};

/* Their names and, in the same order, what they are. */
extern const char *const sample_names[]; /* NULL-terminated */
extern const struct sample samples[];

/* NULL and *err, which lists those there are. */
const struct sample *sample_find(const char *name, struct err *err);
/* Makes it the request's module. */
void sample_put(const struct sample *sample, struct request *request);
