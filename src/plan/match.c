#include "plan/match.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/utf8.h"

/* Where a doubt must be: a rule that allows does not match, one that asks or denies does. */
static bool in_doubt(const struct rule *rule)
{
    return rule->verdict != VERDICT_ALLOW;
}

/* ---- paths ----------------------------------------------------------------------------------- */

/* `path` is `above` or lies beneath it; both normal. */
static bool is_beneath(const char *above, const char *path)
{
    size_t len = strlen(above);

    if (len == 1) /* the root */
        return true;
    return strncmp(above, path, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

static bool is_dots(const char *name, size_t len)
{
    return (len == 1 && name[0] == '.') || (len == 2 && name[0] == '.' && name[1] == '.');
}

static bool is_normal(const char *path)
{
    size_t len;

    if (path[0] != '/')
        return false;
    for (const char *name = path + 1; *name; name += len + (name[len] == '/')) {
        len = strcspn(name, "/");
        if (len == 0 || is_dots(name, len) || (name[len] == '/' && name[len + 1] == '\0'))
            return false;
    }
    return true;
}

static bool covers_path(const struct rule *rule, const char *own, const char *path)
{
    if (!own)
        return false;
    return is_beneath(own, path) || (in_doubt(rule) && is_beneath(path, own));
}

bool match_path(const struct rule *rule, const char *path)
{
    if (rule->is_any)
        return true;
    if (!path || !rule->path)
        return false;
    if (!is_normal(path))
        return in_doubt(rule);
    return covers_path(rule, rule->path, path) || covers_path(rule, rule->real, path);
}

/* ---- names ----------------------------------------------------------------------------------- */

bool match_name(const struct rule *rule, const char *name, bool exactly)
{
    bool may_be_wide = !exactly || rule->verdict == VERDICT_DENY;

    if (rule->is_any)
        return may_be_wide;
    if (!rule->name || !name)
        return false;
    size_t len = strlen(rule->name);
    if (len > 0 && rule->name[len - 1] == '*')
        return may_be_wide && strncmp(rule->name, name, len - 1) == 0;
    return strcmp(rule->name, name) == 0;
}

/* ---- hosts ----------------------------------------------------------------------------------- */

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char) (c - 'A' + 'a') : c;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_label_char(char c)
{
    return (c >= 'a' && c <= 'z') || is_digit(c) || c == '-';
}

/* The length of the label there, 0 if it is none. */
static size_t label_len(const char *label)
{
    size_t len = 0;

    while (is_label_char(label[len]))
        len++;
    if (len == 0 || len > 63 || label[0] == '-' || label[len - 1] == '-' ||
        (label[len] != '.' && label[len] != '\0'))
        return 0;
    return len;
}

/* A last label that resolvers take for a number, and the whole for an address. */
static bool is_number(const char *label)
{
    if (label[0] == '0' && label[1] == 'x')
        return strspn(label + 2, "0123456789abcdef") == strlen(label + 2);
    return strspn(label, "0123456789") == strlen(label);
}

static bool is_address(int family, const char *host, char ret_host[HOST_SIZE])
{
    struct in6_addr address; /* the larger of both */

    return inet_pton(family, host, &address) == 1 &&
           inet_ntop(family, &address, ret_host, HOST_SIZE) != NULL;
}

/* [::1] or ::1 */
static bool is_address_6(const char *host, char ret_host[HOST_SIZE])
{
    char bare[INET6_ADDRSTRLEN];
    size_t len = strlen(host);
    bool in_brackets = host[0] == '[' && len > 2 && host[len - 1] == ']';

    len -= in_brackets ? 2 : 0;
    if (len >= sizeof(bare))
        return false;
    (void) snprintf(bare, sizeof(bare), "%.*s", (int) len, host + in_brackets); /* fits */
    return is_address(AF_INET6, bare, ret_host);
}

bool host_normal(const char *host, char ret_host[HOST_SIZE])
{
    size_t len = strlen(host), label = 0;
    const char *last = ret_host;

    if (strchr(host, ':'))
        return is_address_6(host, ret_host);
    if (len == 0 || len > 253)
        return false;
    memcpy(ret_host, host, len + 1);
    for (size_t i = 0; i < len; i++)
        ret_host[i] = lower(ret_host[i]);
    for (size_t at = 0; at < len; at += label + 1) {
        last = ret_host + at;
        label = label_len(last);
        if (label == 0 || (last[label] == '.' && last[label + 1] == '\0'))
            return false;
    }
    return !is_number(last) || is_address(AF_INET, host, ret_host);
}

/* Both normal; the rule's may begin with "*.", or be "*". */
static bool covers_host(const char *own, const char *host)
{
    if (own[0] != '*')
        return strcmp(own, host) == 0;
    if (own[1] == '\0')
        return true;
    size_t len = strlen(host), suffix = strlen(own + 1); /* ".example.com" */
    return len > suffix && strcmp(host + len - suffix, own + 1) == 0;
}

/* ---- the rest of a URL ----------------------------------------------------------------------- */

static bool covers_port(const struct rule *rule, uint16_t port)
{
    if (rule->n_ports == 0)
        return rule->verdict == VERDICT_DENY || port == 443 || port == 80;
    for (size_t i = 0; i < rule->n_ports; i++)
        if (rule->ports[i] == port)
            return true;
    return false;
}

static bool covers_method(const struct rule *rule, const char *method)
{
    static const char *const standard[] = {"GET", "HEAD"};
    const char *const *methods = rule->n_methods ? rule->methods : standard;
    size_t n = rule->n_methods ? rule->n_methods : 2;

    if (rule->n_methods == 0 && rule->verdict == VERDICT_DENY)
        return true;
    if (!method)
        return in_doubt(rule) || (n == 1 && strcmp(methods[0], "*") == 0);
    for (size_t i = 0; i < n; i++)
        if (strcmp(methods[i], "*") == 0 || strcmp(methods[i], method) == 0 ||
            (in_doubt(rule) && strcasecmp(methods[i], method) == 0))
            return true;
    return false;
}

static int hex_digit(char c)
{
    if (is_digit(c))
        return c - '0';
    c = lower(c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The character at `at`, decoded; -1 if it means something else to whoever decodes it late. */
static int take_char(const char *at, size_t *ret_len)
{
    int high, low;

    *ret_len = 1;
    if (*at != '%')
        return (unsigned char) *at;
    high = hex_digit(at[1]);
    low = high < 0 ? -1 : hex_digit(at[2]);
    if (low < 0)
        return -1;
    *ret_len = 3;
    int c = high << 4 | low;
    return c == '.' || c == '/' || c == '%' ? -1 : c;
}

/* The components themselves: none is empty, "." or "..", also where a server cuts at a ';'. */
static bool has_plain_components(const char *path, size_t path_len)
{
    const char *end = path + path_len;

    for (const char *name = path + 1; name < end;) {
        const char *slash = memchr(name, '/', (size_t) (end - name));
        size_t len = (size_t) ((slash ? slash : end) - name);
        const char *semicolon = memchr(name, ';', len);
        size_t before = semicolon ? (size_t) (semicolon - name) : len;
        if (len == 0 || is_dots(name, before))
            return false;
        name += len + 1;
    }
    return true;
}

/* That is, if every server finds the same components in it. */
bool url_path_is_plain(const char *path, size_t path_len)
{
    char decoded[4096];
    size_t n = 0, len;

    if (path_len == 0 || path[0] != '/' || path_len > sizeof(decoded))
        return false;
    for (size_t at = 0; at < path_len; at += len) {
        int c = take_char(path + at, &len);
        if (c < 0x20 || c == 0x7f || c == '\\')
            return false;
        decoded[n++] = (char) c;
    }
    return utf8_valid(decoded, n) && has_plain_components(path, path_len);
}

static bool covers_url_path(const struct rule *rule, const char *path)
{
    const char *prefix = rule->path_prefix;

    if (!prefix)
        return true;
    size_t len = strlen(prefix), path_len = path ? strcspn(path, "?#") : 0;
    if (!path || !url_path_is_plain(path, path_len))
        return in_doubt(rule);
    if (len > path_len || memcmp(prefix, path, len) != 0)
        return false;
    return prefix[len - 1] == '/' || len == path_len || path[len] == '/';
}

bool match_url(const struct rule *rule, const char *host, uint16_t port, const char *method,
               const char *url_path)
{
    char normal[HOST_SIZE];

    if (!host || !host_normal(host, normal))
        return false;
    if (rule->is_any)
        return true;
    return rule->host && covers_host(rule->host, normal) && covers_port(rule, port) &&
           covers_method(rule, method) && covers_url_path(rule, url_path);
}

/* ---- programs -------------------------------------------------------------------------------- */

/* '*' stands for any run of characters. Goes back to the last '*' alone, so no worse than n * m. */
static bool covers_word(const char *pattern, const char *word)
{
    const char *star = NULL, *from = NULL;

    while (*word) {
        if (*pattern == '*') {
            star = ++pattern;
            from = word;
        } else if (*pattern == *word) {
            pattern++;
            word++;
        } else if (star) {
            pattern = star;
            word = ++from;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == '\0';
}

bool match_args(const struct rule *rule, const char *const *args, size_t n_args)
{
    if (n_args < rule->n_args || (n_args > rule->n_args && !rule->any_args))
        return false;
    for (size_t i = 0; i < rule->n_args; i++)
        if (!covers_word(rule->args[i], args[i]))
            return false;
    return true;
}

bool match_program(const struct rule *rule, const struct file_id *id, const char *const *args,
                   size_t n_args)
{
    if (rule->is_any)
        return true;
    if (!id || !rule->has_program_id || rule->program_id.dev != id->dev ||
        rule->program_id.ino != id->ino)
        return false;
    return match_args(rule, args, n_args);
}
