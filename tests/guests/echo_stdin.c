/* Copies its input to its output until the end, then says on stderr how much that was. */
#include <stdio.h>
#include <unistd.h>

int main(void)
{
    char bytes[65536];
    unsigned long long total = 0;
    ssize_t len;
    while ((len = read(0, bytes, sizeof bytes)) > 0) {
        total += (unsigned long long) len;
        for (ssize_t done = 0; done < len;) {
            ssize_t n = write(1, bytes + done, (size_t) (len - done));
            if (n <= 0)
                return 1;
            done += n;
        }
    }
    fprintf(stderr, "%llu\n", total);
    return len < 0;
}
