/* The judges of directories, declared in request.h with the others. */
#include <limits.h>
#include <string.h>

#include "base/cleanup.h"
#include "plan/request.h"

const char *request_path(struct arena *arena, const char *base, const char *path)
{
    if (path[0] == '/' || !base || base[0] == '\0')
        return arena_strdup(arena, path);
    return arena_printf(arena, "%s%s%s", base, base[strlen(base) - 1] == '/' ? "" : "/", path);
}

/*
 * The next component of a path that is neither empty nor ".", with its length; NULL after the last.
 * *at moves behind it.
 */
static const char *next_component(const char **at, size_t *ret_len)
{
    for (;;) {
        const char *start = *at + strspn(*at, "/");
        size_t len = strcspn(start, "/");
        *at = start + len;
        if (len == 0)
            return NULL;
        if (len != 1 || start[0] != '.') {
            *ret_len = len;
            return start;
        }
    }
}

/* Both name the same place for the guest, whatever their slashes and dots: "./a/" is "a". */
static bool same_guest(const char *a, const char *b)
{
    size_t a_len = 0, b_len = 0;

    if ((a[0] == '/') != (b[0] == '/'))
        return false;
    for (;;) {
        const char *x = next_component(&a, &a_len), *y = next_component(&b, &b_len);
        if (!x || !y)
            return x == y;
        if (a_len != b_len || memcmp(x, y, a_len) != 0)
            return false;
    }
}

/* As text: "/", "/./", "/tmp/..". What leads there by a symlink is seen when it is opened. */
static bool is_root(const char *path)
{
    size_t depth = 0, len;

    if (path[0] != '/')
        return false;
    for (const char *component; (component = next_component(&path, &len));) {
        if (len != 2 || memcmp(component, "..", 2) != 0)
            depth++;
        else if (depth > 0)
            depth--;
    }
    return depth == 0;
}

/*
 * What a native guest finds at / already. A directory granted there would hide the system from it,
 * or what the cell itself put there.
 */
static const struct place {
    const char *path;
    bool with_all_below; /* what lies in it is ours too */
} taken_places[] = {
    {"/proc", true}, {"/dev", true},    {"/sys", true},    {"/code", true},
    {"/usr", false}, {"/etc", false},   {"/bin", false},   {"/sbin", false},
    {"/lib", false}, {"/lib32", false}, {"/lib64", false}, {"/libx32", false},
};

/* True if the path is the place, or lies below it. */
static bool is_taken(const struct place *place, const char *path)
{
    size_t len, name_len = strlen(place->path + 1);
    const char *first = next_component(&path, &len);

    return first && len == name_len && memcmp(first, place->path + 1, len) == 0 &&
           (place->with_all_below || !next_component(&path, &len));
}

static bool has_parent(const char *path)
{
    size_t len;

    for (const char *component; (component = next_component(&path, &len));)
        if (len == 2 && memcmp(component, "..", 2) == 0)
            return true;
    return false;
}

int request_check_place(const char *guest, struct err *err)
{
    if (guest[0] != '/')
        return err_set(err, ERR_REQUEST,
                       "guest path '%s' is not absolute: a native guest finds everything from '/'",
                       guest);
    if (has_parent(guest))
        return err_set(err, ERR_REQUEST, "guest path '%s': write it without '..'", guest);
    if (is_root(guest))
        return err_set(err, ERR_REQUEST, "guest path '%s' is the guest's root: name a place in it",
                       guest);
    for (size_t i = 0; i < ARRAY_SIZE(taken_places); i++)
        if (is_taken(&taken_places[i], guest)) {
            (void) err_set(err, ERR_REQUEST, "guest path '%s': '%s' is the system's own place",
                           guest, taken_places[i].path); /* -1, as below */
            return err_hint(err, "name another place (HOST::GUEST)");
        }
    return 0;
}

/*
 * A native guest's. Where a plain one is, is known for certain when it was opened; what the text
 * tells is told now.
 */
