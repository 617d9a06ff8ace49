#include "plan/document.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/utf8.h"

#define INTEGER_LIMIT ((int64_t) 1 << 53) /* from here on, readers that use doubles change it */

/* ---- what every reader does ------------------------------------------------------------------ */

int document_check_text(const char *text, size_t len, struct problems *problems)
{
    if (len > JSON_MAX_BYTES)
        return problem_add(problems, 0, NULL, "larger than 1 MiB, the most that is taken");
    if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        return problem_add(problems, 1, NULL, "starts with a byte order mark: save it without");
    if (!utf8_valid(text, len))
        return problem_add(problems, 0, NULL, "not valid UTF-8: save it as UTF-8");
    return 0;
}

void node_list_init(struct node_list *list, struct node *holder, enum json_kind kind,
                    const struct place *place)
{
    holder->kind = kind;
    holder->first = NULL;
    holder->count = 0;
    *list = (struct node_list){.holder = holder, .end = &holder->first, .place = place};
}

static const struct node *find_key(const struct node *object, const char *key)
{
    for (const struct node *node = object->first; node; node = node->next)
        if (strcmp(node->key, key) == 0)
            return node;
    return NULL;
}

struct node *node_list_add(struct node_list *list, const char *key, uint32_t line,
                           struct problems *problems)
{
    struct node *node = arena_alloc(problems->arena, sizeof(*node));
    const struct place here = {.up = list->place, .key = key};

    if (!node) {
        (void) problem_no_memory(problems); /* always -1 */
        return NULL;
    }
    node->key = key;
    node->line = line;
    if (key) {
        const struct node *before = find_key(list->holder, key);
        if (list->holder->count == DOCUMENT_MAX_KEYS) {
            (void) problem_add(problems, line, list->place, "has more than %d keys",
                               DOCUMENT_MAX_KEYS); /* NULL says it */
            return NULL;
        }
        if (before) {
            (void) problem_add(problems, line, &here, "is there twice, first in line %u: keep one",
                               before->line); /* and go on */
            return node;
        }
    }
    *list->end = node;
    list->end = &node->next;
    list->holder->count++;
    return node;
}

int node_check_depth(int depth, uint32_t line, const struct place *place, struct problems *problems)
{
    if (depth <= JSON_MAX_DEPTH)
        return 0;
    return problem_add(problems, line, place, "nested more than %d levels deep", JSON_MAX_DEPTH);
}

size_t plain_run(const char *text)
{
    static const bool is_plain[256] = {
        [' ' ... '!'] = true, ['#' ... '['] = true, [']' ... '~'] = true};
    size_t n = 0;

    while (is_plain[(unsigned char) text[n]])
        n++;
    return n;
}

void node_set_text(struct node *node, const char *text, size_t len)
{
    node->kind = JSON_KIND_STRING;
    node->text = text;
    node->len = (uint32_t) len;
    node->is_plain = plain_run(text) == len;
}

int node_set_number(struct node *node, const char *digits, size_t len, const struct place *place,
                    struct problems *problems)
{
    bool is_negative = digits[0] == '-';
    int64_t number = 0;

