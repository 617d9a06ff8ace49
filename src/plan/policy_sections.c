/*
 * policy_sections: the sections that hold rules, and what else stands in them.
 */
#include <string.h>

#include "base/cleanup.h"
#include "plan/language.h"
#include "plan/policy_reader.h"

#define LIST_FIELDS                                             \
    {"allow", JSON_KIND_ARRAY, read_list, .required = false},   \
        {"ask", JSON_KIND_ARRAY, read_list, .required = false}, \
    {                                                           \
        "deny", JSON_KIND_ARRAY, read_list, .required = false   \
    }

static void read_workspace(struct policy_reader *reader, struct found found, void *into)
{
    const char *text = found_text(reader, found);
    struct err err;

    (void) into; /* it is the policy's */
    if (text && request_check_place(text, &err) < 0)
        (void) found_refuse(reader, found, "%s", err.message);
    reader->policy->workspace = text;
}

static void read_backend(struct policy_reader *reader, struct found found, void *into)
{
    struct policy *policy = reader->policy;
    const char *language = found.place->key;
    int backend = found_choice(reader, found, request_backend_names, 0);
    struct err err;

    (void) into; /* it is the policy's */
    if (!language_find(language, &err))
        (void) found_refuse(reader, found, "%s", err.message);
    else if (backend == BACKEND_WASM && !language_has_wasm(language))
        (void) found_refuse(reader, found, "there is no %s for wasm: write native", language);
    else if (backend >= 0)
        policy->backends[policy->n_backends++] =
            (struct policy_backend){.language = language, .backend = (enum backend) backend};
}

static void read_backends(struct policy_reader *reader, struct found found, void *into)
{
    reader->policy->backends =
        reader_array(reader, found.node->count, sizeof(*reader->policy->backends));
    if (reader->policy->backends)
        members_read(reader, found, read_backend, into);
}

static void read_isolation(struct policy_reader *reader, struct found found, void *into)
{
    int isolation = found_choice(reader, found, request_isolation_names, 0);

    (void) into; /* it is the policy's */
    reader->policy->isolation = isolation < 0 ? ISOLATION_FULL : (enum isolation) isolation;
    reader->policy->isolation_given = true;
}

static void read_generated(struct policy_reader *reader, struct found found, void *into)
{
    (void) into; /* it is the policy's */
    reader->policy->refuses_generated = !found.node->truth;
}

static void read_validate(struct policy_reader *reader, struct found found, void *into)
{
    (void) into; /* nothing is kept of it */
    if (strcmp(found.node->text, "off") != 0)
        (void) found_refuse(reader, found,
                            "there is no validator yet: write \"off\", or leave it out");
}

void read_filesystem(struct policy_reader *reader, struct found found, void *into)
{
    static const struct field fields[] = {
        LIST_FIELDS,
        {"workspace", JSON_KIND_STRING, read_workspace, .required = false},
    };
    enum section section = SECTION_FILESYSTEM;

    (void) into; /* it is the policy's, as below */
    fields_read(reader, found, fields, ARRAY_SIZE(fields), &section);
}

static const struct field list_fields[] = {LIST_FIELDS};

void read_env(struct policy_reader *reader, struct found found, void *into)
{
    enum section section = SECTION_ENV;

    (void) into;
    fields_read(reader, found, list_fields, ARRAY_SIZE(list_fields), &section);
}

void read_network(struct policy_reader *reader, struct found found, void *into)
{
    enum section section = SECTION_NETWORK;

    (void) into;
    fields_read(reader, found, list_fields, ARRAY_SIZE(list_fields), &section);
}

void read_exec(struct policy_reader *reader, struct found found, void *into)
{
    enum section section = SECTION_EXEC;

    (void) into;
    fields_read(reader, found, list_fields, ARRAY_SIZE(list_fields), &section);
}

void read_code(struct policy_reader *reader, struct found found, void *into)
{
    static const struct field fields[] = {
        LIST_FIELDS,
        {"backends", JSON_KIND_OBJECT, read_backends, .required = false},
        {"isolation", JSON_KIND_STRING, read_isolation, .required = false},
        {"generated", JSON_KIND_BOOL, read_generated, .required = false},
        {"validate", JSON_KIND_STRING, read_validate, .required = false},
    };
    enum section section = SECTION_CODE;

    (void) into;
    fields_read(reader, found, fields, ARRAY_SIZE(fields), &section);
}
