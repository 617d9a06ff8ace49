#include "run/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/folder.h"
#include "run/cpu.h"
#include "run/seal.h"

/*
 * Changes whenever old entries must not be used any more: engine version, our settings of it, the
 * format.
 */
#define CACHE_GENERATION "wasp-code-1 wasmtime-" WASP_ENGINE_VERSION
#define NAME_SIZE (DIGEST_HEX + 8)
/* A hit is noted in the seal's time stamp for the eviction's sake, not more often than this. */
#define TOUCH_NS (3600 * NS_PER_S)

/* ---- folders and the key --------------------------------------------------------------------- */

/*
 * Two first runs at once take turns on the new file's lock, and the second finds the key there. A
 * run that is killed in between leaves the new file, which the next first run takes up.
 */
static int create_key(int state, struct err *err)
{
    uint8_t key[DIGEST_KEY_BYTES];
    struct stat st;
    _cleanup_fd_ int fd =
        openat(state, "cache.key.new", O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 || flock(fd, LOCK_EX) < 0)
        return err_sys(err, ERR_HOST, "cannot write in the state folder");
    if (fstatat(state, "cache.key", &st, AT_SYMLINK_NOFOLLOW) == 0)
        return 0;
    random_bytes(key, sizeof(key));
    int rc = ftruncate(fd, 0);
    if (rc == 0)
        rc = fd_write_all(fd, key, sizeof(key));
    if (rc == 0)
        rc = fsync(fd); /* once in a cache's life: a crash must not leave an empty key for good */
    if (rc == 0)
        rc = renameat(state, "cache.key.new", state, "cache.key");
    wipe_bytes(key, sizeof(key));
    return rc == 0 ? 0 : err_sys(err, ERR_HOST, "cannot write the cache's key");
}

static int read_key(int state, uint8_t key[DIGEST_KEY_BYTES], struct err *err)
{
    struct stat st;
    _cleanup_fd_ int fd =
        openat(state, "cache.key", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) {
        if (create_key(state, err) < 0)
            return -1;
        fd = openat(state, "cache.key", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    }
    if (fd < 0 || fstat(fd, &st) < 0)
        return err_sys(err, ERR_HOST, "cannot open the cache's key");
    if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 077) != 0 ||
        fd_read_full(fd, key, DIGEST_KEY_BYTES) != DIGEST_KEY_BYTES)
        return err_set(
            err, ERR_HOST,
            "the cache's key 'cache.key' in the state folder is damaged or open to others");
    return 0;
}

static int open_folders(const struct places *places, struct cache *cache, struct err *err)
{
    _cleanup_fd_ int state = -1, root = -1, code = -1, memo = -1, temp = -1;
    struct statvfs fs;
    if (places->cache_dir == NULL || places->state_dir == NULL)
        return err_set(err, ERR_HOST,
                       "nowhere to keep code: set HOME, or WASP_CACHE_DIR and WASP_STATE_DIR");
    if (folder_open(places->state_dir, &state, err) < 0 || read_key(state, cache->key, err) < 0 ||
        folder_open(places->cache_dir, &root, err) < 0 ||
        folder_open_in(root, "code", &code, err) < 0 ||
        folder_open_in(root, "memo", &memo, err) < 0 || folder_open_in(root, "tmp", &temp, err) < 0)
        return -1;
    if (fstatvfs(code, &fs) < 0)
        return err_sys(err, ERR_HOST, "cannot stat the cache's file system");
    cache->no_exec = (fs.f_flag & ST_NOEXEC) != 0;
    cache->code = take_fd(&code);
    cache->memo = take_fd(&memo);
    cache->temp = take_fd(&temp);
    return 0;
}

int cache_open(const struct places *places, struct cache *ret_cache, struct err *err)
{
    *ret_cache =
        (struct cache){.code = -1, .memo = -1, .temp = -1, .max_bytes = places->cache_max_bytes};
    return open_folders(places, ret_cache, err);
}

