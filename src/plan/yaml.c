#include "plan/yaml.h"

#include <string.h>
#include <strings.h>
#include <yaml.h>

#include "base/cleanup.h"

/* ---- what a plain scalar is ------------------------------------------------------------------ */

#define DIGITS "0123456789"

/* As JSON writes it. */
static bool is_integer(const char *text)
{
    text += *text == '-';
    size_t n = strspn(text, DIGITS);
    return n > 0 && text[n] == '\0' && (n == 1 || text[0] != '0');
}

/* What else YAML 1.1 or 1.2 has for numbers and dates. */
static bool is_other_number(const char *text)
{
    text += *text == '-' || *text == '+';
    if (*text == '0' && text[1] && strchr("xXoObB", text[1]))
        return text[2 + strspn(text + 2, DIGITS "abcdefABCDEF_")] == '\0';
    if (strcasecmp(text, ".inf") == 0 || strcasecmp(text, ".nan") == 0)
        return true;
    size_t whole = strspn(text, DIGITS "_"), part = 0;
    const char *rest = text + whole;
    if (whole > 0 && *rest == ':') /* base 60 */
        return rest[strspn(rest, DIGITS "_:.")] == '\0';
    if (whole == 4 && *rest == '-' && rest[1] >= '0' && rest[1] <= '9')
        return true; /* a date */
    if (*rest == '.') {
        part = strspn(rest + 1, DIGITS "_");
        rest += 1 + part;
    }
    if (whole + part > 0 && (*rest | 0x20) == 'e') {
        rest += 1 + (rest[1] == '-' || rest[1] == '+');
        rest += strspn(rest, DIGITS);
    }
    return whole + part > 0 && text[0] != '_' && *rest == '\0';
}

static bool is_other_word(const char *text)
{
    static const char *const words[] = {"yes",  "no",    "on",   "off", "y", "n",
                                        "true", "false", "null", "~",   ""};

    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (strcasecmp(text, words[i]) == 0)
            return true;
    return false;
}

/* ---- events ---------------------------------------------------------------------------------- */

struct composer {
    yaml_parser_t parser;
    struct problems *problems;
};

static uint32_t line_of(const yaml_event_t *event)
{
    return (uint32_t) event->start_mark.line + 1;
}

static int next_event(struct composer *composer, yaml_event_t *ret_event)
{
    yaml_parser_t *parser = &composer->parser;

    if (yaml_parser_parse(parser, ret_event))
        return 0;
    if (parser->error == YAML_MEMORY_ERROR)
        return problem_no_memory(composer->problems);
    return problem_add(composer->problems, (uint32_t) parser->problem_mark.line + 1, NULL,
                       "no YAML: %s%s%s", parser->problem ? parser->problem : "unreadable",
                       parser->context ? ", " : "", parser->context ? parser->context : "");
}

/* What may stand before any value. Reading goes on: it is a problem of this place alone. */
static void check_properties(struct composer *composer, const struct place *place, uint32_t line,
                             const yaml_char_t *anchor, const yaml_char_t *tag)
{
    if (anchor)
        (void) problem_add(composer->problems, line, place,
                           "anchors ('&%s') are not taken: write the value again where it is "
                           "needed",
                           (const char *) anchor);
    if (tag)
        (void) problem_add(composer->problems, line, place,
                           "tags ('%s') are not taken: leave it out", (const char *) tag);
}

static void check_plain(struct composer *composer, const struct place *place, uint32_t line,
                        const char *text)
{
    if (text[0] == '\0')
        (void) problem_add(composer->problems, line, place,
                           "has no value: write one (\"\" is an empty text), or leave the key out");
    else
        (void) problem_add(composer->problems, line, place,
                           "'%s' is read as a text by some and as something else by others: quote "
                           "it (\"%s\"), or write true, false, null or a whole number",
                           text, text);
}

/* A copy in the arena; NULL: memory is exhausted, or it has a NUL. */
static const char *keep_text(struct composer *composer, const struct place *place,
                             const yaml_event_t *event)
{
    const char *text = (const char *) event->data.scalar.value;
    size_t len = event->data.scalar.length;

    if (memchr(text, '\0', len)) {
        (void) problem_add(composer->problems, line_of(event), place,
                           "NUL in a string is not taken"); /* NULL says it */
        return NULL;
    }
    const char *copy = arena_strndup(composer->problems->arena, text, len);
    if (!copy)
        (void) problem_no_memory(composer->problems); /* likewise */
    return copy;
}

