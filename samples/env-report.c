/*
 * env-report: prints every variable it was given, NAME=VALUE a line, in the order given. Nothing is
 * inherited from the host, so that is all there is.
 */
#include <stddef.h>
#include <stdio.h>

extern char **environ;

int main(void)
{
    for (char **variable = environ; variable != NULL && *variable != NULL; variable++)
        puts(*variable);
    return 0;
}