void cache_release(struct cache *cache)
{
    cleanup_fd(&cache->code);
    cleanup_fd(&cache->memo);
    cleanup_fd(&cache->temp);
    cache->code = cache->memo = cache->temp = -1;
    wipe_bytes(cache->key, sizeof(cache->key));
}

/* ---- code ------------------------------------------------------------------------------------ */

void cache_key(const struct digest *module, const struct cache_settings *settings,
               struct digest *ret_key)
{
    struct sha256 sha;
    char text[128];
    sha256_init(&sha);
    int len = snprintf(text, sizeof(text), "%s fuel=%d pulley=%d\n", CACHE_GENERATION,
                       settings->use_fuel, settings->pulley);
    sha256_add(&sha, text, (size_t) len);
    sha256_add(&sha, module->bytes, sizeof(module->bytes));
    struct cpu_features cpu;
    cpu_features(&cpu);
    sha256_add(&sha, &cpu, sizeof(cpu));
    sha256_finish(&sha, ret_key);
}

static void name_entry(const struct digest *key, const char *suffix, char ret_name[NAME_SIZE])
{
    char hex[DIGEST_HEX];
    digest_hex(key, hex);
    (void) snprintf(ret_name, NAME_SIZE, "%s%s", hex, suffix); /* always fits */
}

static int mac_file(const struct cache *cache, int fd, struct digest *ret_mac)
{
    char bytes[65536];
    struct mac mac;
    off_t at = 0;
    ssize_t n;
    mac_init(&mac, cache->key);
    while ((n = pread(fd, bytes, sizeof(bytes), at)) > 0) {
        mac_add(&mac, bytes, (size_t) n);
        at += n;
    }
    mac_finish(&mac, ret_mac);
    return n < 0 ? -1 : 0;
}

static int write_seal(const struct cache *cache, const struct digest *key, int fd,
                      const struct digest *mac)
{
    char name[NAME_SIZE];
    struct stat st;
    struct seal seal;
    if (fstat(fd, &st) < 0)
        return -1;
    seal_make(&seal, cache->key, &st, mac, key);
    name_entry(key, ".seal", name);
    return seal_write(cache->temp, cache->code, name, &seal);
}

/*
 * Reads all of it where the seal does not speak of this very file at rest, and then seals it anew.
 */
static bool is_genuine(const struct cache *cache, const struct digest *key, int fd,
                       const struct stat *st)
{
    char name[NAME_SIZE];
    struct seal seal;
    struct digest mac;
    name_entry(key, ".seal", name);
    if (seal_read(cache->code, name, &seal) < 0 || !seal_is_ours(&seal, cache->key, key))
        return false;
    if (seal_covers(&seal, st))
        return true;
    if (mac_file(cache, fd, &mac) < 0 || !digest_equal(&mac, &seal.digest))
        return false;
    (void) write_seal(cache, key, fd, &mac); /* only saves the next run the reading */
    return true;
}