static int compose_scalar(struct composer *composer, const struct place *place,
                          const yaml_event_t *event, struct node *node)
{
    const char *text = keep_text(composer, place, event);

    if (!text)
        return -1;
    check_properties(composer, place, line_of(event), event->data.scalar.anchor,
                     event->data.scalar.tag);
    node_set_text(node, text, event->data.scalar.length);
    if (event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
        return 0;
    bool is_true = strcmp(text, "true") == 0;
    if (is_true || strcmp(text, "false") == 0) {
        node->kind = JSON_KIND_BOOL;
        node->truth = is_true;
    } else if (strcmp(text, "null") == 0) {
        node->kind = JSON_KIND_NULL;
    } else if (is_integer(text)) {
        (void) node_set_number(node, text, strlen(text), place, composer->problems); /* go on */
    } else if (is_other_word(text) || is_other_number(text)) {
        check_plain(composer, place, line_of(event), text);
    }
    return 0;
}

static int compose(struct composer *composer, const struct place *place, int depth,
                   const yaml_event_t *event, struct node *node);

static int compose_sequence(struct composer *composer, const struct place *place, int depth,
                            struct node *node)
{
    struct node_list list;

    node_list_init(&list, node, JSON_KIND_ARRAY, place);
    for (size_t i = 0;; i++) {
        _cleanup_(yaml_event_delete) yaml_event_t event = {0};
        const struct place here = {.up = place, .index = i};
        if (next_event(composer, &event) < 0)
            return -1;
        if (event.type == YAML_SEQUENCE_END_EVENT)
            return 0;
        struct node *element = node_list_add(&list, NULL, line_of(&event), composer->problems);
        if (!element || compose(composer, &here, depth + 1, &event, element) < 0)
            return -1;
    }
}

/* NULL if it is none that reading could go on with. */
static const char *compose_key(struct composer *composer, const struct place *place,
                               const yaml_event_t *event)
{
    struct problems *problems = composer->problems;

    if (event->type != YAML_SCALAR_EVENT) {
        (void) problem_add(problems, line_of(event), place, "a key must be a text"); /* as below */
        return NULL;
    }
    const char *key = keep_text(composer, place, event);
    if (!key)
        return NULL;
    const struct place here = {.up = place, .key = key};
    check_properties(composer, &here, line_of(event), event->data.scalar.anchor,
                     event->data.scalar.tag);
    if (event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
        return key;
    if (strcmp(key, "<<") == 0)
        (void) problem_add(problems, line_of(event), place,
                           "merge keys ('<<') are not taken: write the keys themselves");
    else if (is_integer(key) || is_other_word(key) || is_other_number(key))
        (void) problem_add(problems, line_of(event), &here, "a key must be a text: quote it");
    return key;
}

static int compose_mapping(struct composer *composer, const struct place *place, int depth,
                           struct node *node)
{
    struct node_list list;

    node_list_init(&list, node, JSON_KIND_OBJECT, place);
    for (;;) {
        _cleanup_(yaml_event_delete) yaml_event_t key_event = {0};
        _cleanup_(yaml_event_delete) yaml_event_t event = {0};
        if (next_event(composer, &key_event) < 0)
            return -1;
        if (key_event.type == YAML_MAPPING_END_EVENT)
            return 0;
        const char *key = compose_key(composer, place, &key_event);
        if (!key || next_event(composer, &event) < 0)
            return -1;
        const struct place here = {.up = place, .key = key};
        struct node *member = node_list_add(&list, key, line_of(&key_event), composer->problems);
        if (!member || compose(composer, &here, depth + 1, &event, member) < 0)
            return -1;
    }
}

/* The value that the event begins. Recursion ends at JSON_MAX_DEPTH. */
static int compose(struct composer *composer, const struct place *place, int depth,
                   const yaml_event_t *event, struct node *node)
{
    uint32_t line = line_of(event);

    switch (event->type) {
    case YAML_SCALAR_EVENT:
        return compose_scalar(composer, place, event, node);
    case YAML_ALIAS_EVENT:
        (void) problem_add(composer->problems, line, place,
                           "aliases ('*%s') are not taken: write the value itself; a text that "
                           "begins with '*' must be quoted",
                           (const char *) event->data.alias.anchor); /* go on */
        node->kind = JSON_KIND_NULL;
        return 0;
    case YAML_SEQUENCE_START_EVENT:
        check_properties(composer, place, line, event->data.sequence_start.anchor,
                         event->data.sequence_start.tag);
        return node_check_depth(depth, line, place, composer->problems) < 0
                   ? -1
                   : compose_sequence(composer, place, depth, node);
    case YAML_MAPPING_START_EVENT:
        check_properties(composer, place, line, event->data.mapping_start.anchor,
                         event->data.mapping_start.tag);
        return node_check_depth(depth, line, place, composer->problems) < 0
                   ? -1
                   : compose_mapping(composer, place, depth, node);
    default:
        return problem_add(composer->problems, line, place, "a value is missing");
    }
}

/* ---- the stream ------------------------------------------------------------------------------ */

static int expect(struct composer *composer, yaml_event_type_t type, const char *why)
{
    _cleanup_(yaml_event_delete) yaml_event_t event = {0};

    if (next_event(composer, &event) < 0)
        return -1;
    if (event.type != type)
        return problem_add(composer->problems, line_of(&event), NULL, "%s", why);
    if (type == YAML_DOCUMENT_START_EVENT && (event.data.document_start.version_directive ||
                                              event.data.document_start.tag_directives.start !=
                                                  event.data.document_start.tag_directives.end))
        return problem_add(composer->problems, line_of(&event), NULL,
                           "directives ('%%') are not taken: leave them out");
    return 0;
}

static int compose_stream(struct composer *composer, struct node *node)
{
    _cleanup_(yaml_event_delete) yaml_event_t event = {0};
    const struct place root = {.up = NULL};

    if (expect(composer, YAML_STREAM_START_EVENT, "no YAML") < 0 ||
        expect(composer, YAML_DOCUMENT_START_EVENT, "is empty") < 0 ||
        next_event(composer, &event) < 0)
        return -1;
    node->line = line_of(&event);
    if (compose(composer, &root, 1, &event, node) < 0 ||
        expect(composer, YAML_DOCUMENT_END_EVENT, "nothing may follow the value") < 0)
        return -1;
    return expect(composer, YAML_STREAM_END_EVENT, "holds more than one document: keep one");
}

int document_parse_yaml(const char *text, size_t len, struct problems *problems,
                        struct node *ret_document)
{
    struct composer composer = {.problems = problems};
    struct node document = {.line = 1};

    if (document_check_text(text, len, problems) < 0)
        return -1;
    if (!yaml_parser_initialize(&composer.parser))
        return problem_no_memory(problems);
    yaml_parser_set_encoding(&composer.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&composer.parser, (const unsigned char *) text, len);
    int rc = compose_stream(&composer, &document);
    yaml_parser_delete(&composer.parser);
    if (rc == 0)
        *ret_document = document;
    return rc;
}
