/* Reads one line and ends, however much input there still is. */
#include <stdio.h>

int main(void)
{
    char line[256];
    if (!fgets(line, sizeof line, stdin))
        return 1;
    printf("got %s", line);
    return 0;
}
