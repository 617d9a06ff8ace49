/*
 * A guest to start from: reads a file, writes a file, reports its environment.
 *
 *     starter.wasm INPUT OUTPUT
 *
 * OUTPUT gets the lines of INPUT with their numbers. Both are found below a directory that wasp was
 * told to grant; nothing else is there. What a guest prints and the code it ends with come back in
 * wasp's JSON.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;

static int fail(const char *doing, const char *path)
{
    fprintf(stderr, "starter: cannot %s '%s': %s\n", doing, path, strerror(errno));
    return -1;
}

/* Returns how many lines there were, or -1 if either file gave out. */
static int number_lines(FILE *input, FILE *output)
{
    char *line = NULL;
    size_t size = 0;
    int count = 0;

    while (getline(&line, &size, input) >= 0)
        fprintf(output, "%d %s", ++count, line);
    free(line);
    return ferror(input) || ferror(output) ? -1 : count;
}

static int copy(const char *from, const char *to)
{
    FILE *input = fopen(from, "r");
    if (input == NULL)
        return fail("read", from);
    FILE *output = fopen(to, "w");
    if (output == NULL) {
        fail("write", to);
        fclose(input);
        return -1;
    }
    int count = number_lines(input, output);
    fclose(input);
    if (fclose(output) != 0 || count < 0) /* the last bytes are written by fclose */
        return fail("copy", from);
    printf("%s: %d lines written\n", to, count);
    return 0;
}

/* Only what --env gave: a guest inherits nothing. */
static void report_environment(void)
{
    for (char **entry = environ; *entry != NULL; entry++)
        printf("%s\n", *entry);
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: starter.wasm INPUT OUTPUT\n");
        return 2;
    }
    report_environment();
    return copy(argv[1], argv[2]) == 0 ? 0 : 1;
}
