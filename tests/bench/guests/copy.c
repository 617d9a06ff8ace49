/* Copies FROM to TO, from the first byte to the last. */
#include <fcntl.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    static char bytes[65536];
    int from = argc == 3 ? open(argv[1], O_RDONLY) : -1;
    int to = argc == 3 ? open(argv[2], O_WRONLY | O_CREAT | O_TRUNC, 0600) : -1;
    if (from < 0 || to < 0)
        return 2;
    for (ssize_t n; (n = read(from, bytes, sizeof(bytes))) != 0;)
        if (n < 0 || write(to, bytes, (size_t) n) != n)
            return 1;
    return 0;
}
