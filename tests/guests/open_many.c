/* Opens PATH up to COUNT times and closes none; says how many it got and what stopped it. */
#include <fcntl.h>
#include <unistd.h>

#include "guest.h"

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    unsigned long count = strtoul(argv[2], NULL, 10), got = 0;
    while (got < count && open(argv[1], O_RDONLY) >= 0)
        got++;
    printf("%lu %s\n", got, got < count ? errno_name(errno) : "ok");
    return 0;
}
