/*
 * path: the one resolver. Every path of a guest comes through here and meets three questions: is
 * the descriptor a directory with the rights for it, may this grant be changed, and does the path
 * stay beneath the directory.
 *
 * The kernel walks: openat2 with RESOLVE_BENEATH and RESOLVE_NO_MAGICLINKS. What creates, removes
 * or renames a name opens the name's parent that way and acts on the last component alone. The
 * kernel does not follow a last component in these calls, not even with a slash behind it; in calls
 * that look a name up (stat, utimens, readlink) a slash does make it follow, so those go through
 * path_walk unless the path is one plain name.
 */
#pragma once

#include <limits.h>

#include "cell/wasi/memory.h"
#include "cell/wasi/state.h"

/* What a call needs of the directory it starts at. */
struct path_need {
    const char *action; /* the function's name, for denials */
    uint64_t rights;
    bool writes; /* refused with EROFS on a read-only grant */
};

struct path {
    const struct path_need *need;
    struct fd_entry *dir; /* valid until a descriptor is added */
    bool is_plain;        /* one name: no slash, neither "." nor ".." */
    size_t len;
    char text[PATH_MAX]; /* never empty, never absolute */
};

/* Where a last component lives. */
struct path_parent {
    int fd;
    int owned;        /* the same if it must be closed, or -1; see path_parent_release */
    const char *name; /* into the path: the last component with the slashes behind it */
};

/* Copies the guest's path and judges it as text. Returns a WASI errno; a refusal has been told. */
uint32_t path_take(struct wasi *wasi, const struct wasi_memory *memory, uint32_t fd,
                   uint32_t pointer, uint32_t len, const struct path_need *need,
                   struct path *ret_path);
/* Opens beneath the directory; flags are open's. Returns a WASI errno. */
uint32_t path_walk(struct wasi *wasi, const struct path *path, int flags, int *ret_fd);
/* Opens what holds the last component. Returns a WASI errno; release the parent in either case. */
uint32_t path_open_parent(struct wasi *wasi, const struct path *path,
                          struct path_parent *ret_parent);
void path_parent_release(struct path_parent *parent);
#define PATH_PARENT_INIT                    \
    {                                       \
        .fd = -1, .owned = -1, .name = NULL \
    }
