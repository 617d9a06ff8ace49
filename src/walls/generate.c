/*
 * Turns the syscall sets (*.set) into arrays of BPF that the cells embed: made at run time, they
 * would cost a run two milliseconds.
 *
 * A line of a set, of which the first that fits a call decides:
 *
 *     NAME… [CONDITION [and CONDITION]…] : who uses it
 *     refuse ERRNO NAME… [CONDITION [and CONDITION]…] : why not
 *     include OTHER.set
 *
 * A CONDITION is argN [& MASK] == VALUE or argN [& MASK] != VALUE. argN are all 64 bits; intN the
 * lower 32, for what the kernel takes as an int: a line that refuses by the others lets a call pass
 * that carries bits which nobody reads (CVE-2019-10063). '#' begins a comment. What no line fits
 * answers ENOSYS, a call of a foreign architecture kills.
 */
#include <ctype.h>
#include <errno.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "walls/program.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define MAX_DEPTH 8
#define MAX_RULES 1024
#define LINE_BYTES 512
#define NAME_BYTES 64

static const struct arch {
    const char *name; /* meson's */
    uint32_t token;   /* libseccomp's, which is the kernel's AUDIT_ARCH_* */
    bool has_x32;
} arches[] = {
    {"x86_64", SCMP_ARCH_X86_64, true},
    {"aarch64", SCMP_ARCH_AARCH64, false},
};

/* Calls that an older libseccomp does not know. Since Linux 5.1 a number is that of all. */
static const struct {
    const char *name;
    uint32_t number;
} newer[] = {
    {"futex_waitv", 449}, {"fchmodat2", 452},     {"map_shadow_stack", 453},
    {"futex_wake", 454},  {"futex_wait", 455},    {"futex_requeue", 456},
    {"mseal", 462},       {"setxattrat", 463},    {"getxattrat", 464},
    {"listxattrat", 465}, {"removexattrat", 466},
};

static const struct {
    const char *name;
    uint32_t number;
} errnos[] = {
    {"EPERM", EPERM},
    {"EACCES", EACCES},
    {"ENOSYS", ENOSYS},
    {"EINVAL", EINVAL},
    {"EAFNOSUPPORT", EAFNOSUPPORT},
};

/* The set that is being read, and where its rules go. */
struct reader {
    char **paths; /* of all sets, for include */
    int n_paths;
    const char *path;
    int line;
    struct policy policy;
};

