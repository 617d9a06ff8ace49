#include "plan/scope.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "plan/language.h"
#include "plan/match.h"
#include "plan/words.h"

#define MODULE "module:"
#define LOOPBACK "loopback"
/* Every argument of a request, each byte of it quoted. */
#define SCOPE_MAX_BYTES ((size_t) 5 * REQUEST_MAX_STRINGS_BYTES)

#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"
#define HOST_CHARACTERS "abcdefghijklmnopqrstuvwxyz-_." DIGITS

/* ---- paths ----------------------------------------------------------------------------------- */

/* The next component, with its length; NULL after the last. *at moves behind it. */
static const char *next_component(const char **at, size_t *ret_len)
{
    const char *start = *at + strspn(*at, "/");

    *ret_len = strcspn(start, "/");
    *at = start + *ret_len;
    return *ret_len > 0 ? start : NULL;
}

static bool is_dots(const char *component, size_t len)
{
    return len <= 2 && memcmp(component, "..", len) == 0;
}

/* Absolute, and names what it says whatever lies there. */
static bool is_plain_path(const char *path)
{
    size_t len;

    if (path[0] != '/')
        return false;
    for (const char *component; (component = next_component(&path, &len));)
        if (is_dots(component, len))
            return false;
    return true;
}

bool scope_path_covers(const char *above, const char *path)
{
    size_t above_len, len;

    if (!is_plain_path(above) || !is_plain_path(path))
        return false;
    for (;;) {
        const char *x = next_component(&above, &above_len), *y = next_component(&path, &len);
        if (!x)
            return true;
        if (!y || above_len != len || memcmp(x, y, len) != 0)
            return false;
    }
}

static bool covers_path(const char *scope, const struct need *need)
{
    return need->path && scope_path_covers(scope, need->path);
}

static int check_path(const char *scope, struct err *err)
{
    if (is_plain_path(scope))
        return 0;
    return err_set(err, ERR_REQUEST,
                   "scope '%s': write an absolute path without '.' and '..'; it is for all that "
                   "lies beneath, too",
                   scope);
}

/* ---- variables, languages, modules ----------------------------------------------------------- */

static bool covers_name(const char *scope, const struct need *need)
{
    return need->name && need->name[0] && strcmp(scope, need->name) == 0;
}

static int check_name(const char *scope, struct err *err)
{
    if (scope[0] && !strpbrk(scope, "=*"))
        return 0;
    return err_set(err, ERR_REQUEST, "scope '%s': write the name of one variable", scope);
}

/* A grant is for one file: what else comes to lie beside it, nobody has seen. */
static bool covers_code(const char *scope, const struct need *need)
{
    if (strncmp(scope, MODULE, strlen(MODULE)) != 0)
        return covers_name(scope, need);
    const char *module = scope + strlen(MODULE);
    return !need->name && need->path && scope_path_covers(module, need->path) &&
           scope_path_covers(need->path, module);
}

static int check_code(const char *scope, struct err *err)
{
    if (strncmp(scope, MODULE, strlen(MODULE)) != 0)
        return language_find(scope, err) ? 0 : err_prefix(err, "scope");
    if (is_plain_path(scope + strlen(MODULE)))
        return 0;
    return err_set(err, ERR_REQUEST,
                   "scope '%s': write 'module:' and an absolute path without '.' and '..'", scope);
}

/* ---- programs -------------------------------------------------------------------------------- */

/* The scope as a rule that has the arguments alone. *ret_program lies in the arena, too. */
static int parse_exec(const char *scope, struct arena *arena, const char **ret_program,
                      struct rule *ret_rule, struct err *err)
{
    const char *const *words;
    size_t n;

    if (words_split_patterns(scope, arena, &words, &n, err) < 0)
        return -1;
    if (!is_plain_path(words[0]) || strchr(words[0], '*'))
        return err_set(err, ERR_REQUEST,
                       "scope '%s': write the program's absolute path, then its arguments; without "
                       "any it may have all",
                       scope);
    bool any = n == 1 || strcmp(words[n - 1], "*") == 0;
    *ret_program = words[0];
    *ret_rule = (struct rule){
        .text = scope, .args = words + 1, .n_args = n - 1 - (any && n > 1), .any_args = any};
    return 0;
}

static bool covers_exec(const char *scope, const struct need *need)
{
    struct arena *arena = arena_new();
    const char *program;
    struct rule rule;
    struct err err;

    bool covers = arena && need->program && parse_exec(scope, arena, &program, &rule, &err) == 0 &&
                  strcmp(program, need->program) == 0 &&
                  match_args(&rule, need->args, need->n_args) && (!need->any_args || rule.any_args);
    arena_free(arena);
    return covers;
}

static int check_exec(const char *scope, struct err *err)
{
    struct arena *arena = arena_new();
    const char *program;
    struct rule rule;
    int rc = arena ? parse_exec(scope, arena, &program, &rule, err) : err_no_memory(err);

    arena_free(arena);
    return rc;
}

static const char *write_exec(const struct need *need, const char *otherwise, struct arena *arena)
{
    _cleanup_(buf_release) struct buf text = BUF_INIT(SCOPE_MAX_BYTES);
    const char *program = need->program ? need->program : otherwise;

    if (words_join(&text, &program, 1) < 0 || words_join(&text, need->args, need->n_args) < 0)
        return NULL;
    if (need->any_args && need->n_args > 0 && buf_add_string(&text, " *") < 0)
        return NULL;
    return arena_strdup(arena, text.data);
}

/* ---- hosts ----------------------------------------------------------------------------------- */

