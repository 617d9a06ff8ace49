#include "plan/policy_reader.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"

int found_refuse(struct policy_reader *reader, struct found found, const char *format, ...)
{
    char why[512];
    va_list args;

    va_start(args, format);
    (void) vsnprintf(why, sizeof(why), format, args); /* the problem would cut it too */
    va_end(args);
    return problem_add(&reader->problems, found.node->line, found.place, "%s", why);
}

/* ---- objects and arrays ---------------------------------------------------------------------- */

static const struct field *find_field(const struct field *fields, size_t n_fields, const char *name)
{
    for (size_t i = 0; i < n_fields; i++)
        if (fields[i].name[0] == name[0] && strcmp(fields[i].name, name) == 0)
            return &fields[i];
    return NULL;
}

static void refuse_unknown(struct policy_reader *reader, struct found found,
                           const struct field *fields, size_t n_fields)
{
    _cleanup_(buf_release) struct buf names = BUF_INIT(300);

    for (size_t i = 0; i < n_fields; i++)
        (void) buf_printf(&names, "%s%s", i ? ", " : "", fields[i].name); /* what fits helps */
    (void) found_refuse(reader, found, "unknown key: there are %s",
                        names.data ? names.data : "none");
}

bool node_has(const struct node *object, const char *key)
{
    for (const struct node *node = object->first; node; node = node->next)
        if (strcmp(node->key, key) == 0)
            return true;
    return false;
}

void fields_read(struct policy_reader *reader, struct found object, const struct field *fields,
                 size_t n_fields, void *into)
{
    uint64_t seen = 0; /* a bit each; no table has as many */

    for (const struct node *node = object.node->first; node; node = node->next) {
        const struct place place = {.up = object.place, .key = node->key};
        const struct found found = {node, &place};
        const struct field *field = find_field(fields, n_fields, node->key);
        if (!field) {
            refuse_unknown(reader, found, fields, n_fields);
            continue;
        }
        seen |= UINT64_C(1) << (field - fields);
        if (found_is(reader, found, field->kind))
            field->handle(reader, found, into);
    }
    for (size_t i = 0; i < n_fields; i++)
        if (fields[i].required && !(seen >> i & 1))
            (void) found_refuse(reader, object, "has no key '%s': add it", fields[i].name);
}

void elements_read(struct policy_reader *reader, struct found array, field_handler *handle,
                   void *into)
{
    size_t i = 0;

    for (const struct node *node = array.node->first; node; node = node->next) {
        const struct place place = {.up = array.place, .index = i++};
        handle(reader, (struct found){node, &place}, into);
    }
}

void members_read(struct policy_reader *reader, struct found object, field_handler *handle,
                  void *into)
{
    for (const struct node *node = object.node->first; node; node = node->next) {
        const struct place place = {.up = object.place, .key = node->key};
        handle(reader, (struct found){node, &place}, into);
    }
}

void *reader_array(struct policy_reader *reader, size_t count, size_t size)
{
    void *array = arena_array(reader->problems.arena, count, size);

    if (!array)
        (void) problem_no_memory(&reader->problems); /* NULL says it */
    return array;
}

/* ---- values ---------------------------------------------------------------------------------- */

bool found_is(struct policy_reader *reader, struct found found, enum json_kind kind)
{
    enum json_kind is = found.node->kind;

    if (is == kind)
        return true;
    (void) found_refuse(reader, found, "must be %s, not %s%s", json_kind_name(kind),
                        json_kind_name(is),
                        is == JSON_KIND_NULL ? ": write one, or leave the key out" : "");
    return false;
}

bool found_is_star(struct found found)
{
    return found.node->kind == JSON_KIND_STRING && strcmp(found.node->text, "*") == 0;
}

/* C0, DEL, C1, and what turns text around on a screen: it is shown to people and models. */
static bool is_unseen(const unsigned char *c)
{
    return c[0] < 0x20 || c[0] == 0x7f || (c[0] == 0xc2 && c[1] < 0xa0) ||
           (c[0] == 0xe2 && c[1] == 0x80 && (c[2] == 0x8e || c[2] == 0x8f)) ||
           (c[0] == 0xe2 && c[1] == 0x80 && c[2] >= 0xa8 && c[2] <= 0xae) ||
           (c[0] == 0xe2 && c[1] == 0x81 && c[2] >= 0xa6 && c[2] <= 0xa9);
}

/* Valid UTF-8 with a NUL at its end, so that no character is looked at past it. */
static bool has_unseen(const char *text)
{
    for (; *text; text++)
        if (is_unseen((const unsigned char *) text))
            return true;
    return false;
}

