/*
 * Listing a directory. The kernel's own positions are the cookies, so they stay good while names
 * come and go.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cell/wasi/abi.h"
#include "cell/wasi/calls.h"
#include "cell/wasi/errno.h"
#include "cell/wasi/filestat.h"
#include "cell/wasi/memory.h"
#include "cell/wasi/state.h"

/* At least one entry of any file system; at most as much as is worth asking for at once. */
#define MIN_LIST_BYTES 2048
#define MAX_LIST_BYTES 32768

struct listing {
    const struct wasi *wasi;
    const struct fd_entry *dir;
    uint8_t *at; /* where the next entry goes */
    size_t left;
};

static uint8_t type_of(const struct listing *listing, const struct dirent64 *entry)
{
    struct stat st;

    if (entry->d_type != DT_UNKNOWN)
        return filetype_of(DTTOIF(entry->d_type));
    if (fstatat(listing->dir->host, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return FILETYPE_UNKNOWN; /* gone since */
    return filetype_of(st.st_mode);
}

/*
 * The parent of a grant's root is none of the guest's business: there, ".." is the root itself, as
 * in "/".
 */
static uint64_t inode_of(const struct listing *listing, const struct dirent64 *entry)
{
    const struct grant *grant = &listing->wasi->grants[listing->dir->grant];
    struct stat st;

    if (strcmp(entry->d_name, "..") != 0)
        return entry->d_ino;
    if (filestat_host(listing->dir->host, &st) < 0 ||
        (st.st_dev == grant->dev && st.st_ino == grant->ino))
        return grant->ino;
    return entry->d_ino;
}

static void put_bytes(struct listing *listing, const void *bytes, size_t len)
{
    size_t fits = len < listing->left ? len : listing->left;

    memcpy(listing->at, bytes, fits);
    listing->at += fits;
    listing->left -= fits;
}

/*
 * The last entry is cut where the guest's buffer ends: a full buffer is how the guest learns that
 * there is more.
 */
static void put_entry(struct listing *listing, const struct dirent64 *entry)
{
    size_t len = strlen(entry->d_name);
    struct abi_dirent dirent = {
        .next = (uint64_t) entry->d_off,
        .ino = inode_of(listing, entry),
        .name_len = (uint32_t) len,
        .type = type_of(listing, entry),
    };

    put_bytes(listing, &dirent, sizeof(dirent));
    put_bytes(listing, entry->d_name, len);
}

/* Returns a WASI errno, *ret_bytes 0 at the end of the directory. */
static uint32_t read_entries(const struct listing *listing, char *entries, long *ret_bytes)
{
    size_t size = listing->left < MIN_LIST_BYTES ? MIN_LIST_BYTES : listing->left;

    if (size > MAX_LIST_BYTES)
        size = MAX_LIST_BYTES;
    *ret_bytes = syscall(SYS_getdents64, listing->dir->host, entries, size);
    if (*ret_bytes < 0)
        return errno == ENOENT ? WASI_SUCCESS
                               : wasi_errno_of(errno); /* removed: empty, as libcs have it */
    return WASI_SUCCESS;
}

static uint32_t list(struct listing *listing)
{
    _Alignas(struct dirent64) char entries[MAX_LIST_BYTES];

    while (listing->left > 0) {
        long bytes;
        uint32_t failed = read_entries(listing, entries, &bytes);
        if (failed || bytes <= 0)
            return failed;
        for (long at = 0; at < bytes && listing->left > 0;) {
            const struct dirent64 *entry = (const struct dirent64 *) (entries + at);
            put_entry(listing, entry);
            at += entry->d_reclen;
        }
    }
    return WASI_SUCCESS;
}

uint32_t call_fd_readdir(struct wasi *wasi, const struct wasi_memory *memory, const uint64_t *args)
{
    uint32_t size = (uint32_t) args[2], used_at = (uint32_t) args[4];
    struct fd_entry *dir;
    uint32_t failed = fds_get(&wasi->fds, (uint32_t) args[0], RIGHT_FD_READDIR, &dir);

    if (failed)
        return failed;
    struct listing listing = {wasi, dir, memory_at(memory, (uint32_t) args[1], size), size};
    if (listing.at == NULL || memory_at(memory, used_at, sizeof(uint32_t)) == NULL)
        return WASI_EFAULT;
    if (args[3] > INT64_MAX)
        return WASI_EINVAL;
    /* always: descriptors of one directory may share a position */
    if (lseek(dir->host, (off_t) args[3], SEEK_SET) < 0)
        return wasi_errno_of(errno);
    failed = list(&listing);
    if (failed)
        return failed;
    (void) memory_put_u32(memory, used_at, size - (uint32_t) listing.left); /* checked above */
    return WASI_SUCCESS;
}
