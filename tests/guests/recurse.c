/* Calls itself DEPTH deep and comes back. */
#include <stdio.h>
#include <stdlib.h>

static unsigned long deeper(unsigned long depth);
static unsigned long (*volatile next)(unsigned long) =
    deeper; /* through a pointer, or the compiler makes a loop of it */

static unsigned long deeper(unsigned long depth)
{
    return depth == 0 ? 0 : next(depth - 1) + 1;
}

int main(int argc, char **argv)
{
    printf("%lu\n", deeper(argc > 1 ? strtoul(argv[1], NULL, 10) : 0));
    return 0;
}
