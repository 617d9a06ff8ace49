/*
 * A small task that uses all a guest can be given: a variable, a file to read and a place to write.
 * The rest of the world is not there for it.
 *
 *     clang --target=wasm32-wasi -O2 -o hello.wasm hello.c
 *     wasp run hello.wasm --allow-dir ./workspace --env TASK_ID=abc123
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(const char *what)
{
    fprintf(stderr, "hello: %s: %s\n", what, strerror(errno));
    return 1;
}

static int read_line(const char *path, char *line, int size)
{
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return -1;
    int status = fgets(line, size, file) != NULL ? 0 : -1;
    fclose(file);
    line[strcspn(line, "\n")] = '\0';
    return status;
}

static int write_note(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    if (file == NULL)
        return -1;
    int status = fprintf(file, "%s\n", text) < 0 ? -1 : 0;
    return fclose(file) == 0 ? status : -1;
}

int main(void)
{
    const char *task = getenv("TASK_ID");
    char line[256] = "";

    printf("hello from the sandbox, task %s\n", task != NULL ? task : "unnamed");
    if (read_line("input.txt", line, sizeof(line)) < 0)
        return fail("cannot read input.txt");
    printf("input.txt says: %s\n", line);
    if (write_note("note.txt", "written by a guest") < 0)
        return fail("cannot write note.txt");
    /* Not granted, so not there. */
    printf("/etc/passwd: %s\n", fopen("/etc/passwd", "r") != NULL ? "readable" : strerror(errno));
    return 0;
}
