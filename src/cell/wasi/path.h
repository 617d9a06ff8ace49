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
 *
 * In a writable grant a fourth question: does it touch a protected name (plan/protected.h)? The
 * path as text tells, if the kernel followed no symlink. So there it may not (RESOLVE_NO_SYMLINKS):
 * where it meets one, we put the link's text in its place and ask again, both the question and the
 * kernel. What was judged is then what was opened, even if links are swapped meanwhile; and a path
 * without links costs no call more. Each descriptor carries where it lies, for paths that begin
 * there, and that stays true while other names are moved: see protected_walk. Any symlink is safe
 * to have, for it is judged when it is used.
 *
 * What this cannot see: that a file has a second, protected name (a hard link that was there
 * before; making one is refused), or that a protected name is a symlink, which protects the link
 * but not what it leads to.
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

/* What a call is about to do, as far as protected names care. */
enum path_change {
    CHANGE_NOTHING,
    CHANGE_ATTRIBUTES,
    CHANGE_DIRECTORY, /* makes or removes one */
    CHANGE_NAME,      /* makes, writes or removes a file or link; renames anything */
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
/*
 * As path_walk, for what is changed by that or kept open: a protected name is refused. *ret_at says
 * where it lies.
 */
uint32_t path_reach(struct wasi *wasi, const struct path *path, int flags, enum path_change change,
                    int *ret_fd, uint8_t *ret_at);
/* As path_reach for a path that is plain, without opening it. */
uint32_t path_judge(struct wasi *wasi, const struct path *path, enum path_change change);
/* Opens what holds the last component. Returns a WASI errno; release the parent in either case. */
uint32_t path_open_parent(struct wasi *wasi, const struct path *path, enum path_change change,
                          struct path_parent *ret_parent);
void path_parent_release(struct path_parent *parent);
#define PATH_PARENT_INIT                    \
    {                                       \
        .fd = -1, .owned = -1, .name = NULL \
    }
