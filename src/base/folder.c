#include "base/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/digest.h"

static int check_owner(int fd, const char *name, struct err *err)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return err_sys(err, ERR_HOST, "cannot stat the folder '%s'", name);
    if (st.st_uid == geteuid() && (st.st_mode & 077) == 0)
        return 0;
    (void) err_set(err, ERR_HOST, "the folder '%s' is not yours alone", name);
    return err_hint(err, "chown it to you and chmod it to 0700, or set another one");
}

/* mkdir -p, in the text's own memory: 0, or -1 and errno. */
static int make_parents(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        int rc = mkdir(path, 0700);
        *slash = '/';
        if (rc < 0 && errno != EEXIST)
            return -1;
    }
    return mkdir(path, 0700) < 0 && errno != EEXIST ? -1 : 0;
}

int folder_open(const char *path, int *ret_fd, struct err *err)
{
    char text[4096];
    if (strlen(path) >= sizeof(text))
        return err_set(err, ERR_HOST, "a folder of wasp's own has too long a name");
    memcpy(text, path, strlen(path) + 1);
    _cleanup_fd_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT && make_parents(text) == 0)
        fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_sys(err, ERR_HOST, "cannot open or make the folder '%s'", path);
    if (check_owner(fd, path, err) < 0)
        return -1;
    *ret_fd = take_fd(&fd);
    return 0;
}

int folder_open_in(int parent, const char *name, int *ret_fd, struct err *err)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    _cleanup_fd_ int fd = openat(parent, name, flags);
    if (fd < 0 && errno == ENOENT && (mkdirat(parent, name, 0700) == 0 || errno == EEXIST))
        fd = openat(parent, name, flags);
    if (fd < 0)
        return err_sys(err, ERR_HOST, "cannot open or make wasp's own folder '%s'", name);
    if (check_owner(fd, name, err) < 0)
        return -1;
    *ret_fd = take_fd(&fd);
    return 0;
}

/* ---- what is in it --------------------------------------------------------------------------- */

static void close_dir(DIR **dir)
{
    if (*dir != NULL)
        (void) closedir(*dir); /* only read from */
}

/* A list of n has room for as many as the next power of two. 0, or -1 and errno. */
static int add_name(struct folder_names *names, struct arena *arena, const char *name)
{
    size_t count = names->count;
    if ((count & (count - 1)) == 0) {
        const char **grown = arena_array(arena, count > 0 ? 2 * count : 1, sizeof(*grown));
        if (grown != NULL && count > 0)
            memcpy(grown, names->items, count * sizeof(*grown));
        names->items = grown;
    }
    const char *copy = names->items == NULL ? NULL : arena_strdup(arena, name);
    if (copy == NULL) {
        errno = ENOMEM;
        return -1;
    }
    names->items[names->count++] = copy;
    return 0;
}

static bool has_suffix(const char *name, const char *suffix)
{
    size_t len = strlen(name), suffix_len = strlen(suffix);
    return len >= suffix_len && strcmp(name + len - suffix_len, suffix) == 0;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *) a, *(const char *const *) b);
}

int folder_list(int folder, const char *suffix, struct arena *arena, struct folder_names *ret_names)
{
    int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _cleanup_(close_dir) DIR *dir = again < 0 ? NULL : fdopendir(again);
    struct folder_names names = {.items = NULL};
    if (dir == NULL)
        return -1;
    for (const struct dirent *entry; (errno = 0, entry = readdir(dir)) != NULL;)
        if (has_suffix(entry->d_name, suffix) && add_name(&names, arena, entry->d_name) < 0)
            return -1;
    if (errno != 0)
        return -1;
    if (names.count > 0)
        qsort(names.items, names.count, sizeof(*names.items), compare_names);
    *ret_names = names;
    return 0;
}

bool folder_sweep_one(int folder, const char *name)
{
    _cleanup_fd_ int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && unlinkat(folder, name, 0) == 0;
}

/* ---- temporary files ------------------------------------------------------------------------- */

int temp_create(int folder, struct temp_file *ret_file)
{
    uint64_t random;
    random_bytes(&random, sizeof(random));
    (void) snprintf(ret_file->name, sizeof(ret_file->name), "%016llx",
                    (unsigned long long) random); /* fits */
    ret_file->folder = folder;
    ret_file->fd = openat(folder, ret_file->name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (ret_file->fd < 0)
        return -1;
    if (flock(ret_file->fd, LOCK_EX | LOCK_NB) == 0)
        return 0;
    temp_drop(ret_file); /* a sweep was quicker: it is unlinked already */
    return -1;
}

int temp_rename(struct temp_file *file, int folder, const char *name)
{
    if (renameat(file->folder, file->name, folder, name) < 0) {
        temp_drop(file);
        return -1;
    }
    (void) close(take_fd(&file->fd)); /* who cannot lose it has synced it */
    return 0;
}

void temp_drop(struct temp_file *file)
{
    int number = errno;
    (void) unlinkat(file->folder, file->name, 0); /* what this leaves, the next sweep takes */
    cleanup_fd(&file->fd);
    file->fd = -1;
    errno = number;
}

int temp_sweep(int folder)
{
    int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _cleanup_(close_dir) DIR *dir = again < 0 ? NULL : fdopendir(again);
    int removed = 0;
    for (const struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;)
        if (entry->d_name[0] != '.')
            removed += folder_sweep_one(folder, entry->d_name);
    return removed;
}
