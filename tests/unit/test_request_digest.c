/* What changes a request's digest: everything but what is listed below. */
#include "plan/request_digest.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "tap.h"

/* One request with everything in it, that each row changes in one place. */
struct all {
    struct request request;
    struct facts facts;
    struct principal principal;
    struct request_dir dirs[2];
    struct request_capability capabilities[2];
    struct request_command commands[1];
    struct request_label labels[1];
    const char *args[3], *env[2], *secret_env[2], *unprotected[2], *command_args[2];
    struct fact dir_facts[2], path_facts[2], command_facts[1];
    struct digest module_digest;
};

static const struct fact known = {true, "/real", {1, 2}};

static void fill_parts(struct all *all)
{
    *all = (struct all){
        .dirs = {{"a", "a", true, true, false, ACCESS_RO, false, {0, 0}},
                 {"b", "/b", false, false, false, 0, false, {0, 0}}},
        .capabilities = {{CAPABILITY_FS_READ, "p"}, {CAPABILITY_EXEC_RUN, NULL}},
        .labels = {{"job", "1"}},
        .args = {"x", "y", NULL},
        .env = {"A=b", NULL},
        .secret_env = {"S", NULL},
        .unprotected = {".envrc", NULL},
        .command_args = {"status", NULL},
        .dir_facts = {known, known},
        .path_facts = {known, {false, NULL, {0, 0}}},
        .command_facts = {known},
        .principal = {true, "agent:a"},
    };
    all->commands[0] = (struct request_command){"git", all->command_args, 1, false};
    all->facts = (struct facts){
        .dirs = all->dir_facts,
        .paths = all->path_facts,
        .commands = all->command_facts,
        .program = known,
        .rootfs = known,
        .module = known,
        .has_module_sha256 = true,
        .stdin_file = known,
    };
}

/*
 * Every member in its order, so that one that is added is missed here by the compiler: it then gets
 * a row below, and a line in request_digest.c.
 */
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wmissing-field-initializers"
static void fill(struct all *all)
{
    fill_parts(all);
    all->request = (struct request){BACKEND_WASM,
                                    "m.wasm",
                                    "argv0",
                                    NULL,
                                    "bytes",
                                    5,
                                    &all->module_digest,
                                    false,
                                    false,
                                    false,
                                    "program",
                                    "/cwd",
                                    "rootfs",
                                    "/code/main.py",
                                    NETWORK_NONE,
                                    PROC_OWN,
                                    false,
                                    false,
                                    APPLY_NEVER,
                                    false,
                                    all->capabilities,
                                    2,
                                    all->commands,
                                    1,
                                    "python",
                                    "source",
                                    6,
                                    all->unprotected,
                                    1,
                                    all->args,
                                    2,
                                    all->env,
                                    1,
                                    all->secret_env,
                                    1,
                                    NULL,
                                    all->dirs,
                                    2,
                                    100,
                                    all->labels,
                                    1,
                                    {.backend = BACKEND_WASM},
                                    STDIN_BYTES,
                                    "path",
                                    "bytes",
                                    5,
                                    ISOLATION_FULL,
                                    false,
                                    false,
                                    false,
                                    {0, 0},
                                    {0, 0},
                                    {0, 0}};
    limits_init(&all->request.limits, BACKEND_WASM);
}
#pragma GCC diagnostic pop

#define CHANGE(name, what)                 \
    static void name(struct all *all)      \
    {                                      \
        struct request *r = &all->request; \
        struct facts *f = &all->facts;     \
        (void) r, (void) f;                \
        what;                              \
    }

