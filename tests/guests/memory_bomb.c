/* Takes and touches memory, a MiB at a time, until there is no more; then says how much it got. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void)
{
    unsigned got = 0;
    char *part;
    while ((part = malloc(1 << 20))) {
        memset(part, 0x5a, 1 << 20);
        __asm__ volatile("" : : "r"(part) : "memory"); /* or the compiler sees that nobody looks */
        got++;
    }
    printf("%u\n", got);
    return 0;
}
