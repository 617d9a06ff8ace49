/*
 * policy_examples: what a rule says it matches, and what not, held against what it does.
 */
#include <stdlib.h>
#include <string.h>

#include "plan/match.h"
#include "plan/policy_reader.h"

/* ---- network --------------------------------------------------------------------------------- */

struct url {
    char method[32];
    char host[HOST_SIZE];
    uint16_t port;
    const char *path;
};

/* Copies the part of that length, if it fits. */
static bool take_part(const char **text, size_t len, char *to, size_t size)
{
    if (len == 0 || len >= size || len > strlen(*text))
        return false;
    memcpy(to, *text, len);
    to[len] = '\0';
    *text += len;
    return true;
}

/* ":443", if it is there. */
static bool take_port(const char **text, uint16_t *ret_port)
{
    char *end;

    if (**text != ':')
        return true;
    unsigned long port = strtoul(*text + 1, &end, 10);
    if (end == *text + 1 || !strchr("123456789", (*text)[1]) || port > 65535)
        return false;
    *text = end;
    *ret_port = (uint16_t) port;
    return true;
}

/* [METHOD ]http[s]://HOST[:PORT][/PATH], or a host alone, which means GET https://HOST/. */
static bool split_url(const char *text, struct url *ret_url)
{
    struct url url = {.port = 443, .method = "GET"};
    const char *space = strchr(text, ' ');

    if (space) {
        if (!take_part(&text, (size_t) (space - text), url.method, sizeof(url.method)))
            return false;
        text++;
    }
    if (strncmp(text, "http://", 7) == 0) {
        url.port = 80;
        text += 7;
    } else if (strncmp(text, "https://", 8) == 0) {
        text += 8;
    }
    size_t len = text[0] == '[' ? strcspn(text, "]") + 1 : strcspn(text, ":/?#");
    char normal[HOST_SIZE];
    if (!take_part(&text, len, url.host, sizeof(url.host)) || !host_normal(url.host, normal) ||
        !take_port(&text, &url.port) || (*text && !strchr("/?#", *text)))
        return false;
    url.path = *text == '/' ? text : "/";
    *ret_url = url;
    return true;
}

static bool matches_url(struct policy_reader *reader, const struct rule *rule, struct found found,
                        const char *text)
{
    struct url url;

    if (strcmp(text, "loopback") == 0)
        return rule->is_loopback || rule->is_any;
    if (!split_url(text, &url)) {
        (void) found_refuse(reader, found,
                            "is no example: write loopback, a host, or 'METHOD "
                            "https://HOST[:PORT]/PATH'");
        return false;
    }
    return match_url(rule, url.host, url.port, url.method, url.path);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static bool matches(struct policy_reader *reader, const struct rule *rule, enum section section,
                    struct found found, const char *text)
{
    bool is_path = section == SECTION_FILESYSTEM || text[0] == '/' || text[0] == '~';

    if (section == SECTION_NETWORK)
        return matches_url(reader, rule, found, text);
    if (section == SECTION_ENV || !is_path)
        return match_name(rule, text, false);
    const char *path = found_path(reader, found);
    return path && match_path(rule, path);
}

static void test_list(struct policy_reader *reader, const struct rule *rule, enum section section,
                      struct found list, bool should)
{
    size_t i = 0;

    for (const struct node *node = list.node ? list.node->first : NULL; node; node = node->next) {
        const struct place place = {.up = list.place, .index = i++};
        const struct found found = {node, &place};
        const char *text = found_text(reader, found);
        size_t before = reader->problems.found.count;
        if (!text || matches(reader, rule, section, found, text) == should)
            continue;
        if (reader->problems.found.count == before)
            (void) found_refuse(reader, found,
                                should ? "'%.128s' is not matched by this rule: correct one of them"
                                       : "'%.128s' is matched by this rule: correct one of them",
                                text);
    }
}

/* NULL-terminated. */
static const char *const *keep_list(struct policy_reader *reader, struct found list)
{
    const char **texts =
        reader_array(reader, (list.node ? list.node->count : 0) + 1, sizeof(*texts));
    size_t i = 0;

    for (const struct node *node = texts && list.node ? list.node->first : NULL; node;
         node = node->next) {
        const struct place place = {.up = list.place, .index = i};
        texts[i++] = found_text(reader, (struct found){node, &place});
    }
    return texts;
}

void test_examples(struct policy_reader *reader, struct rule *rule, enum section section,
                   struct found match, struct found no_match)
{
    if (!match.node && !no_match.node)
        return;
    if (section != SECTION_EXEC) {
        test_list(reader, rule, section, match, true);
        test_list(reader, rule, section, no_match, false);
        return;
    }
    struct rule_examples *examples = reader_array(reader, 1, sizeof(*examples));
    if (!examples)
        return;
    examples->match = keep_list(reader, match);
    examples->no_match = keep_list(reader, no_match);
    rule->examples = examples;
}
