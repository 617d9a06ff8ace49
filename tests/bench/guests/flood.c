/* Writes MIB mebibytes to stdout. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHUNK 65536

int main(int argc, char **argv)
{
    static char bytes[CHUNK];
    long chunks = argc == 2 ? atol(argv[1]) * 16 : 0;
    memset(bytes, 'x', sizeof(bytes));
    for (long i = 0; i < chunks; i++)
        if (write(STDOUT_FILENO, bytes, sizeof(bytes)) != CHUNK)
            return 1;
    return 0;
}
