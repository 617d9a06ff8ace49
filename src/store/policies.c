#include "store/policies.h"

#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "store/policy_file.h"
#include "store/policy_resolve.h"

#define PROJECT_FOLDER ".wasp"
#define MAX_PROJECTS 16
#define MAX_LAYERS (LAYER_PROJECT + MAX_PROJECTS + TIERS)

/* The layers while they are found. */
struct loading {
    const struct policy_places *places;
    bool resolve_programs;
    struct arena *arena;
    struct policies *policies;
    struct err *err;
};

/* ---- one layer ------------------------------------------------------------------------------- */

/* The first of the problems with what exec rules name. */
static int fail_programs(const struct policy *policy, const struct problems *problems,
                         struct err *err)
{
    const struct policy_problem *first = &problems->found.items[0];

    return err_set(err, ERR_REQUEST, "%s:%u: %s: %s", policy->where, first->line, first->key,
                   first->message);
}

static int resolve(struct loading *loading, struct policy *policy)
{
    struct problems problems = {.arena = loading->arena};

    if (policy_resolve_paths(policy, loading->arena, loading->err) < 0)
        return -1;
    if (!loading->resolve_programs)
        return 0;
    if (policy_resolve_programs(policy, &problems, loading->err) < 0)
        return -1;
    return problems.found.count ? fail_programs(policy, &problems, loading->err) : 0;
}

static struct policy *next_layer(struct loading *loading)
{
    return &loading->policies->layers[loading->policies->count];
}

/* Adds what was read. */
static int add_layer(struct loading *loading, const struct policy_file *file, enum layer layer,
                     const char *base_dir)
{
    const struct policy_context context = {
        .layer = layer,
        .where = file->path,
        .home = loading->places->home,
        .base_dir = base_dir,
        .is_yaml = file->is_yaml,
    };
    struct policy *policy = next_layer(loading);

    if (policy_parse(file->text, file->len, &context, loading->arena, policy, NULL, loading->err) <
            0 ||
        resolve(loading, policy) < 0)
        return -1;
    loading->policies->count++;
    return 0;
}

static int add_folder(struct loading *loading, const char *folder, enum layer layer,
                      struct policy_trust trust, const char *base_dir)
{
    struct policy_file file;