/* The seal's time is the entry's last use. */
static void note_use(const struct cache *cache, const struct digest *key)
{
    char name[NAME_SIZE];
    struct stat st;
    name_entry(key, ".seal", name);
    if (fstatat(cache->code, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        (uint64_t) st.st_mtim.tv_sec * NS_PER_S + TOUCH_NS < clock_realtime_ns())
        (void) utimensat(cache->code, name, NULL,
                         AT_SYMLINK_NOFOLLOW); /* eviction is less fair without it */
}

/* Copies all of a file; with mac, over the same bytes that are written. */
static int copy_file(int from, int to, struct mac *mac)
{
    char bytes[65536];
    ssize_t n;
    for (off_t at = 0; (n = pread(from, bytes, sizeof(bytes), at)) > 0; at += n) {
        if (mac != NULL)
            mac_add(mac, bytes, (size_t) n);
        if (fd_write_all(to, bytes, (size_t) n) < 0)
            return -1;
    }
    return n < 0 ? -1 : 0;
}

/*
 * Code must be mapped executable: where the cache's file system does not allow that, it runs out of
 * memory instead.
 */
static int copy_to_memory(int from)
{
    struct err err;
    int fd;
    if (cache_begin(&fd, &err) < 0)
        return -1;
    if (copy_file(from, fd, NULL) == 0 && cache_close(fd, &err) == 0)
        return fd;
    (void) close(fd); /* half a copy */
    return -1;
}

int cache_find(const struct cache *cache, const struct digest *key)
{
    char name[NAME_SIZE];
    struct stat st;
    if (cache->code < 0)
        return -1;
    name_entry(key, ".cwasm", name);
    _cleanup_fd_ int fd = openat(cache->code, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || !is_genuine(cache, key, fd, &st))
        return -1;
    note_use(cache, key);
    return cache->no_exec ? copy_to_memory(fd) : take_fd(&fd);
}

int cache_begin(int *ret_fd, struct err *err)
{
    int fd = fd_memory("wasp-code");
    if (fd < 0)
        return err_sys(err, ERR_HOST, "cannot make a memory file for the code");
    *ret_fd = fd;
    return 0;
}

int cache_close(int fd, struct err *err)
{
    if (fd_seal(fd) < 0)
        return err_sys(err, ERR_HOST, "cannot seal the code");
    return 0;
}

int cache_keep(const struct cache *cache, const struct digest *key, int code, struct err *err)
{
    char name[NAME_SIZE];
    struct temp_file file;
    struct digest digest;
    struct mac mac;
    if (cache->code < 0)
        return 0;
    name_entry(key, ".cwasm", name);
    if (temp_create(cache->temp, &file) < 0)
        return err_sys(err, ERR_HOST, "cannot write in the cache");
    mac_init(&mac, cache->key);
    if (copy_file(code, file.fd, &mac) < 0) {
        temp_drop(&file);
        return err_sys(err, ERR_HOST, "cannot keep the code in the cache");
    }
    mac_finish(&mac, &digest);
    if (temp_rename(&file, cache->code, name) < 0)
        return err_sys(err, ERR_HOST, "cannot keep the code in the cache");
    _cleanup_fd_ int named = openat(cache->code, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (named < 0 || write_seal(cache, key, named, &digest) < 0)
        return err_sys(err, ERR_HOST, "cannot seal the code in the cache");
    (void) cache_evict(cache); /* what cannot go now goes with the next one */
    return 0;
}

void cache_forget(const struct cache *cache, const struct digest *key)
{
    char name[NAME_SIZE];
    if (cache->code < 0)
        return;
    name_entry(key, ".seal", name);
    (void) unlinkat(cache->code, name,
                    0); /* if this fails the entry is written anew all the same */
}

int cache_sweep(const struct cache *cache)
{
    return cache->temp < 0 ? 0 : temp_sweep(cache->temp);
}

/* ---- digests of modules ---------------------------------------------------------------------- */

/* A file is remembered under its device and inode. */
static void name_memo(const struct stat *st, char ret_name[NAME_SIZE], struct digest *ret_subject)
{
    uint64_t id[2] = {st->st_dev, st->st_ino};
    struct sha256 sha;
    sha256_init(&sha);
    sha256_add(&sha, id, sizeof(id));
    sha256_finish(&sha, ret_subject);
    name_entry(ret_subject, "", ret_name);
}

bool cache_recall(const struct cache *cache, const struct stat *st, struct digest *ret_digest)
{
    char name[NAME_SIZE];
    struct digest subject;
    struct seal seal;
    if (cache->memo < 0)
        return false;
    name_memo(st, name, &subject);
    if (seal_read(cache->memo, name, &seal) < 0 || !seal_is_ours(&seal, cache->key, &subject) ||
        !seal_covers(&seal, st))
        return false;
    *ret_digest = seal.digest;
    return true;
}

void cache_remember(const struct cache *cache, const struct stat *st, const struct digest *digest)
{
    char name[NAME_SIZE];
    struct digest subject;
    struct seal seal;
    if (cache->memo < 0)
        return;
    name_memo(st, name, &subject);
    seal_make(&seal, cache->key, st, digest, &subject);
    if (seal.at_rest != 1)
        return;
    cache_trim_memo(cache);
    (void) seal_write(cache->temp, cache->memo, name,
                      &seal); /* only saves the next run the hashing */
}
