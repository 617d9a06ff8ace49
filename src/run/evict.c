/*
 * The size bound of the cache. Apart from cache.c because it alone walks the folder.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "run/cache.h"

#define MAX_ENTRIES 65536
#define MAX_MEMOS 4096

struct entry {
    char name[DIGEST_HEX]; /* the key in hex: the file's name without its suffix */
    uint64_t used_ns;      /* the seal's time; 0 for code without a seal */
    uint64_t bytes;
};

struct listing {
    struct entry *entries;
    size_t count;
    uint64_t bytes;
};

static void listing_release(struct listing *listing)
{
    free(listing->entries);
}

static void close_dir(DIR **dir)
{
    if (*dir != NULL)
        (void) closedir(*dir); /* only read from */
}

static uint64_t last_use_ns(int folder, const char *key)
{
    char name[DIGEST_HEX + 8];
    struct stat st;
    (void) snprintf(name, sizeof(name), "%s.seal", key); /* always fits */
    if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return 0;
    return (uint64_t) st.st_mtim.tv_sec * NS_PER_S + (uint64_t) st.st_mtim.tv_nsec;
}

static int add_entry(struct listing *listing, int folder, const char *file)
{
    struct stat st;
    size_t len = strlen(file);
    if (len != DIGEST_HEX - 1 + 6 || strcmp(file + DIGEST_HEX - 1, ".cwasm") != 0 ||
        listing->count == MAX_ENTRIES || fstatat(folder, file, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return 0;
    if ((listing->count & (listing->count - 1)) == 0) { /* full at each power of two */
        size_t capacity = listing->count == 0 ? 1 : 2 * listing->count;
        struct entry *more = reallocarray(listing->entries, capacity, sizeof(*more));
        if (more == NULL)
            return -1;
        listing->entries = more;
    }
    struct entry *entry = &listing->entries[listing->count++];
    memcpy(entry->name, file, DIGEST_HEX - 1);
    entry->name[DIGEST_HEX - 1] = '\0';
    entry->bytes = (uint64_t) st.st_size;
    entry->used_ns = last_use_ns(folder, entry->name);
    listing->bytes += entry->bytes;
    return 0;
}

static DIR *open_listing(int folder)
{
    int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return again < 0 ? NULL : fdopendir(again);
}

static int list_entries(int folder, struct listing *listing)
{
    _cleanup_(close_dir) DIR *dir = open_listing(folder);
    if (dir == NULL)
        return -1;
    for (const struct dirent *file; (file = readdir(dir)) != NULL;)
        if (add_entry(listing, folder, file->d_name) < 0)
            return -1;
    return 0;
}

static int by_use(const void *a, const void *b)
{
    const struct entry *left = a, *right = b;
    return (left->used_ns > right->used_ns) - (left->used_ns < right->used_ns);
}

static void remove_entry(int folder, const struct entry *entry)
{
    char name[DIGEST_HEX + 8];
    /* the seal first: code without one is never loaded. Runs that have it open go on. */
    (void) snprintf(name, sizeof(name), "%s.seal", entry->name);
    (void) unlinkat(folder, name, 0); /* what stays is taken by the next eviction */
    (void) snprintf(name, sizeof(name), "%s.cwasm", entry->name);
    (void) unlinkat(folder, name, 0);
}

int cache_evict(const struct cache *cache)
{
    _cleanup_(listing_release) struct listing listing = {.entries = NULL};
    int removed = 0;
    if (cache->code < 0 || list_entries(cache->code, &listing) < 0 || listing.count == 0)
        return 0;
    qsort(listing.entries, listing.count, sizeof(*listing.entries), by_use);
    for (size_t i = 0; i < listing.count && listing.bytes > cache->max_bytes; i++) {
        remove_entry(cache->code, &listing.entries[i]);
        listing.bytes -= listing.entries[i].bytes;
        removed++;
    }
    return removed;
}

void cache_trim_memo(const struct cache *cache)
{
    _cleanup_(close_dir) DIR *dir = open_listing(cache->memo);
    size_t count = 0;
    while (dir != NULL && readdir(dir) != NULL)
        count++;
    if (dir == NULL || count < MAX_MEMOS)
        return;
    rewinddir(dir);
    for (const struct dirent *file; (file = readdir(dir)) != NULL;)
        (void) unlinkat(cache->memo, file->d_name, 0); /* `.` and `..` stay; others next time */
}
