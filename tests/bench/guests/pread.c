/* Reads 4 bytes of FILE a million times, each time elsewhere. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#define TIMES 1000000U
#define FILE_BYTES 4096U

int main(int argc, char **argv)
{
    uint32_t sum = 0, word;
    int fd = argc == 2 ? open(argv[1], O_RDONLY) : -1;
    if (fd < 0)
        return 2;
    for (uint32_t i = 0; i < TIMES; i++) {
        if (pread(fd, &word, sizeof(word), (off_t) (i * sizeof(word) % FILE_BYTES)) != sizeof(word))
            return 1;
        sum += word;
    }
    printf("%u\n", sum);
    return 0;
}