/* name of the change, what it does */
#define CHANGES(X)                                                                         \
    X(principal, memcpy(all->principal.name, "agent:b", 8))                                \
    X(principal_is_agent, all->principal.is_agent = false)                                 \
    X(backend, r->backend = BACKEND_NATIVE)                                                \
    X(module, r->module = "n.wasm")                                                        \
    X(module_real, f->module.real = "/other")                                              \
    X(module_unknown, f->module.is_known = false)                                          \
    X(module_dev, f->module.id.dev = 9)                                                    \
    X(module_ino, f->module.id.ino = 9)                                                    \
    X(module_content, f->module_sha256.bytes[31] = 1)                                      \
    X(module_content_unknown, f->has_module_sha256 = false)                                \
    X(argv0, r->argv0 = "argv1")                                                           \
    X(argv0_none, r->argv0 = NULL)                                                         \
    X(pin, r->module_sha256 = "00")                                                        \
    X(embedded, r->module_bytes = NULL)                                                    \
    X(embedded_digest, all->module_digest.bytes[0] = 1)                                    \
    X(embedded_digest_none, r->module_digest = NULL)                                       \
    X(module_is_own, r->module_is_own = true)                                              \
    X(pulley, r->pulley = true)                                                            \
    X(program, r->program = "other")                                                       \
    X(program_real, f->program.real = "/other")                                            \
    X(program_ino, f->program.id.ino = 9)                                                  \
    X(cwd, r->cwd = "/")                                                                   \
    X(cwd_none, r->cwd = NULL)                                                             \
    X(rootfs, r->rootfs = "other")                                                         \
    X(rootfs_ino, f->rootfs.id.ino = 9)                                                    \
    X(source_name, r->source_name = NULL)                                                  \
    X(network, r->network = NETWORK_LOOPBACK)                                              \
    X(proc, r->proc = PROC_NONE)                                                           \
    X(proc_given, r->proc_given = true)                                                    \
    X(tty, r->tty = true)                                                                  \
    X(apply, r->apply = APPLY_AUTO)                                                        \
    X(capability, all->capabilities[0].capability = CAPABILITY_FS_WRITE)                   \
    X(capability_path, all->capabilities[0].path = "q")                                    \
    X(capability_path_none, all->capabilities[0].path = NULL)                              \
    X(capability_real, all->path_facts[0].real = "/other")                                 \
    X(capability_ino, all->path_facts[0].id.ino = 9)                                       \
    X(capability_less, r->n_capabilities = 1)                                              \
    X(command, all->commands[0].program = "hg")                                            \
    X(command_arg, all->command_args[0] = "push")                                          \
    X(command_args_less, all->commands[0].n_args = 0)                                      \
    X(command_any_args, all->commands[0].any_args = true)                                  \
    X(command_real, all->command_facts[0].real = "/other")                                 \
    X(command_ino, all->command_facts[0].id.ino = 9)                                       \
    X(command_less, r->n_commands = 0)                                                     \
    X(language, r->language = "bash")                                                      \
    X(language_none, r->language = NULL)                                                   \
    X(source, r->source = "sourcf")                                                        \
    X(source_shorter, r->source_len = 5)                                                   \
    X(unprotected, all->unprotected[0] = ".git")                                           \
    X(unprotected_less, r->n_unprotected = 0)                                              \
    X(arg, all->args[1] = "z")                                                             \
    X(args_joined, (all->args[0] = "xy", all->args[1] = ""))                               \
    X(args_swapped, (all->args[0] = "y", all->args[1] = "x"))                              \
    X(args_less, r->n_args = 1)                                                            \
    X(env, all->env[0] = "A=c")                                                            \
    X(secret_env, r->n_secret_env = 0)                                                     \
    X(env_less, r->n_env = 0)                                                              \
    X(arg_as_env, (r->n_args = 1, r->env = (const char **) all->args + 1))                 \
    X(dir_host, all->dirs[0].host = "c")                                                   \
    X(dir_guest, all->dirs[1].guest = "/c")                                                \
    X(dir_plain, all->dirs[0].plain = false)                                               \
    X(dir_also_dot, all->dirs[0].also_dot = false)                                         \
    X(dir_is_own, all->dirs[0].is_own = true)                                              \
    X(dir_access, all->dirs[0].access = ACCESS_RW)                                         \
    X(dir_real, all->dir_facts[1].real = "/other")                                         \
    X(dir_dev, all->dir_facts[1].id.dev = 9)                                               \
    X(dir_ino, all->dir_facts[1].id.ino = 9)                                               \
    X(dir_unknown, all->dir_facts[1].is_known = false)                                     \
    X(dir_less, r->n_dirs = 1)                                                             \
    X(limit_first, r->limits.value[LIMIT_WALL] = 1)                                        \
    X(limit_last, r->limits.value[LIMIT_COUNT - 1] = 1)                                    \
    X(limits_swapped, (r->limits.value[LIMIT_WALL] = 64, r->limits.value[LIMIT_CPU] = 65)) \
    X(limit_given, r->limits.given[LIMIT_CPU] = true)                                      \
    X(stdin_kind, r->stdin_kind = STDIN_INHERIT)                                           \
    X(stdin_path, r->stdin_path = "other")                                                 \
    X(stdin_ino, f->stdin_file.id.ino = 9)                                                 \
    X(stdin_bytes, r->stdin_bytes = "other")                                               \
    X(stdin_shorter, r->stdin_len = 4)                                                     \
    X(stdin_none, r->stdin_bytes = NULL)                                                   \
    X(isolation, r->isolation = ISOLATION_LANDLOCK)                                        \
    X(isolation_given, r->isolation_given = true)                                          \
    X(output_kills, r->output_kills = true)

