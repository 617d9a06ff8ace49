#include "cell/wasi/fds.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cell/wasi/abi.h"
#include "cell/wasi/errno.h"

#define FIRST_ENTRIES 16

/* Bytes live in files, names in directories. */
#define RIGHTS_OF_BYTES                                                                 \
    (RIGHT_FD_READ | RIGHT_FD_SEEK | RIGHT_FD_TELL | RIGHT_FD_WRITE | RIGHT_FD_ADVISE | \
     RIGHT_FD_ALLOCATE | RIGHT_FD_FILESTAT_SET_SIZE)
#define RIGHTS_OF_NAMES                                                                  \
    (RIGHT_PATH_CREATE_DIRECTORY | RIGHT_PATH_CREATE_FILE | RIGHT_PATH_LINK_SOURCE |     \
     RIGHT_PATH_LINK_TARGET | RIGHT_PATH_OPEN | RIGHT_FD_READDIR | RIGHT_PATH_READLINK | \
     RIGHT_PATH_RENAME_SOURCE | RIGHT_PATH_RENAME_TARGET | RIGHT_PATH_FILESTAT_GET |     \
     RIGHT_PATH_FILESTAT_SET_SIZE | RIGHT_PATH_FILESTAT_SET_TIMES | RIGHT_PATH_SYMLINK | \
     RIGHT_PATH_REMOVE_DIRECTORY | RIGHT_PATH_UNLINK_FILE)
#define RIGHTS_OF_BOTH                                                                       \
    (RIGHT_FD_DATASYNC | RIGHT_FD_SYNC | RIGHT_FD_FDSTAT_SET_FLAGS | RIGHT_FD_FILESTAT_GET | \
     RIGHT_FD_FILESTAT_SET_TIMES | RIGHT_POLL_FD_READWRITE)

const uint64_t rights_of_file = RIGHTS_OF_BYTES | RIGHTS_OF_BOTH;
const uint64_t rights_of_directory = RIGHTS_OF_NAMES | RIGHTS_OF_BOTH;

void fds_init(struct fds *fds, uint32_t max)
{
    *fds = (struct fds){.max = max};
}

static int close_host(struct fd_entry *entry)
{
    int closed = entry->owned ? close(entry->host) : 0;

    entry->host = -1;
    return closed;
}

void fds_release(struct fds *fds)
{
    for (uint32_t i = 0; i < fds->size; i++)
        if (fds->entries[i].host >= 0)
            (void) close_host(&fds->entries[i]); /* nobody is left to hear of it */
    free(fds->entries);
    *fds = (struct fds){.max = fds->max};
}

static uint32_t grow(struct fds *fds)
{
    uint32_t size = fds->size == 0 ? FIRST_ENTRIES : fds->size * 2;
    if (size > fds->max || size < fds->size)
        size = fds->max;
    if (size <= fds->size)
        return WASI_EMFILE;
    struct fd_entry *entries = reallocarray(fds->entries, size, sizeof(*entries));
    if (entries == NULL)
        return WASI_ENOMEM;
    for (uint32_t i = fds->size; i < size; i++)
        entries[i] = (struct fd_entry){.host = -1};
    fds->entries = entries;
    fds->size = size;
    return WASI_SUCCESS;
}

static void skip_taken(struct fds *fds)
{
    while (fds->first_free < fds->size && fds->entries[fds->first_free].host >= 0)
        fds->first_free++;
}

uint32_t fds_add(struct fds *fds, const struct fd_entry *entry, uint32_t *ret_fd)
{
    skip_taken(fds);
    if (fds->first_free == fds->size) {
        uint32_t failed = grow(fds);
        if (failed)
            return failed;
    }
    *ret_fd = fds->first_free++;
    fds->entries[*ret_fd] = *entry;
    return WASI_SUCCESS;
}

bool fds_has_room(const struct fds *fds)
{
    if (fds->size < fds->max)
        return true;
    for (uint32_t i = fds->first_free; i < fds->size; i++)
        if (fds->entries[i].host < 0)
            return true;
    return false;
}

struct fd_entry *fds_find(struct fds *fds, uint32_t fd)
{
    if (fd >= fds->size || fds->entries[fd].host < 0)
        return NULL;
    return &fds->entries[fd];
}

/*
 * The first row that fits says why a right is missing: wasi-libc passes these on as errno, and
 * programs look at it.
 */
static uint32_t why_missing(const struct fd_entry *entry, uint64_t missing)
{
    bool is_directory = entry->filetype == FILETYPE_DIRECTORY;
    const struct {
        bool applies;
        uint64_t rights;
        uint32_t error;
    } rows[] = {
        {is_directory, RIGHTS_OF_BYTES, WASI_EISDIR},
        {!is_directory, RIGHTS_OF_NAMES, WASI_ENOTDIR},
        {!entry->can_seek, RIGHT_FD_SEEK | RIGHT_FD_TELL, WASI_ESPIPE},
        {true, RIGHT_FD_READ | RIGHT_FD_WRITE, WASI_EBADF}, /* opened for the other direction */
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        if (rows[i].applies && (missing & rows[i].rights))
            return rows[i].error;
    return WASI_ENOTCAPABLE;
}

uint32_t fds_get(struct fds *fds, uint32_t fd, uint64_t rights, struct fd_entry **ret_entry)
{
    struct fd_entry *entry = fds_find(fds, fd);

    if (entry == NULL)
        return WASI_EBADF;
    if ((entry->base & rights) != rights)
        return why_missing(entry, rights & ~entry->base);
    *ret_entry = entry;
    return WASI_SUCCESS;
}

uint32_t fds_close(struct fds *fds, uint32_t fd)
{
    struct fd_entry *entry = fds_find(fds, fd);

    if (entry == NULL)
        return WASI_EBADF;
    if (fd < fds->first_free)
        fds->first_free = fd;
    return close_host(entry) < 0 ? wasi_errno_of(errno) : WASI_SUCCESS;
}

uint32_t fds_move(struct fds *fds, uint32_t from, uint32_t to)
{
    struct fd_entry *source = fds_find(fds, from);
    struct fd_entry *target = fds_find(fds, to);

    if (source == NULL || target == NULL)
        return WASI_EBADF;
    if (from == to)
        return WASI_SUCCESS;
    (void) close_host(target); /* as dup2: what was there is gone either way */
    *target = *source;
    source->host = -1;
    if (from < fds->first_free)
        fds->first_free = from;
    return WASI_SUCCESS;
}