const char *found_text(struct policy_reader *reader, struct found found)
{
    const struct node *node = found.node;

    if (!found_is(reader, found, JSON_KIND_STRING))
        return NULL;
    if (node->len == 0)
        (void) found_refuse(reader, found, "must not be empty: write something, or leave it out");
    else if (!node->is_plain && has_unseen(node->text))
        (void) found_refuse(reader, found,
                            "line ends, control characters and marks of direction are not taken: "
                            "write it in one plain line");
    else
        return node->text;
    return NULL;
}

int found_choice(struct policy_reader *reader, struct found found, const char *const *names,
                 int first)
{
    _cleanup_(buf_release) struct buf all = BUF_INIT(256);
    const char *text = found_text(reader, found);

    if (!text)
        return -1;
    for (int i = first; names[i]; i++)
        if (strcmp(names[i], text) == 0)
            return i;
    for (int i = first; names[i]; i++)
        (void) buf_printf(&all, "%s%s", i > first ? ", " : "", names[i]); /* what fits helps */
    return found_refuse(reader, found, "'%.64s' is none of: %s", text, all.data ? all.data : "");
}

bool found_number(struct policy_reader *reader, struct found found, int64_t min, int64_t max,
                  int64_t *ret_number)
{
    int64_t number = found.node->number;

    if (!found_is(reader, found, JSON_KIND_INT))
        return false;
    if (number < min || number > max) {
        (void) found_refuse(reader, found, "must be from %lld to %lld, not %lld", (long long) min,
                            (long long) max, (long long) number);
        return false;
    }
    *ret_number = number;
    return true;
}

/* ---- paths ----------------------------------------------------------------------------------- */

/* Without "//", "/./" and a slash at its end; false for "..". Shrinks, so in place. */
static bool make_normal(char *path)
{
    char *to = path;

    for (const char *name = path; *name;) {
        size_t len = strcspn(name, "/");
        if (len == 2 && name[0] == '.' && name[1] == '.')
            return false;
        if (len > 0 && !(len == 1 && name[0] == '.')) {
            *to++ = '/';
            memmove(to, name, len);
            to += len;
        }
        name += len + (name[len] == '/');
    }
    *to = '\0';
    return true;
}

/* Absolute, and surely nothing in it has to go: most paths are so. */
static bool is_normal(const char *path)
{
    bool after_slash = true;

    if (path[0] != '/')
        return false;
    for (path++; *path; path++) {
        if (*path == '*' || (after_slash && (*path == '/' || *path == '.')))
            return false;
        after_slash = *path == '/';
    }
    return !after_slash;
}

/* What a path counts from: "" if it is absolute, NULL and a problem if there is no such place. */
static const char *base_of(struct policy_reader *reader, struct found found, const char **text)
{
    const char *path = *text;

    if (path[0] == '/')
        return "";
    if (path[0] == '~' && (path[1] == '/' || path[1] == '\0')) {
        *text = path + 1;
        if (!reader->home)
            (void) found_refuse(reader, found, "'~' means nothing here: %s", reader->no_home);
        return reader->home;
    }
    if (path[0] == '~')
        (void) found_refuse(reader, found, "only '~' and '~/…' are taken: write the home out");
    else if (!reader->context->base_dir)
        (void) found_refuse(reader, found, "must be an absolute path, or begin with '~/'");
    else
        return reader->context->base_dir;
    return NULL;
}

const char *found_path(struct policy_reader *reader, struct found found)
{
    const char *text = found_text(reader, found);

    if (!text || (is_normal(text) && found.node->len < PATH_MAX))
        return text;
    if (strchr(text, '*')) {
        (void) found_refuse(reader, found, "a path has no '*' in it: it covers all beneath it");
        return NULL;
    }
    const char *base = base_of(reader, found, &text);
    if (!base)
        return NULL;
    char *path = arena_printf(reader->problems.arena, "%s/%s", base, text);
    if (!path) {
        (void) problem_no_memory(&reader->problems); /* NULL says it */
        return NULL;
    }
    if (!make_normal(path))
        (void) found_refuse(reader, found, "'..' is not taken: write where it leads");
    else if (path[0] == '\0')
        (void) found_refuse(reader, found, "'/' is everything: write \"*\" if that is meant");
    else if (strlen(path) >= PATH_MAX)
        (void) found_refuse(reader, found, "longer than a path can be");
    else
        return path;
    return NULL;
}