/* As an error of the file: path, line, what is wrong. */
__attribute__((noreturn)) static void die(const struct reader *reader, const char *what)
{
    fprintf(stderr, "%s:%d: %s\n", reader->path, reader->line, what);
    exit(1);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

static const char *find_set(const struct reader *reader, const char *name)
{
    for (int i = 0; i < reader->n_paths; i++)
        if (strcmp(base_name(reader->paths[i]), name) == 0)
            return reader->paths[i];
    die(reader, "no such set");
}

/* True if the text goes on with this, which is then behind us, and the blanks after it. */
static bool take(char **text, const char *word)
{
    size_t len = strlen(word);
    if (strncmp(*text, word, len) != 0)
        return false;
    *text += len;
    *text += strspn(*text, " \t");
    return true;
}

static bool take_number(char **text, uint64_t *ret_number)
{
    char *end;
    errno = 0;
    unsigned long long number = strtoull(*text, &end, 0);
    if (!isdigit((unsigned char) **text) || errno != 0)
        return false;
    *text = end + strspn(end, " \t");
    *ret_number = number;
    return true;
}

/* The next word, NUL-terminated in its place; NULL if the text ends. */
static char *take_word(char **text)
{
    char *word = *text + strspn(*text, " \t");
    if (*word == '\0')
        return NULL;
    char *end = word + strcspn(word, " \t");
    *text = end + (*end != '\0');
    *text += strspn(*text, " \t");
    *end = '\0';
    return word;
}

static bool take_condition(char **text, struct condition *ret_condition)
{
    uint64_t arg, mask = ~0ULL;
    bool is_int = take(text, "int");
    if (!is_int && !take(text, "arg"))
        return false;
    if (!take_number(text, &arg) || arg >= CALL_ARGS)
        return false;
    if (take(text, "&") && !take_number(text, &mask))
        return false;
    struct condition condition = {.mask = is_int ? mask & UINT32_MAX : mask};
    condition.arg = (unsigned int) arg;
    condition.differs = take(text, "!=");
    if (!condition.differs && !take(text, "=="))
        return false;
    if (!take_number(text, &condition.value) || condition.mask == 0 ||
        (condition.value & ~condition.mask) != 0)
        return false;
    *ret_condition = condition;
    return true;
}

static void read_conditions(const struct reader *reader, char *text, struct rule *rule)
{
    bool is_more = *text != '\0';
    while (is_more) {
        if (rule->n_conditions == CALL_ARGS ||
            !take_condition(&text, &rule->conditions[rule->n_conditions++]))
            die(reader, "a condition is `argN & MASK == VALUE`, with int for arg, != for == and no "
                        "mask if you like, no bit outside the mask, and `and` before the next");
        is_more = take(&text, "and ");
    }
    if (*text != '\0')
        die(reader, "there is more behind the conditions");
}

/* False if this architecture lacks the call, as newer ones lack open() and stat(). */
static bool find_number(const struct reader *reader, const char *name, uint32_t *ret_number)
{
    int number = seccomp_syscall_resolve_name_arch(reader->policy.arch, name);
    for (size_t i = 0; number == __NR_SCMP_ERROR && i < COUNT(newer); i++)
        if (strcmp(newer[i].name, name) == 0)
            number = (int) newer[i].number;
    if (number == __NR_SCMP_ERROR)
        die(reader, "no such system call");
    if (number >= MAX_NUMBER)
        die(reader, "its number is beyond all that program.h reckons with");
    *ret_number = (uint32_t) number;
    return number >= 0;
}

static void add_rule(struct reader *reader, const char *name, const struct rule *rule)
{
    uint32_t number;
    if (!find_number(reader, name, &number))
        return;
    if (reader->policy.n_rules == MAX_RULES)
        die(reader, "too many rules");
    struct rule *added = &reader->policy.rules[reader->policy.n_rules++];
    *added = *rule;
    added->number = number;
}

static uint32_t read_action(const struct reader *reader, char **text)
{
    if (!take(text, "refuse "))
        return SECCOMP_RET_ALLOW;
    const char *name = take_word(text);
    for (size_t i = 0; name != NULL && i < COUNT(errnos); i++)
        if (strcmp(errnos[i].name, name) == 0)
            return SECCOMP_RET_ERRNO | errnos[i].number;
    die(reader, "it refuses with an errno that generate.c does not know");
}

static bool is_condition(const char *text)
{
    bool has_word = strncmp(text, "arg", 3) == 0 || strncmp(text, "int", 3) == 0;
    return has_word && isdigit((unsigned char) text[3]);
}

/* The names come first; what looks like a condition ends them. */
static void read_rule(struct reader *reader, char *text)
{
    char *names[LINE_BYTES / 2], *word;
    size_t n_names = 0;
    char *colon = strchr(text, ':');
    if (colon == NULL || colon[strspn(colon + 1, " \t\n") + 1] == '\0')
        die(reader, "each call names its user behind a colon");
    *colon = '\0';
    for (char *end = colon; end > text && isblank((unsigned char) end[-1]); end--)
        end[-1] = '\0';
    struct rule rule = {.action = read_action(reader, &text)};
    while (!is_condition(text) && (word = take_word(&text)) != NULL)
        names[n_names++] = word;
    if (n_names == 0)
        die(reader, "it names no call");
    read_conditions(reader, text, &rule);
    for (size_t i = 0; i < n_names; i++)
        add_rule(reader, names[i], &rule);
}

static void read_set(struct reader *reader, const char *path, int depth)
{
    char text[LINE_BYTES], name[NAME_BYTES];
    struct reader includer = *reader;
    FILE *file = fopen(path, "re");
    if (file == NULL || depth > MAX_DEPTH)
        die(reader, file == NULL ? "cannot open the set" : "the set includes itself");
    reader->path = path;
    for (reader->line = 1; fgets(text, sizeof(text), file) != NULL; reader->line++) {
        if (strchr(text, '\n') == NULL)
            die(reader, "the line is too long, or does not end");
        text[strcspn(text, "#\n")] = '\0';
        char *start = text + strspn(text, " \t");
        if (sscanf(start, "include %63s", name) == 1)
            read_set(reader, find_set(reader, name), depth + 1);
        else if (*start != '\0')
            read_rule(reader, start);
    }
    fclose(file);
    reader->path = includer.path;
    reader->line = includer.line;
}

/* The name of the array: filter_ and the file's name up to its dot. */
static void print_array(FILE *out, const char *path, const struct sock_filter *ops, size_t n_ops)
{
    const char *name = base_name(path);
    fprintf(out, "static const struct sock_filter filter_%.*s[] = {\n", (int) strcspn(name, "."),
            name);
    for (size_t i = 0; i < n_ops; i++)
        fprintf(out, "    {0x%04x, %u, %u, 0x%08x},\n", ops[i].code, ops[i].jt, ops[i].jf,
                ops[i].k);
    fprintf(out, "};\n\n");
}

/* Made and proven for each architecture, printed for the one that is asked for. */
static void generate(FILE *out, struct reader *reader, const char *path, const struct arch *arch)
{
    struct rule rules[MAX_RULES];
    struct sock_filter ops[BPF_MAXINSNS];
    struct seccomp_data data;
    reader->policy = (struct policy){.arch = arch->token, .has_x32 = arch->has_x32, rules, 0};
    reader->path = path;
    reader->line = 0;
    read_set(reader, path, 0);
    size_t n = program_make(&reader->policy, ops);
    if (n == 0)
        die(reader, "the program is longer than the kernel takes");
    const struct sock_filter *start = ops + BPF_MAXINSNS - n;
    if (program_differs(&reader->policy, start, n, &data)) {
        fprintf(stderr, "%s, call %d (%#llx, %#llx, %#llx): ", arch->name, data.nr,
                (unsigned long long) data.args[0], (unsigned long long) data.args[1],
                (unsigned long long) data.args[2]);
        die(reader, "the program does not decide as its lines do");
    }
    if (out != NULL)
        print_array(out, path, start, n);
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: generate OUTPUT ARCHITECTURE SET…\n");
        return 2;
    }
    FILE *out = fopen(argv[1], "we");
    if (out == NULL) {
        perror(argv[1]);
        return 1;
    }
    struct reader reader = {.paths = argv + 3, .n_paths = argc - 3};
    fprintf(out, "/* Made by src/walls/generate.c out of the sets beside it. */\n#pragma once\n\n"
                 "#include <linux/filter.h>\n\n");
    bool is_known = false;
    for (size_t i = 0; i < COUNT(arches); i++) {
        bool is_asked = strcmp(arches[i].name, argv[2]) == 0;
        is_known = is_known || is_asked;
        for (int j = 3; j < argc; j++)
            generate(is_asked ? out : NULL, &reader, argv[j], &arches[i]);
    }
    if (!is_known)
        fprintf(stderr, "generate: no filters can be made for '%s' yet\n", argv[2]);
    return fclose(out) == 0 && is_known ? 0 : 1;
}