/* What does not matter. */
#define SAME(X)                                               \
    X(label, all->labels[0].value = "2")                      \
    X(labels_none, r->n_labels = 0)                           \
    X(cache, r->no_cache = true)                              \
    X(diff, r->diff = true)                                   \
    X(module_len, r->module_len = 6) /* their digest is in */ \
    X(strings_bytes, r->strings_bytes = 7)                    \
    X(judged, r->is_judged = true)                            \
    X(judged_dir, all->dirs[0].is_judged = true)

CHANGES(CHANGE)
SAME(CHANGE)

struct row {
    const char *name;
    void (*change)(struct all *all);
};
#define ROW(name, what) {#name, name},
static const struct row changes[] = {CHANGES(ROW)};
static const struct row same[] = {SAME(ROW)};

static struct digest digest_with(const struct row *row)
{
    struct all all;
    struct digest digest;

    fill(&all);
    if (row)
        row->change(&all);
    request_digest(&all.request, &all.facts, &all.principal, &digest);
    return digest;
}

/* Each change makes another digest than nothing and than every other change. */
static void test_changes(void)
{
    struct digest seen[ARRAY_SIZE(changes) + 1] = {digest_with(NULL)};

    for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
        bool is_new = true;
        seen[i + 1] = digest_with(&changes[i]);
        for (size_t k = 0; k <= i; k++)
            is_new &= !digest_equal(&seen[k], &seen[i + 1]);
        ok(is_new, "another %s makes another request", changes[i].name);
    }
}

static void test_same(void)
{
    struct digest plain = digest_with(NULL);

    for (size_t i = 0; i < ARRAY_SIZE(same); i++) {
        struct digest digest = digest_with(&same[i]);
        ok(digest_equal(&plain, &digest), "another %s is the same request", same[i].name);
    }
}

static void test_empty(void)
{
    const struct facts facts = {.dirs = NULL};
    struct principal owner;
    struct digest wasm, native, again;
    struct request request;

    principal_owner(&owner);
    request_init(&request, BACKEND_WASM);
    request_digest(&request, &facts, &owner, &wasm);
    request_digest(&request, &facts, &owner, &again);
    request_init(&request, BACKEND_NATIVE);
    request_digest(&request, &facts, &owner, &native);
    ok(digest_equal(&wasm, &again), "the same request has the same digest");
    ok(!digest_equal(&wasm, &native), "an empty request has a digest, too");
}

int main(void)
{
    test_changes();
    test_same();
    test_empty();
    return done();
}
