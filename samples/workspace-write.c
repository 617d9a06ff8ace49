/*
 * workspace-write: writes agent-note.txt into the workspace and says so.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

static int fail(const char *what)
{
    fprintf(stderr, "workspace-write: cannot %s: %s\n", what, strerror(errno));
    return 1;
}

int main(void)
{
    FILE *note = fopen("agent-note.txt", "w");

    if (note == NULL)
        return fail("make agent-note.txt in the workspace");
    if (fputs("written by a guest\n", note) < 0 || fclose(note) != 0)
        return fail("write agent-note.txt");
    puts("written");
    return 0;
}
