/* Says so (and makes FILE, if one is given), then computes for ever. */
#include <stdio.h>

int main(int argc, char **argv)
{
    puts("spinning");
    (void) fflush(stdout);
    FILE *begun = argc > 1 ? fopen(argv[1], "w") : NULL;
    if (argc > 1 && (!begun || fclose(begun) != 0))
        return 2;
    for (volatile unsigned i = 0;; i++)
        ;
}
