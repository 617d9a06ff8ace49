/*
 * A guest that asks wasp for what WASI has not: it reads a file and writes another by their paths
 * on the host, and runs a program. What it is not given is answered, too, and the answer says who
 * could give it.
 *
 *     door.wasm FROM TO
 *
 * Each line it prints is one answer.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wasp_guest.h"

/* Prints the answer and frees it; false if it says why not. */
static bool show(const char *what, char *answer)
{
    bool is_done = !wasp_is_error(answer);

    if (answer != NULL)
        answer[strcspn(answer, "\n")] = '\0';
    printf("%s %s: %s\n", what, is_done ? "done" : "refused", answer ? answer : "no answer");
    free(answer);
    return is_done;
}

/* {"path": PATH, and the rest} */
static char *make_request(const char *path, const char *rest)
{
    char *quoted = wasp_quote(path);
    char *request = NULL;

    if (quoted == NULL || asprintf(&request, "{\"path\":%s%s}", quoted, rest) < 0)
        exit(1);
    free(quoted);
    return request;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: door.wasm FROM TO\n");
        return 2;
    }
    char *read = make_request(argv[1], ",\"max_bytes\":1000");
    char *write = make_request(argv[2], ",\"data\":\"written through the door\\n\"");
    bool all = show("fs_read", wasp_fs_read(read));
    all &= show("fs_write", wasp_fs_write(write));
    all &= show("exec_run", wasp_exec_run("{\"argv\":[\"uname\",\"-s\"]}"));
    free(read);
    free(write);
    return all ? 0 : 1;
}