static int check_native_dir(const struct request_dir *dir, struct err *err)
{
    if (!dir->plain)
        return request_check_place(dir->guest, err);
    return dir->host[0] == '/' && !has_parent(dir->host) ? request_check_place(dir->host, err) : 0;
}

static const struct request_dir *find_guest(const struct request *request, const char *guest)
{
    for (size_t i = 0; i < request->n_dirs; i++)
        if (same_guest(request->dirs[i].guest, guest) ||
            (request->dirs[i].also_dot && same_guest(guest, ".")))
            return &request->dirs[i];
    return NULL;
}

static int check_guest(const struct request *request, const char *guest, struct err *err)
{
    const struct request_dir *taken = find_guest(request, guest);

    if (!taken)
        return 0;
    (void) err_set(err, ERR_REQUEST, "guest path '%s' is given twice: '%s' is found there already",
                   guest, taken->host); /* -1, as below */
    if (same_guest(guest, ".") && taken->plain)
        return err_hint(err,
                        "the first directory without a guest path is '.' too: name its guest path "
                        "(HOST::GUEST), or put the one that shall be '.' first");
    return err_hint(err, "give each directory a guest path of its own (HOST::GUEST)");
}

static int check_path(const char *path, const char *which, struct err *err)
{
    if (path[0] == '\0')
        return err_set(err, ERR_REQUEST, "the %s path of a directory is empty", which);
    if (strlen(path) >= PATH_MAX)
        return err_set(err, ERR_REQUEST, "the %s path of a directory is longer than %d bytes",
                       which, PATH_MAX - 1);
    return 0;
}

static int check_dir(const struct request *request, const struct request_dir *dir, struct err *err)
{
    if (check_path(dir->host, "host", err) < 0 || check_path(dir->guest, "guest", err) < 0)
        return -1;
    if (is_root(dir->host) && (dir->plain || dir->access != ACCESS_RO))
        return err_set(err, ERR_REQUEST,
                       "directory '%s' is the whole host: name the directory that the guest needs",
                       dir->host);
    if (dir->access == ACCESS_OVERLAY && request->backend == BACKEND_WASM)
        return err_set(err, ERR_REQUEST,
                       "directory '%s': access 'overlay' is not there for wasm: grant it read-only "
                       "(':ro') or read-write",
                       dir->host);
    if (request->backend == BACKEND_NATIVE && check_native_dir(dir, err) < 0)
        return -1;
    if (request->n_dirs >= REQUEST_MAX_DIRS)
        return err_set(err, ERR_REQUEST, "more than %d directories", REQUEST_MAX_DIRS);
    if (check_guest(request, dir->guest, err) < 0)
        return -1;
    return dir->also_dot ? check_guest(request, ".", err) : 0;
}

static int add_dir(struct request *request, struct arena *arena, const struct request_dir *dir,
                   struct err *err)
{
    if (!dir->host || !dir->guest)
        return err_no_memory(err);
    if (check_dir(request, dir, err) < 0)
        return -1;
    if (!request->dirs)
        request->dirs = arena_array(arena, REQUEST_MAX_DIRS, sizeof(*request->dirs));
    if (!request->dirs)
        return err_no_memory(err);
    request->dirs[request->n_dirs++] = *dir;
    return 0;
}

static bool has_plain(const struct request *request)
{
    for (size_t i = 0; i < request->n_dirs; i++)
        if (request->dirs[i].plain)
            return true;
    return false;
}

int request_add_dir(struct request *request, struct arena *arena, const char *base,
                    const char *path, const char *guest, enum access access, struct err *err)
{
    /* Judged before the base hides that it is empty. */
    if (check_path(path, "host", err) < 0)
        return -1;
    struct request_dir dir = {
        .host = request_path(arena, base, path),
        .guest = arena_strdup(arena, guest ? guest : path),
        .plain = !guest,
        .also_dot = request->backend == BACKEND_WASM && !guest && !has_plain(request) &&
                    !same_guest(path, "."),
        .access = access,
    };
    return add_dir(request, arena, &dir, err);
}

