/* Opens, stats and closes FILE a hundred thousand times. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define TIMES 100000

int main(int argc, char **argv)
{
    struct stat st;
    if (argc != 2)
        return 2;
    for (int i = 0; i < TIMES; i++) {
        int fd = open(argv[1], O_RDONLY);
        if (fd < 0 || fstat(fd, &st) < 0 || close(fd) < 0)
            return 1;
    }
    return 0;
}
