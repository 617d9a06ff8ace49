/*
 * The control: the same attempts by an ordinary program without walls. free PORT PID WRITABLE
 * READABLE CODE
 */
#include <fcntl.h>
#include <stdlib.h>

#include "attempts.h"

int main(int argc, char **argv)
{
    if (argc != 6)
        return 2;
    struct stage stage = {
        .writable = open(argv[3], O_RDONLY | O_DIRECTORY),
        .readable = open(argv[4], O_RDONLY | O_DIRECTORY),
        .code = open(argv[5], O_RDWR),
        .port = atoi(argv[1]),
        .pid = atoi(argv[2]),
    };
    attempts_run(&stage);
    return 0;
}
