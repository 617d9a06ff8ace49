/* Writes TOTAL bytes to PATH in pieces of CHUNK; says how much went in and what stopped it. */
#include <fcntl.h>
#include <unistd.h>

#include "guest.h"

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    size_t chunk = (size_t) strtoull(argv[2], NULL, 10);
    unsigned long long total = strtoull(argv[3], NULL, 10), done = 0;
    char *bytes = calloc(1, chunk);
    int fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (!bytes || fd < 0)
        return 1;
    const char *why = "ok";
    while (done < total) {
        size_t want = total - done < chunk ? (size_t) (total - done) : chunk;
        ssize_t n = write(fd, bytes, want);
        if (n < 0) {
            why = errno_name(errno);
            break;
        }
        done += (unsigned long long) n;
    }
    printf("%llu %s\n", done, why);
    return 0;
}
