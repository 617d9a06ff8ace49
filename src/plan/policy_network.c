/*
 * policy_network: the keys of a rule about hosts.
 */
#include <string.h>

#include "plan/match.h"
#include "plan/policy_reader.h"

/* "*.example.com", or a host. */
static const char *make_host(struct policy_reader *reader, struct found found, const char *text)
{
    bool is_wide = text[0] == '*' && text[1] == '.';
    char normal[HOST_SIZE];

    if (strstr(text, "://"))
        (void) found_refuse(reader, found,
                            "a host is no URL: write its name, and 'ports' and 'path_prefix' "
                            "beside it");
    else if (strchr(text + is_wide, '*'))
        (void) found_refuse(reader, found, "'*' may only stand alone, or before the first dot");
    else if (!host_normal(text + (is_wide ? 2 : 0), normal) ||
             (is_wide && (strchr(normal, ':') || strspn(normal, "0123456789.") == strlen(normal))))
        (void) found_refuse(reader, found,
                            "'%.64s' is no host: labels of a-z, 0-9 and '-', no dot at the end "
                            "(what is not ASCII in its xn-- form), or an IP address",
                            text);
    else
        return arena_printf(reader->problems.arena, "%s%s", is_wide ? "*." : "", normal);
    return NULL;
}

void read_host(struct policy_reader *reader, struct found found, void *into)
{
    struct rule *rule = ((struct rule_reading *) into)->rule;
    const char *text = found_text(reader, found);

    if (!text)
        return;
    rule->text = text;
    rule->is_loopback = strcmp(text, "loopback") == 0;
    if (found_is_star(found))
        rule->host = text;
    else if (!rule->is_loopback)
        rule->host = make_host(reader, found, text);
}

void read_ports(struct policy_reader *reader, struct found found, void *into)
{
    struct rule *rule = ((struct rule_reading *) into)->rule;
    uint16_t *ports = reader_array(reader, found.node->count, sizeof(*ports));
    size_t n = 0;

    if (found.node->count == 0)
        (void) found_refuse(reader, found, "must not be empty: name ports, or leave it out");
    for (const struct node *node = found.node->first; ports && node; node = node->next) {
        const struct place place = {.up = found.place, .index = n};
        int64_t port = 0;
        (void) found_number(reader, (struct found){node, &place}, 1, 65535, &port); /* or 0 */
        ports[n++] = (uint16_t) port;
    }
    rule->ports = ports;
    rule->n_ports = ports ? n : 0;
}

static const char *make_method(struct policy_reader *reader, struct found found)
{
    const char *text = found_text(reader, found);
    char *method = text ? arena_strdup(reader->problems.arena, text) : NULL;

    if (!text || strcmp(text, "*") == 0)
        return text;
    if (!method) {
        (void) problem_no_memory(&reader->problems); /* NULL says it */
        return NULL;
    }
    for (char *c = method; *c; c++) {
        *c = (char) (*c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c);
        if (*c < 'A' || *c > 'Z') {
            (void) found_refuse(reader, found, "'%.32s' is no method: GET, POST, … or \"*\"", text);
            return NULL;
        }
    }
    return method;
}

void read_methods(struct policy_reader *reader, struct found found, void *into)
{
    struct rule *rule = ((struct rule_reading *) into)->rule;
    const char **methods = reader_array(reader, found.node->count, sizeof(*methods));
    size_t n = 0;

    if (found.node->count == 0)
        (void) found_refuse(reader, found, "must not be empty: name methods, or leave it out");
    for (const struct node *node = found.node->first; methods && node; node = node->next) {
        const struct place place = {.up = found.place, .index = n};
        const char *method = make_method(reader, (struct found){node, &place});
        methods[n++] = method ? method : "";
    }
    rule->methods = methods;
    rule->n_methods = methods ? n : 0;
}

void read_path_prefix(struct policy_reader *reader, struct found found, void *into)
{
    struct rule *rule = ((struct rule_reading *) into)->rule;
    const char *text = found_text(reader, found);

    if (!text)
        return;
    if (text[0] != '/')
        (void) found_refuse(reader, found, "must begin with '/'");
    else if (strpbrk(text, "%?#;*") || !url_path_is_plain(text, found.node->len))
        (void) found_refuse(reader, found,
                            "is the plain beginning of a path: no %% ? # \\ ; * in it, and no "
                            "\"//\", \".\" or \"..\"");
    else
        rule->path_prefix = text;
}

void finish_network(struct policy_reader *reader, struct found found, struct rule *rule)
{
    bool is_narrow = rule->n_ports > 0 || rule->n_methods > 0 || rule->path_prefix;

    if (rule->is_loopback && is_narrow)
        (void) found_refuse(reader, found, "loopback is the guest's own: it has nothing beside it");
    rule->is_any = rule->host && strcmp(rule->host, "*") == 0 && !is_narrow;
}
