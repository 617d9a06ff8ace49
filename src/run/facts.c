#include "run/facts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/program.h"
#include "plan/plan.h"
#include "run/cache.h"
#include "run/module.h"

/* Where an open file lies, by the kernel's own word. What has no place any more is unknown. */
int fact_of_fd(int fd, struct arena *arena, struct fact *ret_fact, struct err *err)
{
    char link[32], path[PATH_MAX];
    struct stat st;

    *ret_fact = (struct fact){.is_known = false};
    (void) snprintf(link, sizeof(link), "/proc/self/fd/%d", fd); /* fits */
    ssize_t len = readlink(link, path, sizeof(path) - 1);
    if (len < 0 || fstat(fd, &st) < 0)
        return err_sys(err, ERR_HOST, "cannot see where an open file lies");
    path[len] = '\0';
    if (path[0] != '/' || st.st_nlink == 0)
        return 0;
    ret_fact->real = arena_strdup(arena, path);
    if (!ret_fact->real)
        return err_no_memory(err);
    ret_fact->id = (struct file_id){.dev = st.st_dev, .ino = st.st_ino};
    ret_fact->is_known = true;
    return 0;
}

/* True if a component of what does not exist would lead upwards: where it ends nobody can say. */
static bool has_parent_step(const char *rest)
{
    for (const char *at = rest; at; at = strchr(at, '/')) {
        at += strspn(at, "/");
        if (strncmp(at, "..", 2) == 0 && (at[2] == '/' || at[2] == '\0'))
            return true;
    }
    return false;
}

/* Behind the last directory that is there, as written; ids stay 0: nothing has them. */
static int name_missing(const char *path, struct arena *arena, struct fact *ret_fact,
                        struct err *err)
{
    char *parent = arena_strdup(arena, path);

    if (!parent)
        return err_no_memory(err);
    for (;;) {
        char *slash = strrchr(parent, '/');
        const char *above = !slash ? "." : slash == parent ? "/" : parent;
        size_t cut = slash ? (size_t) (slash - parent) : 0;
        if (slash)
            *slash = '\0';
        _cleanup_fd_ int fd = open(above, O_PATH | O_CLOEXEC);
        const char *rest = path + cut + strspn(path + cut, "/");
        if (fd >= 0) {
            struct fact found = {.is_known = false};
            if (fact_of_fd(fd, arena, &found, err) < 0)
                return -1;
            if (!found.is_known || has_parent_step(rest))
                return 0;
            ret_fact->real = arena_printf(arena, "%s%s%s", found.real,
                                          strcmp(found.real, "/") == 0 ? "" : "/", rest);
            ret_fact->is_known = ret_fact->real != NULL;
            return ret_fact->real ? 0 : err_no_memory(err);
        }
        if (!slash || cut == 0)
            return 0;
    }
}

/* Without "." and doubled slashes. */
static int name_asked(const char *path, struct arena *arena, const char **ret_asked,
                      struct err *err)
{
    char cwd[PATH_MAX] = "";

    *ret_asked = NULL;
    if (has_parent_step(path) || (path[0] != '/' && !getcwd(cwd, sizeof(cwd))))
        return 0;
    const char *at = arena_printf(arena, "%s/%s", cwd, path);
    char *asked = at ? arena_alloc(arena, strlen(at) + 2) : NULL;
    if (!asked)
        return err_no_memory(err);
    size_t len = 0;
    while (*(at += strspn(at, "/"))) {
        size_t n = strcspn(at, "/");
        if (n != 1 || at[0] != '.') {
            asked[len++] = '/';
            memcpy(asked + len, at, n);
            len += n;
        }
        at += n;
    }
    *ret_asked = len > 0 ? asked : "/";
    return 0;
}

int fact_of_path(const char *path, struct arena *arena, struct fact *ret_fact, struct err *err)
{
    _cleanup_fd_ int fd = open(path, O_PATH | O_CLOEXEC);
    const char *asked;

    *ret_fact = (struct fact){.is_known = false};
    if (name_asked(path, arena, &asked, err) < 0 ||
        (fd < 0 ? name_missing(path, arena, ret_fact, err) : fact_of_fd(fd, arena, ret_fact, err)) <
            0)
        return -1;
    ret_fact->asked = asked;
    return 0;
}

/* ---- programs -------------------------------------------------------------------------------- */

int fact_of_program(const char *program, struct arena *arena, struct fact *ret_fact,
                    struct err *err)
{
    char path[PATH_MAX];
    struct stat st;

    *ret_fact = (struct fact){.is_known = false};
    if (!program_find(program, CELL_PATH, path, &st))
        return 0;
    _cleanup_fd_ int fd = open(path, O_PATH | O_CLOEXEC);
    return fd < 0 ? 0 : fact_of_fd(fd, arena, ret_fact, err);
}

/* True for what a native guest finds at the same place as the host has it. */
static bool is_system_path(const char *path)
{
    static const char *const places[] = {"/usr/", "/bin/", "/sbin/", "/lib/", "/lib64/"};

    for (size_t i = 0; i < ARRAY_SIZE(places); i++)
        if (strncmp(path, places[i], strlen(places[i])) == 0)
            return true;
    return false;
}

/*
 * A program that the guest has in a directory of its own is nobody's but the guest's: it stays
 * unknown, and only a rule for every program covers it.
 */
static int find_program(const struct request *request, struct arena *arena, struct facts *facts,
                        struct err *err)
{
    if (request->backend != BACKEND_NATIVE || !request->program || request->rootfs)
        return 0;
    if (strchr(request->program, '/') &&
        (!is_system_path(request->program) || has_parent_step(request->program)))
        return 0;
    return fact_of_program(request->program, arena, &facts->program, err);
}

