/*
 * policy_rules: the lists of a policy: what is allowed, asked for, denied.
 */
#include <string.h>

#include "base/cleanup.h"
#include "plan/language.h"
#include "plan/policy_reader.h"

/* ---- keys of every rule ---------------------------------------------------------------------- */

static void read_reason(struct policy_reader *reader, struct found found, void *into)
{
    struct rule_reading *reading = into;

    reading->rule->reason = found_text(reader, found);
}

static void read_match(struct policy_reader *reader, struct found found, void *into)
{
    (void) reader; /* tested when the rule is whole */
    ((struct rule_reading *) into)->match = found.node;
}

static void read_no_match(struct policy_reader *reader, struct found found, void *into)
{
    (void) reader; /* likewise */
    ((struct rule_reading *) into)->no_match = found.node;
}

#define SHARED_FIELDS                                                 \
    {"reason", JSON_KIND_STRING, read_reason, .required = false},     \
        {"match", JSON_KIND_ARRAY, read_match, .required = false},    \
    {                                                                 \
        "no_match", JSON_KIND_ARRAY, read_no_match, .required = false \
    }

/* ---- filesystem ------------------------------------------------------------------------------ */

static void read_path(struct policy_reader *reader, struct found found, void *into)
{
    struct rule *rule = ((struct rule_reading *) into)->rule;

    rule->text = found.node->text;
    rule->is_any = found_is_star(found);
    rule->path = rule->is_any ? NULL : found_path(reader, found);
}

static void read_access(struct policy_reader *reader, struct found found, void *into)
{
    static const char *const names[] = {"read-only", "read-write", NULL};
    struct rule_reading *reading = into;

    if (reading->verdict == VERDICT_DENY)
        (void) found_refuse(reader, found, "what is denied is denied for both: leave it out");
    else
        reading->rule->writes = found_choice(reader, found, names, 0) == 1;
}

/* ---- env ------------------------------------------------------------------------------------- */

static void read_variable(struct policy_reader *reader, struct found found, void *into)
{
    struct rule *rule = ((struct rule_reading *) into)->rule;
    const char *name = found_text(reader, found);
    const char *star = name ? strchr(name, '*') : NULL;

    if (!name)
        return;
    rule->text = rule->name = name;
    rule->is_any = found_is_star(found);
    if (strchr(name, '='))
        (void) found_refuse(reader, found, "the name of a variable has no '=' in it");
    if (star && star[1] != '\0')
        (void) found_refuse(reader, found, "'*' may only stand at the end of a name");
}

/* ---- exec ------------------------------------------------------------------------------------ */

static void read_program(struct policy_reader *reader, struct found found, void *into)
{
    struct rule *rule = ((struct rule_reading *) into)->rule;
    const char *text = found_text(reader, found);

    if (!text)
        return;
    rule->text = text;
    rule->is_any = found_is_star(found);
    if (rule->is_any)
        return;
    if (text[0] == '/' || text[0] == '~')
        rule->program = found_path(reader, found);
    else if (strchr(text, '/') || strcmp(text, ".") == 0 || strcmp(text, "..") == 0)
        (void) found_refuse(reader, found, "a program is a name, or an absolute path");
    else if (strchr(text, '*'))
        (void) found_refuse(reader, found, "a program has no '*' in it: name each");
    else if (strpbrk(text, " \t"))
        (void) found_refuse(reader, found,
                            "a program is one word: its arguments are 'args' beside it");
    else
        rule->program = text;
}

static void read_args(struct policy_reader *reader, struct found found, void *into)
{
    struct rule *rule = ((struct rule_reading *) into)->rule;
    const char **args = reader_array(reader, found.node->count, sizeof(*args));
    size_t n = 0;

    for (const struct node *node = found.node->first; args && node; node = node->next) {
        const struct place place = {.up = found.place, .index = n};
        /* An empty argument is one, too. */
        bool is_empty = node->kind == JSON_KIND_STRING && node->len == 0;
        const char *arg = is_empty ? "" : found_text(reader, (struct found){node, &place});
        args[n++] = arg ? arg : "";
    }
    rule->any_args = n > 0 && strcmp(args[n - 1], "*") == 0;
    rule->args = args;
    rule->n_args = n - rule->any_args;
}

static void finish_exec(struct policy_reader *reader, struct found found, struct rule *rule)
{
    rule->any_args = rule->any_args || !rule->args;
    if (rule->is_any && rule->args)
        (void) found_refuse(reader, found,
                            "\"*\" is every program with any arguments: name the program, or "
                            "leave 'args' out");
}

/* ---- code ------------------------------------------------------------------------------------ */

static void read_language(struct policy_reader *reader, struct found found, void *into)
{
    struct rule *rule = ((struct rule_reading *) into)->rule;
    const char *text = found_text(reader, found);

    if (!text)
        return;
    rule->text = rule->name = text;
    if (!found_is_star(found))
        (void) found_choice(reader, found, language_names, 0); /* a problem says it */
}

static void read_module(struct policy_reader *reader, struct found found, void *into)
{
    struct rule *rule = ((struct rule_reading *) into)->rule;

    rule->text = found.node->text;
    rule->path = found_is_star(found) ? "/" : found_path(reader, found);
}

static void read_sha256(struct policy_reader *reader, struct found found, void *into)
{
    struct rule *rule = ((struct rule_reading *) into)->rule;
    const char *text = found_text(reader, found);

    rule->has_sha256 = text && digest_from_hex(text, &rule->sha256);
    if (text && !rule->has_sha256)
        (void) found_refuse(reader, found, "must be 64 hex digits");
}