int request_add_workspace(struct request *request, struct arena *arena, const char *base,
                          const char *path, struct err *err)
{
    if (check_path(path, "workspace", err) < 0)
        return -1;
    struct request_dir dir = {
        .host = request_path(arena, base, path),
        .guest = ".",
        .plain = true,
        .access = ACCESS_RW,
    };
    for (size_t i = 0; i < request->n_dirs; i++)
        request->dirs[i].also_dot = false;
    return add_dir(request, arena, &dir, err);
}

/* Nothing else is to be found there. */
static int check_free(const struct request *request, const struct request_dir *but,
                      const char *guest, struct err *err)
{
    for (const struct request_dir *dir = request->dirs; dir < request->dirs + request->n_dirs;
         dir++)
        if (dir != but && same_guest(dir->guest, guest))
            return err_set(err, ERR_REQUEST,
                           "guest path '%s' is where the policy puts '%s', and '%s' is to be found "
                           "there: give that one another",
                           guest, but->host, dir->host);
    return 0;
}

int request_place_workspace(struct request *request, const char *guest, struct err *err)
{
    struct request_dir *dir = request->dirs;

    while (dir < request->dirs + request->n_dirs && (!dir->plain || dir->is_own))
        dir++;
    if (dir == request->dirs + request->n_dirs)
        return 0;
    if (request_check_place(guest, err) < 0 || check_free(request, dir, guest, err) < 0)
        return -1;
    dir->guest = guest;
    dir->plain = false;
    dir->also_dot = request->backend == BACKEND_WASM;
    if (request->backend == BACKEND_NATIVE && !request->cwd)
        request->cwd = guest;
    return 0;
}

/* Takes ":ro" and the like off the end of a guest path; without one it is read-write. */
static int take_access(char *guest, const char *text, enum access *ret_access, struct err *err)
{
    static const struct {
        const char *word;
        enum access access;
    } words[] = {{":ro", ACCESS_RO}, {":rw", ACCESS_RW}, {":overlay", ACCESS_OVERLAY}};
    char *colon =
        strchr(guest, ':'); /* the first: what stands behind it must be all of an access */

    *ret_access = ACCESS_RW;
    if (!colon)
        return 0;
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (strcmp(words[i].word, colon) == 0) {
            *ret_access = words[i].access;
            *colon = '\0';
            return 0;
        }
    /* A misspelt ":r" must not quietly become a guest path with write access. */
    return err_set(err, ERR_REQUEST,
                   "directory '%s': '%s' is no access: write ':ro', ':rw' or ':overlay' (a guest "
                   "path with ':' in it goes into a manifest)",
                   text, colon + 1);
}

int request_add_dir_text(struct request *request, struct arena *arena, const char *text,
                         struct err *err)
{
    const char *separator = strstr(text, "::");
    enum access access;

    if (!separator)
        return request_add_dir(request, arena, NULL, text, NULL, ACCESS_RW, err);
    if (strstr(separator + 1, "::"))
        return err_set(err, ERR_REQUEST,
                       "directory '%s' has more than one '::': a path with '::' in it goes into a "
                       "manifest, under 'allow_dirs'",
                       text);
    const char *host = arena_strndup(arena, text, (size_t) (separator - text));
    char *guest = arena_strdup(arena, separator + 2);
    if (!host || !guest)
        return err_no_memory(err);
    if (take_access(guest, text, &access, err) < 0)
        return -1;
    return request_add_dir(request, arena, NULL, host, guest, access, err);
}

int request_set_rootfs(struct request *request, struct arena *arena, const char *base,
                       const char *path, struct err *err)
{
    if (check_path(path, "root", err) < 0)
        return -1;
    const char *rootfs = request_path(arena, base, path);
    if (!rootfs)
        return err_no_memory(err);
    if (is_root(rootfs))
        return err_set(err, ERR_REQUEST,
                       "'%s' as root would show the whole host: name the folder of another system",
                       path);
    request->rootfs = rootfs;
    return 0;
}