/* ---- the rest -------------------------------------------------------------------------------- */

static int find_dirs(const struct request *request, const struct principal *principal,
                     struct arena *arena, struct facts *facts, struct err *err)
{
    facts->dirs = arena_array(arena, request->n_dirs, sizeof(*facts->dirs));
    if (!facts->dirs)
        return err_no_memory(err);
    for (size_t i = 0; i < request->n_dirs; i++) {
        const char *host = request->dirs[i].host;
        struct stat st;
        if (principal->is_agent && lstat(host, &st) == 0 && S_ISLNK(st.st_mode))
            facts->link = host;
        if (fact_of_path(host, arena, &facts->dirs[i], err) < 0)
            return -1;
    }
    return 0;
}

static int find_capabilities(const struct request *request, struct arena *arena,
                             struct facts *facts, struct err *err)
{
    facts->paths = arena_array(arena, request->n_capabilities, sizeof(*facts->paths));
    facts->commands = arena_array(arena, request->n_commands, sizeof(*facts->commands));
    if (!facts->paths || !facts->commands)
        return err_no_memory(err);
    for (size_t i = 0; i < request->n_capabilities; i++)
        if (request->capabilities[i].path &&
            fact_of_path(request->capabilities[i].path, arena, &facts->paths[i], err) < 0)
            return -1;
    for (size_t i = 0; i < request->n_commands; i++)
        if (fact_of_program(request->commands[i].program, arena, &facts->commands[i], err) < 0)
            return -1;
    return 0;
}

/* What cannot be read here cannot be run either: the run says so, once it is allowed to. */
static int find_module(const struct request *request, const struct places *places,
                       struct arena *arena, struct facts *facts, struct err *err)
{
    struct module module;
    struct cache cache;
    struct err ignored;

    if (request->backend != BACKEND_WASM || request->module_bytes || !request->module)
        return 0;
    if (fact_of_path(request->module, arena, &facts->module, err) < 0)
        return -1;
    if (module_open(request, &module, &ignored) == 0 &&
        fact_of_fd(module.file, arena, &facts->module, err) == 0 &&
        cache_open(places, &cache, &ignored) == 0) {
        facts->has_module_sha256 = module_digest(&module, &cache, &ignored) == 0;
        facts->module_sha256 = module.digest;
        cache_release(&cache);
    }
    module_release(&module);
    return 0;
}

int facts_find(const struct request *request, const struct principal *principal,
               const struct places *places, struct arena *arena, struct facts *ret_facts,
               struct err *err)
{
    *ret_facts = (struct facts){.dirs = NULL};
    if (find_dirs(request, principal, arena, ret_facts, err) < 0 ||
        find_capabilities(request, arena, ret_facts, err) < 0 ||
        find_program(request, arena, ret_facts, err) < 0 ||
        find_module(request, places, arena, ret_facts, err) < 0)
        return -1;
    if (request->rootfs && fact_of_path(request->rootfs, arena, &ret_facts->rootfs, err) < 0)
        return -1;
    if (request->stdin_kind == STDIN_FILE)
        return fact_of_path(request->stdin_path, arena, &ret_facts->stdin_file, err);
    return 0;
}

/* ---- binding --------------------------------------------------------------------------------- */

static int bind_module(const struct facts *facts, struct request *request, struct arena *arena,
                       struct err *err)
{
    static const struct digest nothing; /* no file is known to have it, and none will be */
    const struct digest *digest = facts->has_module_sha256 ? &facts->module_sha256 : &nothing;
    struct digest pinned;
    char hex[DIGEST_HEX];

    if (request->backend != BACKEND_WASM || request->module_bytes || request->module_is_own)
        return 0;
    digest_hex(digest, hex);
    if (facts->has_module_sha256 && request->module_sha256 &&
        digest_from_hex(request->module_sha256, &pinned) && !digest_equal(&pinned, digest))
        return err_set(err, ERR_PIN, "the module's SHA-256 is %s, pinned is %s", hex,
                       request->module_sha256);
    return request_set_pin(request, arena, hex, err);
}

/* A file that is larger, or none that ends, stays a file: what needs its bytes refuses it. */
static int bind_stdin(const struct facts *facts, struct request *request, struct arena *arena,
                      struct err *err)
{
    struct stat st;

    if (request->stdin_kind != STDIN_FILE || !facts->stdin_file.is_known)
        return 0;
    _cleanup_fd_ int fd = open(request->stdin_path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
        st.st_dev != facts->stdin_file.id.dev || st.st_ino != facts->stdin_file.id.ino ||
        (uint64_t) st.st_size > FACTS_STDIN_BYTES)
        return 0;
    char *bytes = arena_alloc(arena, (size_t) st.st_size + 1);
    if (!bytes)
        return err_no_memory(err);
    ssize_t n = read(fd, bytes, (size_t) st.st_size + 1);
    if (n != st.st_size)
        return err_set(err, ERR_REQUEST, "'%s' changes while it is read", request->stdin_path);
    request->stdin_kind = STDIN_BYTES;
    request->stdin_bytes = bytes;
    request->stdin_len = (size_t) n;
    return 0;
}

int facts_bind(const struct facts *facts, struct request *request, struct arena *arena,
               struct err *err)
{
    for (size_t i = 0; i < request->n_dirs; i++) {
        request->dirs[i].is_judged = true;
        request->dirs[i].judged = facts->dirs[i].id;
    }
    request->is_judged = true;
    request->judged_rootfs = facts->rootfs.id;
    request->judged_stdin = facts->stdin_file.id;
    request->judged_program = facts->program.id;
    if (bind_module(facts, request, arena, err) < 0)
        return -1;
    return bind_stdin(facts, request, arena, err);
}