/* In the short form, "*" is every language and every module. */
static void read_code_text(struct policy_reader *reader, struct found found, void *into)
{
    struct rule *rule = ((struct rule_reading *) into)->rule;

    rule->is_any = found_is_star(found);
    if (rule->is_any)
        rule->text = found.node->text;
    else if (found.node->text[0] == '/' || found.node->text[0] == '~')
        (void) found_refuse(reader, found, "write {module: …} to name a module");
    else
        read_language(reader, found, into);
}

static void finish_code(struct policy_reader *reader, struct found found, struct rule *rule)
{
    bool is_object = found.node->kind == JSON_KIND_OBJECT;

    if (is_object && node_has(found.node, "language") == node_has(found.node, "module"))
        (void) found_refuse(reader, found, "must name a language or a module, one of them");
    if (rule->has_sha256 && !node_has(found.node, "module"))
        (void) found_refuse(reader, found, "'sha256' is a module's: name the module");
}

/* ---- a list ---------------------------------------------------------------------------------- */

static const struct field filesystem_fields[] = {
    {"path", JSON_KIND_STRING, read_path, .required = true},
    {"access", JSON_KIND_STRING, read_access, .required = false},
    SHARED_FIELDS,
};
static const struct field env_fields[] = {
    {"name", JSON_KIND_STRING, read_variable, .required = true},
    SHARED_FIELDS,
};
static const struct field network_fields[] = {
    {"host", JSON_KIND_STRING, read_host, .required = true},
    {"ports", JSON_KIND_ARRAY, read_ports, .required = false},
    {"methods", JSON_KIND_ARRAY, read_methods, .required = false},
    {"path_prefix", JSON_KIND_STRING, read_path_prefix, .required = false},
    SHARED_FIELDS,
};
static const struct field exec_fields[] = {
    {"program", JSON_KIND_STRING, read_program, .required = true},
    {"args", JSON_KIND_ARRAY, read_args, .required = false},
    SHARED_FIELDS,
};
static const struct field code_fields[] = {
    {"language", JSON_KIND_STRING, read_language, .required = false},
    {"module", JSON_KIND_STRING, read_module, .required = false},
    {"sha256", JSON_KIND_STRING, read_sha256, .required = false},
    SHARED_FIELDS,
};

/* What a rule of each section is made of. */
static const struct shape {
    const struct field *fields;
    size_t n_fields;
    field_handler *read_text; /* of the short form */
    const char *text_is;      /* in words */
    void (*finish)(struct policy_reader *reader, struct found found, struct rule *rule);
} shapes[SECTIONS] = {
    [SECTION_FILESYSTEM] = {filesystem_fields, ARRAY_SIZE(filesystem_fields), read_path, "a path",
                            NULL},
    [SECTION_ENV] = {env_fields, ARRAY_SIZE(env_fields), read_variable, "a name", NULL},
    [SECTION_NETWORK] = {network_fields, ARRAY_SIZE(network_fields), read_host, "a host",
                         finish_network},
    [SECTION_EXEC] = {exec_fields, ARRAY_SIZE(exec_fields), read_program, "a program", finish_exec},
    [SECTION_CODE] = {code_fields, ARRAY_SIZE(code_fields), read_code_text, "a language",
                      finish_code},
};

static void read_rule(struct policy_reader *reader, struct found found,
                      struct rule_reading *reading)
{
    const struct shape *shape = &shapes[reading->section];
    size_t before = reader->problems.found.count;

    reading->rule->line = found.node->line;
    reading->rule->verdict = reading->verdict;
    if (found.node->kind == JSON_KIND_OBJECT) {
        fields_read(reader, found, shape->fields, shape->n_fields, reading);
    } else if (found.node->kind == JSON_KIND_STRING) {
        shape->read_text(reader, found, reading);
    } else {
        (void) found_refuse(reader, found, "must be %s, or an object, not %s", shape->text_is,
                            json_kind_name(found.node->kind));
        return;
    }
    if (shape->finish)
        shape->finish(reader, found, reading->rule);
    if (reader->problems.found.count != before)
        return;
    const struct place match = {.up = found.place, .key = "match"};
    const struct place no_match = {.up = found.place, .key = "no_match"};
    test_examples(reader, reading->rule, reading->section, (struct found){reading->match, &match},
                  (struct found){reading->no_match, &no_match});
}

void read_list(struct policy_reader *reader, struct found found, void *into)
{
    enum section section = *(const enum section *) into;
    enum verdict verdict = VERDICT_ALLOW;
    size_t count = found.node->count, i = 0;

    while (strcmp(verdict_names[verdict], found.place->key) != 0)
        verdict++;
    reader->n_rules += count;
    if (reader->n_rules > POLICY_MAX_RULES) {
        (void) found_refuse(reader, found, "more than %d rules are not taken", POLICY_MAX_RULES);
        return;
    }
    struct rule *rules = reader_array(reader, count, sizeof(*rules));
    for (const struct node *node = found.node->first; rules && node; node = node->next, i++) {
        const struct place place = {.up = found.place, .index = i};
        struct rule_reading reading = {.rule = &rules[i], .section = section, .verdict = verdict};
        read_rule(reader, (struct found){node, &place}, &reading);
    }
    reader->policy->rules[section][verdict] = (struct rules){.items = rules, .count = count};
}
