/*
 * fds: the guest's descriptors, each with its rights.
 *
 * Rights say what the guest may do with a descriptor, and can only shrink from a directory to what
 * is opened through it. Whether a grant is writable is not a right but a mark that everything below
 * inherits (`writable`): libcs mask what they ask for with the rights they see, so a read-only
 * grant without RIGHT_FD_WRITE would open files for writing "successfully" and fail later.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wasi;

#define GRANT_NONE UINT32_MAX

struct fd_entry {
    int host;         /* -1: this number is free */
    uint8_t filetype; /* enum abi_filetype */
    bool owned;    /* closed with the entry; the standard streams and the roots of grants are not */
    bool is_stdio; /* not counted as disk, may block */
    bool is_preopen;
    bool can_seek;
    bool writable;       /* the grant's mark */
    uint8_t at;          /* where it lies (plan/protected.h); in a writable grant */
    uint16_t flags;      /* enum abi_fdflags, as the guest sees them */
    uint32_t grant;      /* index, or GRANT_NONE */
    uint64_t next_write; /* where the last write ended: one that begins there is in order */
    uint64_t base;
    uint64_t inheriting;
};

struct fds {
    struct fd_entry *entries;
    uint32_t size;       /* entries there are; grows up to max */
    uint32_t max;        /* the limit of open files */
    uint32_t first_free; /* no number below it is free */
};

/*
 * Rights that make sense for a file and for a directory; asking for others is no error, they are
 * left out.
 */
extern const uint64_t rights_of_file;
extern const uint64_t rights_of_directory;

void fds_init(struct fds *fds, uint32_t max);
/* Closes what it owns. */
void fds_release(struct fds *fds);
/*
 * Adds at the lowest free number. Returns a WASI errno: EMFILE at the limit, ENOMEM. The entry's
 * host descriptor then still belongs to the caller.
 */
uint32_t fds_add(struct fds *fds, const struct fd_entry *entry, uint32_t *ret_fd);
/* True if another entry fits, so that nothing need be created for a guest that cannot have it. */
bool fds_has_room(const struct fds *fds);
/* The entry, or NULL. It is valid until the next fds_add. */
struct fd_entry *fds_find(struct fds *fds, uint32_t fd);
/*
 * The entry if it has all of `rights`. Otherwise a WASI errno: EBADF, or what a POSIX program
 * expects of such a file.
 */
uint32_t fds_get(struct fds *fds, uint32_t fd, uint64_t rights, struct fd_entry **ret_entry);
/* Frees the number. Returns a WASI errno; the number is free unless it is EBADF. */
uint32_t fds_close(struct fds *fds, uint32_t fd);
/* Moves `from` to the open number `to`, which is closed. Nothing happens unless it returns 0. */
uint32_t fds_move(struct fds *fds, uint32_t from, uint32_t to);
