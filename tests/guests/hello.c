/* Says hello and ends by itself. */
#include <stdio.h>

int main(void)
{
    puts("hello, wasp");
    return 0;
}
