/*
 * seal: small authenticated records about files: "the file of this identity has this digest". As
 * git's index does, a record is believed only if the file was at rest when it was made.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/digest.h"

/*
 * When two changes could carry the same time stamp: the coarsest file systems count in twos of
 * seconds.
 */
#define SEAL_RACY_NS (2 * 1000000000ULL)

struct seal_id {
    uint64_t dev, ino, size, mtime_ns, ctime_ns;
};

struct seal {
    char magic[8];
    struct seal_id id;
    uint64_t at_rest;     /* 1: the file had not changed for SEAL_RACY_NS when this was made */
    struct digest digest; /* of the file's bytes: SHA-256 of a module, MAC of code */
    struct digest
        subject; /* what the record is about, so that none can be renamed into another's place */
    struct digest mac; /* over all of the above */
};

void seal_make(struct seal *seal, const uint8_t key[DIGEST_KEY_BYTES], const struct stat *st,
               const struct digest *digest, const struct digest *subject);
/* True if it was made with this key about this subject. */
bool seal_is_ours(const struct seal *seal, const uint8_t key[DIGEST_KEY_BYTES],
                  const struct digest *subject);
/* True if it speaks of the file as it is now, and the file was at rest. */
bool seal_covers(const struct seal *seal, const struct stat *st);
/*
 * Reads and writes the record in a folder; writing replaces atomically, by way of temp. 0, or -1
 * and errno.
 */
int seal_read(int folder, const char *name, struct seal *ret_seal);
int seal_write(int temp, int folder, const char *name, const struct seal *seal);
