/*
 * workspace-probe: prints the workspace's input.txt, byte for byte.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int fail(const char *what)
{
    fprintf(stderr, "workspace-probe: cannot %s: %s\n", what, strerror(errno));
    return 1;
}

int main(void)
{
    char bytes[4096];
    int fd = open("input.txt", O_RDONLY);

    if (fd < 0)
        return fail("open input.txt in the workspace");
    for (ssize_t n; (n = read(fd, bytes, sizeof(bytes))) != 0;)
        if (n < 0 || fwrite(bytes, 1, (size_t) n, stdout) != (size_t) n)
            return fail("copy input.txt");
    return fflush(stdout) == 0 ? 0 : fail("write to stdout");
}
