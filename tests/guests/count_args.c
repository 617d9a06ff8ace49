/* Prints how many arguments it got and how many bytes they have in all. */
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    size_t bytes = 0;
    for (int i = 1; i < argc; i++)
        bytes += strlen(argv[i]);
    printf("%d %zu\n", argc - 1, bytes);
    return 0;
}
