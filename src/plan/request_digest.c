#include "plan/request_digest.h"

#include <string.h>

/* Another one whenever a part is added or means something else: old approvals then end. */
#define VERSION "wasp.request-digest/1"

/*
 * Whoever adds a member to one of these puts it into the digest below, or into the list of what
 * does not matter in test_request_digest.c, and then corrects the size here.
 */
#ifdef __x86_64__
_Static_assert(sizeof(struct request) == 496, "a member of struct request is not in the digest");
_Static_assert(sizeof(struct request_dir) == 48, "a member of request_dir is not in the digest");
_Static_assert(sizeof(struct request_capability) == 16, "likewise of request_capability");
_Static_assert(sizeof(struct request_command) == 32, "likewise of request_command");
_Static_assert(sizeof(struct facts) == 232, "likewise of facts");
#endif

/* Numbers go in as eight bytes, the lowest first, so that every host says the same. */
static void add_number(struct sha256 *sha, uint64_t number)
{
    uint8_t bytes[8];

    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t) (number >> (8 * i));
    sha256_add(sha, bytes, sizeof(bytes));
}

/* NULL is not the empty text. */
static void add_bytes(struct sha256 *sha, const void *bytes, size_t len)
{
    add_number(sha, bytes ? (uint64_t) len + 1 : 0);
    if (bytes)
        sha256_add(sha, bytes, len);
}

static void add_text(struct sha256 *sha, const char *text)
{
    add_bytes(sha, text, text ? strlen(text) : 0);
}

static void tag(struct sha256 *sha, const char *name)
{
    add_text(sha, name);
}

static void put_number(struct sha256 *sha, const char *name, uint64_t number)
{
    tag(sha, name);
    add_number(sha, number);
}

static void put_text(struct sha256 *sha, const char *name, const char *text)
{
    tag(sha, name);
    add_text(sha, text);
}

static void put_list(struct sha256 *sha, const char *name, const char *const *texts, size_t n)
{
    tag(sha, name);
    add_number(sha, n);
    for (size_t i = 0; i < n; i++)
        add_text(sha, texts[i]);
}

/* As it is written and, where that is known, what it is. */
static void put_fact(struct sha256 *sha, const char *name, const char *text,
                     const struct fact *fact)
{
    put_text(sha, name, text);
    add_number(sha, fact->is_known);
    if (!fact->is_known)
        return;
    add_text(sha, fact->real);
    add_number(sha, fact->id.dev);
    add_number(sha, fact->id.ino);
}

static void put_dirs(struct sha256 *sha, const struct request *request, const struct facts *facts)
{
    put_number(sha, "dirs", request->n_dirs);
    for (size_t i = 0; i < request->n_dirs; i++) {
        const struct request_dir *dir = &request->dirs[i];
        put_fact(sha, "dir", dir->host, &facts->dirs[i]);
        put_text(sha, "guest", dir->guest);
        put_number(sha, "plain", dir->plain);
        put_number(sha, "also_dot", dir->also_dot);
        put_number(sha, "is_own", dir->is_own);
        put_number(sha, "access", dir->access);
    }
}

static void put_module(struct sha256 *sha, const struct request *request, const struct facts *facts)
{
    put_fact(sha, "module", request->module, &facts->module);
    put_text(sha, "argv0", request->argv0);
    put_text(sha, "pin", request->module_sha256);
    put_number(sha, "embedded", request->module_bytes != NULL);
    tag(sha, "module_digest");
    add_bytes(sha, request->module_digest, sizeof(*request->module_digest));
    tag(sha, "module_sha256");
    add_bytes(sha, facts->has_module_sha256 ? &facts->module_sha256 : NULL,
              sizeof(facts->module_sha256));
    put_number(sha, "module_is_own", request->module_is_own);
    put_number(sha, "pulley", request->pulley);
}

static void put_native(struct sha256 *sha, const struct request *request, const struct facts *facts)
{
    put_fact(sha, "program", request->program, &facts->program);
    put_text(sha, "cwd", request->cwd);
    put_fact(sha, "rootfs", request->rootfs, &facts->rootfs);
    put_text(sha, "source_name", request->source_name);
    put_number(sha, "network", request->network);
    put_number(sha, "proc", request->proc);
    put_number(sha, "proc_given", request->proc_given);
    put_number(sha, "tty", request->tty);
    put_number(sha, "apply", request->apply);
}

static void put_capabilities(struct sha256 *sha, const struct request *request,
                             const struct facts *facts)
{
    put_number(sha, "capabilities", request->n_capabilities);
    for (size_t i = 0; i < request->n_capabilities; i++) {
        put_number(sha, "capability", request->capabilities[i].capability);
        put_fact(sha, "path", request->capabilities[i].path, &facts->paths[i]);
    }
    put_number(sha, "commands", request->n_commands);
    for (size_t i = 0; i < request->n_commands; i++) {
        const struct request_command *command = &request->commands[i];
        put_fact(sha, "command", command->program, &facts->commands[i]);
        put_list(sha, "args", command->args, command->n_args);
        put_number(sha, "any_args", command->any_args);
    }
}

static void put_limits(struct sha256 *sha, const struct limits *limits)
{
    for (size_t i = 0; i < LIMIT_COUNT; i++) {
        put_number(sha, limit_rows[i].key, limits->value[i]);
        put_number(sha, "given", limits->given[i]);
    }
}

static void put_guest(struct sha256 *sha, const struct request *request, const struct facts *facts)
{
    put_text(sha, "language", request->language);
    tag(sha, "source");
    add_bytes(sha, request->source, request->source_len);
    put_list(sha, "unprotected", request->unprotected, request->n_unprotected);
    put_list(sha, "args", request->args, request->n_args);
    put_list(sha, "env", request->env, request->n_env);
    put_list(sha, "secret_env", request->secret_env, request->n_secret_env);
    put_dirs(sha, request, facts);
    put_limits(sha, &request->limits);
    put_number(sha, "stdin", request->stdin_kind);
    put_fact(sha, "stdin_file", request->stdin_path, &facts->stdin_file);
    tag(sha, "stdin_bytes");
    add_bytes(sha, request->stdin_bytes, request->stdin_len);
    put_number(sha, "isolation", request->isolation);
    put_number(sha, "isolation_given", request->isolation_given);
    put_number(sha, "output_kills", request->output_kills);
}

void request_digest(const struct request *request, const struct facts *facts,
                    const struct principal *principal, struct digest *ret_digest)
{
    struct sha256 sha;

    sha256_init(&sha);
    add_text(&sha, VERSION);
    put_text(&sha, "principal", principal->name);
    put_number(&sha, "is_agent", principal->is_agent);
    put_number(&sha, "backend", request->backend);
    put_module(&sha, request, facts);
    put_native(&sha, request, facts);
    put_capabilities(&sha, request, facts);
    put_guest(&sha, request, facts);
    sha256_finish(&sha, ret_digest);
}
