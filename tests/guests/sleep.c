/* Sleeps for MS milliseconds, with a word before and after; makes FILE, if one is given, first. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int main(int argc, char **argv)
{
    long ms = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
    puts("sleeping");
    (void) fflush(stdout);
    FILE *begun = argc > 2 ? fopen(argv[2], "w") : NULL;
    if (argc > 2 && (!begun || fclose(begun) != 0))
        return 2;
    struct timespec span = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    if (nanosleep(&span, NULL) < 0)
        return 1;
    puts("slept");
    return 0;
}
