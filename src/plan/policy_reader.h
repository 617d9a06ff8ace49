/*
 * policy_reader: what the files that read a policy's sections share. Every problem is kept, and
 * reading goes on behind it.
 */
#pragma once

#include "plan/document.h"
#include "plan/policy.h"

struct policy_reader {
    struct problems problems;
    const struct policy_context *context;
    const char *home; /* what "~" is; NULL: it is refused, for this reason: */
    const char *no_home;
    struct policy *policy; /* what is filled */
    size_t n_rules;
};

/* A value and where it is. */
struct found {
    const struct node *node;
    const struct place *place;
};

/* Gets a value of its field's kind; `into` is what the object's caller is filling. */
typedef void field_handler(struct policy_reader *reader, struct found found, void *into);

struct field {
    const char *name;
    enum json_kind kind;
    field_handler *handle;
    bool required;
};

/* Hands each member of the object to its field, in the order of the document. */
void fields_read(struct policy_reader *reader, struct found object, const struct field *fields,
                 size_t n_fields, void *into);
/* Hands each element of an array on; its kind is the handler's to judge. */
void elements_read(struct policy_reader *reader, struct found array, field_handler *handle,
                   void *into);
/* Hands each member of an object on whose names the handler judges: they are the place's key. */
void members_read(struct policy_reader *reader, struct found object, field_handler *handle,
                  void *into);

/* True if the object has such a key. */
bool node_has(const struct node *object, const char *key);
/* Zeroed, in the arena; NULL and a problem if memory is exhausted. */
void *reader_array(struct policy_reader *reader, size_t count, size_t size);

/* Keeps a problem with that value. Returns -1. */
int found_refuse(struct policy_reader *reader, struct found found, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool found_is_star(struct found found); /* the text "*" */
bool found_is(struct policy_reader *reader, struct found found, enum json_kind kind);
/* A text that is neither empty nor has control characters; NULL and a problem otherwise. */
const char *found_text(struct policy_reader *reader, struct found found);
/* The number of one of the names from `first` on; -1 and a problem otherwise. */
int found_choice(struct policy_reader *reader, struct found found, const char *const *names,
                 int first);
/* A whole number within both; false and a problem otherwise. */
bool found_number(struct policy_reader *reader, struct found found, int64_t min, int64_t max,
                  int64_t *ret_number);
/* A path of the host's: absolute and normal, in the arena; NULL and a problem otherwise. */
const char *found_path(struct policy_reader *reader, struct found found);

/* One line of a list while it is read; `into` of its fields. */
struct rule_reading {
    struct rule *rule;
    enum section section;
    enum verdict verdict;
    const struct node *match, *no_match; /* NULL: none */
};

/* Of a rule about hosts. */
field_handler read_host, read_ports, read_methods, read_path_prefix;
void finish_network(struct policy_reader *reader, struct found found, struct rule *rule);
/* A list of rules. `into` is the enum section; which list it is, its key says. */
field_handler read_list;
/* The sections, as fields of the document. */
field_handler read_filesystem, read_env, read_network, read_exec, read_code, read_limits,
    read_approval, read_audit;

/* Tests a rule's examples, or keeps them (exec). Either may have no node. */
void test_examples(struct policy_reader *reader, struct rule *rule, enum section section,
                   struct found match, struct found no_match);