    node->kind = JSON_KIND_INT;
    node->number = 0;
    for (size_t i = is_negative; i < len && number < INTEGER_LIMIT; i++)
        number = 10 * number + (digits[i] - '0');
    if (number >= INTEGER_LIMIT)
        return problem_add(problems, node->line, place, "integers beyond 2^53-1 are not taken");
    node->number = is_negative ? -number : number;
    return 0;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

/* What is left of the text. It is a copy, NUL at its end, in which strings are decoded in place. */
struct scan {
    char *at;
    uint32_t line;
    const char *end;
    struct problems *problems;
};

static int scan_refuse(struct scan *scan, const struct place *place, const char *what)
{
    return problem_add(scan->problems, scan->line, place, "%s",
                       scan->at >= scan->end ? "the text ends too early" : what);
}

static void skip_space(struct scan *scan)
{
    for (;; scan->at++) {
        if (*scan->at == '\n')
            scan->line++;
        else if (*scan->at != ' ' && *scan->at != '\t' && *scan->at != '\r')
            return;
    }
}

static bool take_char(struct scan *scan, char c)
{
    skip_space(scan);
    if (*scan->at != c || scan->at >= scan->end)
        return false;
    scan->at++;
    return true;
}

/* Four hex digits; -1 if they are none. */
static int take_hex(const char *at)
{
    int value = 0;

    for (int i = 0; i < 4; i++) {
        char c = at[i];
        int digit = -1;
        if (c >= '0' && c <= '9')
            digit = c - '0';
        else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
            digit = (c | 0x20) - 'a' + 10;
        if (digit < 0)
            return -1;
        value = value << 4 | digit;
    }
    return value;
}

static char *put_utf8(char *to, int c)
{
    if (c < 0x80) {
        *to++ = (char) c;
        return to;
    }
    if (c < 0x800) {
        *to++ = (char) (0xc0 | c >> 6);
    } else {
        if (c < 0x10000) {
            *to++ = (char) (0xe0 | c >> 12);
        } else {
            *to++ = (char) (0xf0 | c >> 18);
            *to++ = (char) (0x80 | (c >> 12 & 0x3f));
        }
        *to++ = (char) (0x80 | (c >> 6 & 0x3f));
    }
    *to++ = (char) (0x80 | (c & 0x3f));
    return to;
}

/* Behind "\u". NULL if it is no character. */
static char *take_unicode(struct scan *scan, char *to)
{
    int c = take_hex(scan->at);

    if (c <= 0 || (c >= 0xdc00 && c < 0xe000))
        return NULL;
    scan->at += 4;
    if (c < 0xd800 || c >= 0xe000)
        return put_utf8(to, c);
    int low = scan->at[0] == '\\' && scan->at[1] == 'u' ? take_hex(scan->at + 2) : -1;
    if (low < 0xdc00 || low >= 0xe000)
        return NULL;
    scan->at += 6;
    return put_utf8(to, 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00));
}

/* At a backslash. NULL if it begins no escape. */
static char *take_escape(struct scan *scan, char *to)
{
    static const char from[] = "\"\\/bfnrt", means[] = "\"\\/\b\f\n\r\t";
    char c = *++scan->at;
    const char *found = c ? strchr(from, c) : NULL;

    scan->at += c != '\0';
    if (c == 'u')
        return take_unicode(scan, to);
    if (found)
        *to++ = means[found - from];
    return found ? to : NULL;
}

/* Behind its quote. No escape is shorter than what it stands for, so it is decoded in place. */
static int take_string(struct scan *scan, const struct place *place, struct node *ret_node)
{
    size_t run = plain_run(scan->at);
    char *start = scan->at, *to = start + run;

    scan->at += run;
    ret_node->is_plain = *scan->at == '"';
    while (*scan->at != '"') {
        unsigned char c = (unsigned char) *scan->at;
        if (c < 0x20)
            return scan_refuse(scan, place,
                               c == '\n' ? "a string that does not end in its line"
                                         : "a control character in a string: write \\u00XX");
        if (c != '\\') {
            *to++ = *scan->at++;
            continue;
        }
        to = take_escape(scan, to);
        if (!to)
            return scan_refuse(scan, place, "a backslash that begins no escape JSON knows, or NUL");
    }
    scan->at++;
    *to = '\0'; /* at the quote, or before it */
    ret_node->kind = JSON_KIND_STRING;
    ret_node->text = start;
    ret_node->len = (uint32_t) (to - start);
    return 0;
}

static int take_number(struct scan *scan, const struct place *place, struct node *node)
{
    const char *digits = scan->at;

    scan->at += *scan->at == '-';
    size_t n = strspn(scan->at, "0123456789");
    if (n == 0 || (n > 1 && *scan->at == '0'))
        return scan_refuse(scan, place, "no number as JSON has it");
    scan->at += n;
    if (*scan->at == '.' || (*scan->at | 0x20) == 'e') {
        scan->at += strspn(scan->at, "0123456789.eE+-");
        node->kind = JSON_KIND_INT;
        (void) problem_add(scan->problems, scan->line, place,
                           "numbers with a fraction or an exponent are not taken"); /* go on */
        return 0;
    }
    (void) node_set_number(node, digits, (size_t) (scan->at - digits), place,
                           scan->problems); /* likewise */
    return 0;
}