    if (policy_file_find(folder, trust, loading->arena, &file, loading->err) < 0)
        return -1;
    return file.text ? add_layer(loading, &file, layer, base_dir) : 0;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static int refuse_preset(const char *name, struct err *err)
{
    _cleanup_(buf_release) struct buf all = BUF_INIT(512);

    for (size_t i = 0; policy_preset_names[i]; i++)
        if (buf_printf(&all, "%s%s", i ? ", " : "", policy_preset_names[i]) < 0)
            break; /* the others are then not named */
    return err_set(err, ERR_REQUEST, "there is no preset '%s': there are %s", name, all.data);
}

static int add_preset(struct loading *loading, const char *name)
{
    const char *text = policy_preset_text(name);
    struct policy_file file = {
        .path = loading->places->file, .is_yaml = true, .len = text ? strlen(text) : 0};

    if (!text)
        return refuse_preset(name, loading->err);
    file.text = arena_strdup(loading->arena, text);
    return file.text ? add_layer(loading, &file, LAYER_USER, NULL) : err_no_memory(loading->err);
}

static int add_user(struct loading *loading)
{
    const struct policy_places *places = loading->places;
    const size_t preset = strlen(POLICY_PRESET);
    struct policy_file file;

    if (!places->file)
        return places->user_dir ? add_folder(loading, places->user_dir, LAYER_USER,
                                             (struct policy_trust){.root_alone = false}, NULL)
                                : 0;
    if (strncmp(places->file, POLICY_PRESET, preset) == 0)
        return add_preset(loading, places->file + preset);
    if (policy_file_read(places->file, loading->arena, &file, loading->err) < 0)
        return -1;
    return add_layer(loading, &file, LAYER_USER, NULL);
}

/* In /tmp and its like anybody could have put one, to get in the way of whoever works below. */
static bool is_anybodys(const char *folder)
{
    struct stat st;

    return stat(folder, &st) == 0 && (st.st_mode & S_IWOTH) != 0;
}

static int add_project(struct loading *loading, const char *project)
{
    const struct policy_trust trust = {.folder_itself = true};
    const char *slash = strcmp(project, "/") == 0 ? "" : "/";
    const char *folder = arena_printf(loading->arena, "%s%s" PROJECT_FOLDER, project, slash);

    if (!folder)
        return err_no_memory(loading->err);
    if (is_anybodys(project))
        return 0;
    if (loading->policies->count >= LAYER_PROJECT + MAX_PROJECTS)
        return err_set(loading->err, ERR_REQUEST,
                       "more than %d policies lie above the working directory", MAX_PROJECTS);
    return add_folder(loading, folder, LAYER_PROJECT, trust, project);
}

/* From the root down to the working directory: what is nearer comes later. */
static int add_projects(struct loading *loading)
{
    const char *cwd = loading->places->cwd;

    if (!cwd)
        return 0;
    if (cwd[0] != '/')
        return err_set(loading->err, ERR_HOST, "the working directory '%s' is not absolute", cwd);
    if (add_project(loading, "/") < 0)
        return -1;
    for (const char *end = cwd; *end;) {
        end += strspn(end, "/");
        size_t name = strcspn(end, "/");
        end += name;
        if (name == 0)
            break;
        const char *project = arena_strndup(loading->arena, cwd, (size_t) (end - cwd));
        if (!project)
            return err_no_memory(loading->err);
        if (add_project(loading, project) < 0)
            return -1;
    }
    return 0;
}

/* The tiers that the layers and the request name, each once; low for an agent without a policy. */
static int add_tiers(struct loading *loading)
{
    const struct policy_places *places = loading->places;
    struct policies *policies = loading->policies;
    bool is_named[TIERS] = {[TIER_NONE] = false}, has_policy = false;
    size_t n_files = policies->count;

    is_named[places->tier] = true;
    for (size_t i = 0; i < n_files; i++) {
        is_named[policies->layers[i].tier] = true;
        has_policy = has_policy || policies->layers[i].layer != LAYER_PROJECT;
    }
    is_named[TIER_LOW] = is_named[TIER_LOW] || (places->is_agent && !has_policy);
    for (int tier = TIER_LOW; tier < TIERS; tier++) {
        if (!is_named[tier])
            continue;
        struct policy *policy = next_layer(loading);
        if (policy_tier((enum tier) tier, places->home, loading->arena, policy, loading->err) < 0 ||
            resolve(loading, policy) < 0)
            return -1;
        policies->count++;
    }
    return 0;
}

static void hash_all(struct policies *policies)
{
    struct sha256 sha;

    sha256_init(&sha);
    for (size_t i = 0; i < policies->count; i++)
        sha256_add(&sha, policies->layers[i].digest.bytes, DIGEST_BYTES);
    sha256_finish(&sha, &policies->digest);
}

int policies_load(const struct policy_places *places, bool resolve_programs, struct arena *arena,
                  struct policies *ret_policies, struct err *err)
{
    struct policies policies = {.layers = arena_array(arena, MAX_LAYERS, sizeof(struct policy))};
    struct loading loading = {.places = places,
                              .resolve_programs = resolve_programs,
                              .arena = arena,
                              .policies = &policies,
                              .err = err};

    if (!policies.layers)
        return err_no_memory(err);
    if (add_folder(&loading, places->system_dir, LAYER_SYSTEM,
                   (struct policy_trust){.root_alone = true}, NULL) < 0 ||
        add_user(&loading) < 0 || add_projects(&loading) < 0 || add_tiers(&loading) < 0)
        return -1;
    hash_all(&policies);
    *ret_policies = policies;
    return 0;
}

/* ---- one file -------------------------------------------------------------------------------- */

/* The folder above .wasp, if the file lies in one so called and its path says where that is. */
static const char *project_of(const char *path, struct arena *arena)
{
    const char *end = strrchr(path, '/');
    const size_t name = strlen("/" PROJECT_FOLDER);

    if (path[0] != '/' || (size_t) (end - path) < name ||
        memcmp(end - name, "/" PROJECT_FOLDER, name) != 0)
        return NULL;
    size_t len = (size_t) (end - path) - name;
    return arena_strndup(arena, len ? path : "/", len ? len : 1);
}

int policies_check(const char *path, const char *home, struct arena *arena,
                   struct policy *ret_policy, struct policy_problems *ret_problems, struct err *err)
{
    struct problems problems = {.arena = arena};
    struct policy_file file;
    struct policy policy;

    *ret_problems = (struct policy_problems){.count = 0};
    if (policy_file_read(path, arena, &file, err) < 0)
        return -1;
    const char *project = project_of(path, arena);
    const struct policy_context context = {
        .layer = project ? LAYER_PROJECT : LAYER_USER,
        .where = path,
        .home = home,
        .base_dir = project,
        .is_yaml = file.is_yaml,
    };
    if (policy_parse(file.text, file.len, &context, arena, &policy, ret_problems, err) < 0 ||
        policy_resolve_paths(&policy, arena, err) < 0 ||
        policy_resolve_programs(&policy, &problems, err) < 0)
        return -1;
    if (problems.found.count > 0) {
        *ret_problems = problems.found;
        return fail_programs(&policy, &problems, err);
    }
    *ret_policy = policy;
    return 0;
}
