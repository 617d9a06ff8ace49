#include "front/environment.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/units.h"

#define SYSTEM_DIR "/etc/wasp"
#define DEFAULT_CACHE_MAX_BYTES (UINT64_C(2) << 30)

/*
 * No distribution hands these out: above systemd's container range (ends at 0x6fffffff), below its
 * foreign one (0x7ffe0000).
 */
#define DEFAULT_UID_BASE UINT32_C(0x78000000)
#define DEFAULT_UID_COUNT UINT32_C(0x00100000)
#define UID_NOBODY 65534

static const struct folder {
    size_t at;
    const char *own; /* names the folder itself; the next two what it is in */
    const char *xdg;
    const char *below_home;
} folders[] = {
    {offsetof(struct places, cache_dir), "WASP_CACHE_DIR", "XDG_CACHE_HOME", ".cache"},
    {offsetof(struct places, state_dir), "WASP_STATE_DIR", "XDG_STATE_HOME", ".local/state"},
    {offsetof(struct places, config_dir), NULL, "XDG_CONFIG_HOME", ".config"},
};

static const char *variable(const char *name)
{
    const char *value = getenv(name);

    return value && value[0] ? value : NULL;
}

static const char *absolute_variable(const char *name)
{
    const char *value = name ? variable(name) : NULL;

    return value && value[0] == '/' ? value : NULL;
}

/* *ret_path is NULL where the environment names no place. */
static int read_folder(const struct folder *folder, struct arena *arena, const char **ret_path,
                       struct err *err)
{
    const char *own = absolute_variable(folder->own);
    const char *xdg = absolute_variable(folder->xdg);
    const char *home = absolute_variable("HOME");

    *ret_path = NULL;
    if (own)
        *ret_path = own;
    else if (xdg)
        *ret_path = arena_printf(arena, "%s/wasp", xdg);
    else if (home)
        *ret_path = arena_printf(arena, "%s/%s/wasp", home, folder->below_home);
    if (!*ret_path && (own || xdg || home))
        return err_no_memory(err);
    return 0;
}

/* Built: beside the command. Installed as PREFIX/bin/wasp: in PREFIX/libexec/wasp. */
static int read_program_dir(struct arena *arena, const char **ret_path, struct err *err)
{
    char path[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);

    if (len <= 0 || path[0] != '/')
        return err_sys(err, ERR_HOST, "cannot tell where wasp itself is: /proc/self/exe");
    path[len] = '\0';
    *strrchr(path, '/') = '\0';
    char *last = strrchr(path, '/');
    if (last && strcmp(last, "/bin") == 0) {
        *last = '\0';
        *ret_path = arena_printf(arena, "%s/libexec/wasp", path);
    } else {
        *ret_path = arena_strdup(arena, path);
    }
    return *ret_path ? 0 : err_no_memory(err);
}

/*
 * WASP_UID_RANGE=BASE:COUNT. Never root, never nobody, never (uid_t) -1, which means "leave it" to
 * the kernel.
 */
static int read_uid_range(struct arena *arena, struct places *places, struct err *err)
{
    const char *text = variable("WASP_UID_RANGE");
    uint64_t base = DEFAULT_UID_BASE, count = DEFAULT_UID_COUNT;

    if (text) {
        const char *colon = strchr(text, ':');
        char *first = arena_strndup(arena, text, colon ? (size_t) (colon - text) : 0);
        if (!first)
            return err_no_memory(err);
        if (!colon || units_parse_count(first, "WASP_UID_RANGE", &base, err) < 0 ||
            units_parse_count(colon + 1, "WASP_UID_RANGE", &count, err) < 0)
            return err_set(err, ERR_USAGE, "WASP_UID_RANGE must be BASE:COUNT, not '%s'", text);
    }
    if (base >= UINT32_MAX || count > UINT32_MAX - base ||
        (base <= UID_NOBODY && base + count > UID_NOBODY))
        return err_set(err, ERR_USAGE, "WASP_UID_RANGE '%s' holds uids that no run may have", text);
    places->uid_base = (uint32_t) base;
    places->uid_count = (uint32_t) count;
    return 0;
}

static int read_cache_max(uint64_t *ret_bytes, struct err *err)
{
    const char *text = variable("WASP_CACHE_MAX");

    *ret_bytes = DEFAULT_CACHE_MAX_BYTES;
    return text ? units_parse_size(text, "WASP_CACHE_MAX", ret_bytes, err) : 0;
}

/* What wasp obeys itself it still reads. */
static void forget(const char *name)
{
    char *value = getenv(name);

    if (value && strncmp(name, "WASP_", 5) != 0)
        explicit_bzero(value, strlen(value));
}

/* Not 0 where it can be 1: only then no core goes to a program that core_pattern names, either. */
static void forbid_core(void)
{
    struct rlimit core;

    (void) getrlimit(RLIMIT_CORE, &core); /* cannot fail, nor can lowering it */
    core.rlim_cur = core.rlim_max > 0;
    (void) setrlimit(RLIMIT_CORE, &core);
}

int environment_take_secrets(struct request *request, struct arena *arena, struct secrets *secrets,
                             struct err *err)
{
    struct err ignored; /* the first error is the one to tell, and what can be is registered */
    int rc = 0;

    if (request->n_secret_env == 0)
        return 0;
    forbid_core();
    for (size_t i = 0; i < request->n_secret_env; i++) {
        const char *name = request->secret_env[i];
        if (request_put_secret(request, arena, name, getenv(name), secrets,
                               rc < 0 ? &ignored : err) < 0)
            rc = -1;
    }
    for (size_t i = 0; i < request->n_secret_env; i++)
        forget(request->secret_env[i]);
    return rc;
}

int environment_read(struct arena *arena, struct environment *ret_environment, struct err *err)
{
    struct environment environment = {.home = absolute_variable("HOME"),
                                      .isolation = variable("WASP_ISOLATION")};
    struct places *places = &environment.places;

    places->system_dir = SYSTEM_DIR;
    places->home = absolute_variable("HOME");
    for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
        const char **path = (const char **) ((char *) places + folders[i].at);
        if (read_folder(&folders[i], arena, path, err) < 0)
            return -1;
    }
    if (read_program_dir(arena, &places->program_dir, err) < 0 ||
        read_cache_max(&places->cache_max_bytes, err) < 0 || read_uid_range(arena, places, err) < 0)
        return -1;
#ifdef WASP_TEST_HOOKS
    const char *without = variable("WASP_TEST_WITHOUT");
    if (absolute_variable("WASP_TEST_SYSTEM_DIR"))
        places->system_dir = absolute_variable("WASP_TEST_SYSTEM_DIR");
    places->test_cell = variable("WASP_TEST_CELL");
    places->test_without = without ? (uint32_t) strtoul(without, NULL, 0) : 0;
#endif
    *ret_environment = environment;
    return 0;
}