struct url_scope {
    char method[16];
    char host[HOST_SIZE];
    uint16_t port;
    const char *prefix; /* NULL: every path */
};

static bool copy_part(char *to, size_t size, const char *from, size_t len, const char *characters)
{
    if (len == 0 || len >= size || strspn(from, characters) < len)
        return false;
    memcpy(to, from, len);
    to[len] = '\0';
    return true;
}

/* ":443", or nothing; *at moves behind it. */
static bool take_port(const char **at, uint16_t *port)
{
    if (**at != ':')
        return true;
    size_t len = strspn(*at + 1, DIGITS);
    unsigned long number = len > 0 && len <= 5 ? strtoul(*at + 1, NULL, 10) : 0;
    *at += 1 + len;
    *port = (uint16_t) number;
    return number > 0 && number <= UINT16_MAX;
}

/* "GET https://host:443/prefix" */
static bool parse_url(const char *scope, struct url_scope *ret_url)
{
    static const struct {
        const char *text;
        uint16_t port;
    } schemes[] = {{" https://", 443}, {" http://", 80}};
    size_t method_len = strspn(scope, UPPER);
    const char *at = scope + method_len;
    char host[HOST_SIZE];

    *ret_url = (struct url_scope){.port = 0};
    for (size_t i = 0; i < ARRAY_SIZE(schemes) && ret_url->port == 0; i++)
        if (strncmp(at, schemes[i].text, strlen(schemes[i].text)) == 0) {
            at += strlen(schemes[i].text);
            ret_url->port = schemes[i].port;
        }
    size_t host_len = strcspn(at, ":/?#");
    if (ret_url->port == 0 ||
        !copy_part(ret_url->method, sizeof(ret_url->method), scope, method_len, UPPER) ||
        !copy_part(host, sizeof(host), at, host_len, HOST_CHARACTERS) ||
        !host_normal(host, ret_url->host) || strcmp(host, ret_url->host) != 0)
        return false;
    at += host_len;
    if (!take_port(&at, &ret_url->port) || (*at != '/' && *at != '\0') || strpbrk(at, "?# "))
        return false;
    ret_url->prefix = *at ? at : NULL;
    return true;
}

static bool covers_url(const char *scope, const struct need *need)
{
    struct url_scope url;

    if (need->is_loopback)
        return strcmp(scope, LOOPBACK) == 0;
    if (!need->host || !need->method || !parse_url(scope, &url))
        return false;
    const char *const method = url.method;
    const struct rule rule = {.text = scope,
                              .host = url.host,
                              .ports = &url.port,
                              .n_ports = 1,
                              .methods = &method,
                              .n_methods = 1,
                              .path_prefix = url.prefix};
    return match_url(&rule, need->host, need->port, need->method, need->url_path);
}

static int check_url(const char *scope, struct err *err)
{
    struct url_scope url;

    if (strcmp(scope, LOOPBACK) == 0 || parse_url(scope, &url))
        return 0;
    return err_set(err, ERR_REQUEST,
                   "scope '%s': write 'loopback', or a method and the beginning of a URL, in lower "
                   "case: 'GET https://host:443/prefix'",
                   scope);
}

static const char *write_url(const struct need *need, const char *otherwise, struct arena *arena)
{
    (void) otherwise; /* every host has a name */
    if (need->is_loopback)
        return LOOPBACK;
    return arena_printf(arena, "%s http%s://%s:%u%s", need->method ? need->method : "GET",
                        need->port == 80 ? "" : "s", need->host, (unsigned int) need->port,
                        need->url_path ? need->url_path : "/");
}

/* ---- all of them ----------------------------------------------------------------------------- */

static const char *write_path(const struct need *need, const char *otherwise, struct arena *arena)
{
    return arena_strdup(arena, need->path ? need->path : otherwise);
}

static const char *write_name(const struct need *need, const char *otherwise, struct arena *arena)
{
    (void) otherwise; /* a name is all there is */
    return arena_strdup(arena, need->name);
}

static const char *write_code(const struct need *need, const char *otherwise, struct arena *arena)
{
    if (need->name)
        return arena_strdup(arena, need->name);
    return arena_printf(arena, MODULE "%s", need->path ? need->path : otherwise);
}

static const struct kind {
    bool (*covers)(const char *scope, const struct need *need);
    int (*check)(const char *scope, struct err *err);
    const char *(*write)(const struct need *need, const char *otherwise, struct arena *arena);
} kinds[SECTIONS] = {
    [SECTION_FILESYSTEM] = {covers_path, check_path, write_path},
    [SECTION_ENV] = {covers_name, check_name, write_name},
    [SECTION_NETWORK] = {covers_url, check_url, write_url},
    [SECTION_EXEC] = {covers_exec, check_exec, write_exec},
    [SECTION_CODE] = {covers_code, check_code, write_code},
};

const char *scope_of(const struct need *need, const char *otherwise, struct arena *arena)
{
    return kinds[capability_rows[need->capability].section].write(need, otherwise, arena);
}

bool scope_covers(enum capability capability, const char *scope, const struct need *need)
{
    bool same = capability == need->capability ||
                (capability == CAPABILITY_FS_WRITE && need->capability == CAPABILITY_FS_READ);

    return same && scope && kinds[capability_rows[capability].section].covers(scope, need);
}

bool scope_exists(const struct need *need)
{
    return need->scope && scope_covers(need->capability, need->scope, need);
}

int scope_check(enum capability capability, const char *scope, struct err *err)
{
    return kinds[capability_rows[capability].section].check(scope, err);
}
