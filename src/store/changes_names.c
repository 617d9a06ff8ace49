#include "store/changes_names.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

static void close_dir(DIR **dir)
{
    if (*dir != NULL)
        (void) closedir(*dir); /* only read from */
}

/* Full at each power of two. 0, or -1 and errno. */
static int add(struct changes_names *names, const char *name)
{
    size_t count = names->count;

    if ((count & (count - 1)) == 0) {
        char **more = reallocarray(names->items, count > 0 ? 2 * count : 1, sizeof(*more));
        if (more == NULL)
            return -1;
        names->items = more;
    }
    names->items[count] = strdup(name);
    if (names->items[count] == NULL)
        return -1;
    names->count++;
    return 0;
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *) a, *(char *const *) b);
}

static int read_all(DIR *dir, uint64_t max, struct changes_names *names)
{
    for (const struct dirent *entry; (errno = 0, entry = readdir(dir)) != NULL;) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        bool is_long = strlen(entry->d_name) > CHANGES_NAME_MAX;
        if (names->count >= max || is_long) {
            errno = is_long ? ENAMETOOLONG : EFBIG;
            return -1;
        }
        if (add(names, entry->d_name) < 0)
            return -1;
    }
    return errno != 0 ? -1 : 0;
}

int changes_names_read(int parent, const char *name, uint64_t max, struct changes_names *ret_names)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    _cleanup_(close_dir) DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    _cleanup_(changes_names_release) struct changes_names names = {0};

    if (dir == NULL || read_all(dir, max, &names) < 0)
        return -1;
    if (names.count > 0)
        qsort(names.items, names.count, sizeof(*names.items), compare);
    *ret_names = names;
    names = (struct changes_names){0};
    return 0;
}

bool changes_names_have(const struct changes_names *names, const char *name)
{
    return names->count > 0 &&
           bsearch(&name, names->items, names->count, sizeof(*names->items), compare) != NULL;
}

void changes_names_release(struct changes_names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->items[i]);
    free(names->items);
    *names = (struct changes_names){0};
}