static int take_word(struct scan *scan, const struct place *place, struct node *node)
{
    static const struct {
        const char *word;
        size_t len;
        enum json_kind kind;
        bool truth;
    } words[] = {{"true", 4, JSON_KIND_BOOL, true},
                 {"false", 5, JSON_KIND_BOOL, false},
                 {"null", 4, JSON_KIND_NULL, false}};
    size_t len =
        strspn(scan->at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");

    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (len == words[i].len && memcmp(scan->at, words[i].word, len) == 0) {
            scan->at += len;
            node->kind = words[i].kind;
            node->truth = words[i].truth;
            return 0;
        }
    return scan_refuse(scan, place, "no value as JSON has it");
}

static int take_value(struct scan *scan, const struct place *place, int depth, struct node *node);

static int take_array(struct scan *scan, const struct place *place, int depth, struct node *node)
{
    struct node_list list;

    node_list_init(&list, node, JSON_KIND_ARRAY, place);
    if (take_char(scan, ']'))
        return 0;
    for (size_t i = 0;; i++) {
        const struct place here = {.up = place, .index = i};
        skip_space(scan);
        struct node *element = node_list_add(&list, NULL, scan->line, scan->problems);
        if (!element || take_value(scan, &here, depth + 1, element) < 0)
            return -1;
        if (take_char(scan, ']'))
            return 0;
        if (!take_char(scan, ','))
            return scan_refuse(scan, place, "',' or ']' is missing");
    }
}

static int take_object(struct scan *scan, const struct place *place, int depth, struct node *node)
{
    struct node_list list;
    struct node key = {.key = NULL};

    node_list_init(&list, node, JSON_KIND_OBJECT, place);
    if (take_char(scan, '}'))
        return 0;
    for (;;) {
        if (!take_char(scan, '"'))
            return scan_refuse(scan, place, "a key in quotes is missing");
        uint32_t line = scan->line;
        if (take_string(scan, place, &key) < 0)
            return -1;
        const struct place here = {.up = place, .key = key.text};
        if (!take_char(scan, ':'))
            return scan_refuse(scan, &here, "':' is missing");
        struct node *member = node_list_add(&list, key.text, line, scan->problems);
        if (!member || take_value(scan, &here, depth + 1, member) < 0)
            return -1;
        if (take_char(scan, '}'))
            return 0;
        if (!take_char(scan, ','))
            return scan_refuse(scan, place, "',' or '}' is missing");
    }
}

/* Recursion ends at JSON_MAX_DEPTH. */
static int take_value(struct scan *scan, const struct place *place, int depth, struct node *node)
{
    skip_space(scan);
    char c = *scan->at;
    if (c == '"') {
        scan->at++;
        return take_string(scan, place, node);
    }
    if (c == '-' || (c >= '0' && c <= '9'))
        return take_number(scan, place, node);
    if (c != '[' && c != '{')
        return take_word(scan, place, node);
    if (node_check_depth(depth, scan->line, place, scan->problems) < 0)
        return -1;
    scan->at++;
    return c == '[' ? take_array(scan, place, depth, node) : take_object(scan, place, depth, node);
}

int document_parse_json(const char *text, size_t len, struct problems *problems,
                        struct node *ret_document)
{
    const struct place root = {.up = NULL};

    if (document_check_text(text, len, problems) < 0)
        return -1;
    char *copy = arena_strndup(problems->arena, text, len);
    if (!copy)
        return problem_no_memory(problems);
    struct scan scan = {.at = copy, .line = 1, .end = copy + len, .problems = problems};
    struct node document = {.line = 1};
    if (take_value(&scan, &root, 1, &document) < 0)
        return -1;
    skip_space(&scan);
    if (scan.at != scan.end)
        return problem_add(problems, scan.line, NULL, "nothing may follow the value");
    *ret_document = document;
    return 0;
}
