/*
 * cache: compiled modules, kept by content.
 *
 *   CACHE/code/KEY.cwasm   native code as wasp-compile wrote it
 *   CACHE/code/KEY.seal    its MAC, and the identity of the file that was checked against it
 *   CACHE/memo/ID          digest of a module file, by the file's identity
 *   CACHE/tmp/             files that are being written; the next run sweeps what a killed one left
 *   STATE/cache.key        the key of the MACs: who can write the cache, but not read the state,
 *                          forges nothing. (Who still writes while a run maps the code can change
 *                          it; the folder is its owner's alone, and the code runs in a cell.)
 *
 * KEY is a digest of the module's digest, the engine's version and settings and the CPU. Everything
 * read here is doubted: what does not carry our MAC is as if it were not there. A run without a
 * usable cache is slower and says so; it does not fail.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/digest.h"
#include "base/err.h"
#include "run/run.h"

struct cache {
    int code; /* folder; -1: no cache */
    int memo;
    int temp;
    bool no_exec; /* its file system maps nothing executable */
    uint8_t key[DIGEST_KEY_BYTES];
    uint64_t max_bytes;
};

/* What makes code different for the same module. */
struct cache_settings {
    bool use_fuel;
    bool pulley;
};

/* 0, or -1 and *err where there can be none: *ret_cache is then a cache that never has anything. */
int cache_open(const struct places *places, struct cache *ret_cache, struct err *err);
void cache_release(struct cache *cache);

void cache_key(const struct digest *module, const struct cache_settings *settings,
               struct digest *ret_key);
/* A descriptor of checked code, or -1 if there is none that can be trusted. */
int cache_find(const struct cache *cache, const struct digest *key);

/* A memfd for code that is being compiled, and closing it for changes: then it can go to a cell. */
int cache_begin(int *ret_fd, struct err *err);
int cache_close(int fd, struct err *err);
/*
 * Keeps a copy of the code under that key and makes room for it. 0, or -1 and *err: the code is
 * good to run all the same.
 */
int cache_keep(const struct cache *cache, const struct digest *key, int code, struct err *err);
/* Forgets an entry that turned out not to load. */
void cache_forget(const struct cache *cache, const struct digest *key);
/* Removes the temporary files of killed runs. Returns how many went; quick where there are none. */
int cache_sweep(const struct cache *cache);
/* Removes the least recently used entries until the rest fits. Returns how many went. */
int cache_evict(const struct cache *cache);

/* Forgets all digests once there are too many: most are of files that are long gone. */
void cache_trim_memo(const struct cache *cache);
/* The digest of a module file whose identity is remembered, if that can be trusted. */
bool cache_recall(const struct cache *cache, const struct stat *st, struct digest *ret_digest);
/* Remembers it; st is from before the file was read, so a change during the reading shows. */
void cache_remember(const struct cache *cache, const struct stat *st, const struct digest *digest);
