/*
 * Runs a fuzz target over its corpus, where libFuzzer is not the one who does: replay FOLDER…
 *
 * Prints TAP, one line a folder. The target reports by crashing, so each input is named before it
 * is tried.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/fd.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The whole file in memory of just its size, so that a sanitizer sees the first byte past it. */
static uint8_t *read_file(const char *path, size_t *ret_len)
{
    _cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return NULL;

    size_t len = (size_t) st.st_size;
    uint8_t *bytes = malloc(len > 0 ? len : 1);
    if (bytes == NULL || fd_read_full(fd, bytes, len) != st.st_size) {
        free(bytes);
        return NULL;
    }
    *ret_len = len;
    return bytes;
}

/* False if it cannot be read. */
static bool replay_file(const char *folder, const char *name)
{
    _cleanup_free_ char *path = NULL;
    if (asprintf(&path, "%s/%s", folder, name) < 0)
        return false;
    printf("# %s\n", path);
    (void) fflush(stdout); /* a crash must not lose the name; if stdout is gone nobody reads it */

    size_t len = 0;
    _cleanup_free_ uint8_t *bytes = read_file(path, &len);
    if (bytes == NULL)
        return false;
    (void) LLVMFuzzerTestOneInput(bytes, len); /* its result is for libFuzzer */
    return true;
}

/* How many were replayed, or -1 if one could not be read. */
static int replay_folder(const char *folder)
{
    DIR *dir = opendir(folder);
    if (dir == NULL)
        return -1;
    int count = 0;
    for (struct dirent *entry = readdir(dir); entry != NULL && count >= 0; entry = readdir(dir))
        if (entry->d_name[0] != '.')
            count = replay_file(folder, entry->d_name) ? count + 1 : -1;
    (void) closedir(dir); /* it was only read */
    return count;
}

int main(int argc, char **argv)
{
    bool failed = false;

    printf("1..%d\n", argc - 1);
    for (int i = 1; i < argc; i++) {
        int count = replay_folder(argv[i]);
        printf("%sok %d - all %d inputs of %s are survived\n", count > 0 ? "" : "not ", i, count,
               argv[i]);
        failed = failed || count <= 0;
    }
    return failed;
}
