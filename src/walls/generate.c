/*
 * Turns the syscall sets (*.set) into arrays of BPF that filter.c embeds: made by libseccomp at run
 * time, they would cost a run two milliseconds.
 *
 * A line of a set: NAME [argN == VALUE | argN & MASK == VALUE [and ...]] : who uses it. Several
 * lines for one call: any of them allows it. "include OTHER.set" takes all of another set. '#'
 * begins a comment. What is not named answers ENOSYS.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAX_DEPTH 8
#define MAX_CONDITIONS 6 /* a call has no more arguments */

struct source {
    char **paths;
    int n_paths;
};

static void die(const char *path, int line, const char *what)
{
    fprintf(stderr, "%s:%d: %s\n", path, line, what);
    exit(1);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

static const char *find_set(const struct source *source, const char *name)
{
    for (int i = 0; i < source->n_paths; i++)
        if (strcmp(base_name(source->paths[i]), name) == 0)
            return source->paths[i];
    return NULL;
}

/* True if the text goes on with this word, which is then behind us, and the blanks after it. */
static bool take_word(const char **text, const char *word)
{
    size_t len = strlen(word);
    if (strncmp(*text, word, len) != 0)
        return false;
    *text += len;
    *text += strspn(*text, " \t");
    return true;
}

static bool take_number(const char **text, unsigned long long *ret_number)
{
    char *end;
    errno = 0;
    *ret_number = strtoull(*text, &end, 0);
    if (end == *text || errno != 0)
        return false;
    *text = end + strspn(end, " \t");
    return true;
}

/* One condition; returns where the text goes on behind it, or NULL if it is none. */
static const char *parse_condition(const char *text, struct scmp_arg_cmp *cmp)
{
    unsigned long long arg, mask, value;
    if (!take_word(&text, "arg") || !take_number(&text, &arg))
        return NULL;
    bool masked = take_word(&text, "&");
    if (masked && !take_number(&text, &mask))
        return NULL;
    if (!take_word(&text, "==") || !take_number(&text, &value))
        return NULL;
    if (masked)
        *cmp = SCMP_CMP64((unsigned int) arg, SCMP_CMP_MASKED_EQ, mask, value);
    else
        *cmp = SCMP_CMP64((unsigned int) arg, SCMP_CMP_EQ, value);
    return text;
}

/* The conditions behind a name, all of which must hold: returns how many there are. */
static unsigned int parse_conditions(const char *text, struct scmp_arg_cmp *cmps, const char *path,
                                     int line)
{
    unsigned int n = 0;
    text += strspn(text, " \t");
    while (*text != '\0') {
        text = n < MAX_CONDITIONS ? parse_condition(text, &cmps[n++]) : NULL;
        if (text != NULL && strncmp(text, "and ", 4) == 0 && text[4] != '\0')
            text += 4;
        else if (text == NULL || *text != '\0')
            die(path, line,
                "a condition is `argN & 0xMASK == 0xVALUE` or `argN == VALUE`, several with `and`");
    }
    return n;
}

static void add_rule(scmp_filter_ctx context, char *text, const char *path, int line)
{
    char *colon = strchr(text, ':');
    if (colon == NULL || colon[strspn(colon + 1, " \t\n") + 1] == '\0')
        die(path, line, "each call names its user behind a colon");
    *colon = '\0';
    size_t len = strcspn(text, " \t");
    char *rest = text + len + (text[len] != '\0');
    text[len] = '\0';

    int number = seccomp_syscall_resolve_name(text);
    if (number == __NR_SCMP_ERROR)
        die(path, line, "no such system call");
    struct scmp_arg_cmp cmps[MAX_CONDITIONS];
    unsigned int n = parse_conditions(rest, cmps, path, line);
    int rc = seccomp_rule_add_array(context, SCMP_ACT_ALLOW, number, n, cmps);
    if (rc < 0 && rc != -EEXIST)
        die(path, line, strerror(-rc));
}

static void add_set(scmp_filter_ctx context, const struct source *source, const char *path,
                    int depth)
{
    char text[512], name[64];
    FILE *file = fopen(path, "re");
    if (file == NULL || depth > MAX_DEPTH)
        die(path, 0, file == NULL ? "cannot open it" : "includes itself");
    for (int line = 1; fgets(text, sizeof(text), file) != NULL; line++) {
        text[strcspn(text, "#\n")] = '\0';
        char *start = text + strspn(text, " \t");
        if (*start == '\0')
            continue;
        if (sscanf(start, "include %63s", name) == 1) {
            const char *other = find_set(source, name);
            if (other == NULL)
                die(path, line, "no such set");
            add_set(context, source, other, depth + 1);
        } else {
            add_rule(context, start, path, line);
        }
    }
    fclose(file);
}

/* The name of the array: filter_ and the file's name up to its dot. */
static void print_array(FILE *out, const char *path, int program)
{
    struct sock_filter op;
    const char *name = base_name(path);
    fprintf(out, "static const struct sock_filter filter_%.*s[] = {\n", (int) strcspn(name, "."),
            name);
    while (read(program, &op, sizeof(op)) == sizeof(op))
        fprintf(out, "    {0x%04x, %u, %u, 0x%08x},\n", op.code, op.jt, op.jf, op.k);
    fprintf(out, "};\n\n");
}

static void generate(FILE *out, const struct source *source, const char *path)
{
    scmp_filter_ctx context = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
    if (context == NULL ||
        seccomp_attr_set(context, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS) < 0)
        die(path, 0, "libseccomp does not start");
    /*
     * a binary tree by number rather than a chain: the last call of the list costs as little as the
     * first
     */
    if (seccomp_attr_set(context, SCMP_FLTATR_CTL_OPTIMIZE, 2) < 0)
        die(path, 0, "libseccomp is too old: it cannot make search trees");
    add_set(context, source, path, 0);
    int program = memfd_create("bpf", MFD_CLOEXEC);
    if (program < 0 || seccomp_export_bpf(context, program) < 0 || lseek(program, 0, SEEK_SET) < 0)
        die(path, 0, "cannot export the filter");
    print_array(out, path, program);
    close(program);
    seccomp_release(context);
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: generate OUTPUT SET…\n");
        return 2;
    }
    FILE *out = fopen(argv[1], "we");
    if (out == NULL) {
        perror(argv[1]);
        return 1;
    }
    struct source source = {.paths = argv + 2, .n_paths = argc - 2};
    fprintf(out, "/* Made by src/walls/generate.c out of the sets beside it. */\n#pragma once\n\n"
                 "#include <linux/filter.h>\n\n");
    for (int i = 2; i < argc; i++)
        generate(out, &source, argv[i]);
    return fclose(out) == 0 ? 0 : 1;
}
