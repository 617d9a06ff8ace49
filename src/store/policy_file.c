#include "store/policy_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "plan/policy.h"

/* A link is refused, and nothing keeps us waiting. */
#define READ_FLAGS (O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

/* Whoever can change it, or put another in its place, says what is allowed. */
static int judge_owner(const struct stat *st, const char *what, const char *path, bool root_alone,
                       struct err *err)
{
    bool is_ours = st->st_uid == 0 || (!root_alone && st->st_uid == geteuid());

    if (!is_ours) {
        (void) err_set(err, ERR_REQUEST, "%s '%s' belongs to uid %u, not to %s", what, path,
                       (unsigned) st->st_uid, root_alone ? "root" : "you or root"); /* as below */
        return err_hint(err, "look at it, then take it over (chown), or move it away");
    }
    if (st->st_mode & (S_IWGRP | S_IWOTH)) {
        (void) err_set(err, ERR_REQUEST, "%s '%s' can be written by others", what, path); /* -1 */
        return err_hint(err, "chmod go-w '%s'", path);
    }
    return 0;
}

static int judge_folder(int folder, const char *path, bool root_alone, struct err *err)
{
    struct stat st;

    if (fstat(folder, &st) < 0)
        return err_sys(err, ERR_HOST, "cannot look at the folder '%s'", path);
    return judge_owner(&st, "the folder of a policy,", path, root_alone, err);
}

static int judge_file(int fd, const char *path, bool root_alone, struct stat *ret_st,
                      struct err *err)
{
    if (fstat(fd, ret_st) < 0)
        return err_sys(err, ERR_HOST, "cannot look at the policy '%s'", path);
    if (!S_ISREG(ret_st->st_mode))
        return err_set(err, ERR_REQUEST, "the policy '%s' is no regular file: replace it", path);
    if (judge_owner(ret_st, "the policy", path, root_alone, err) < 0)
        return -1;
    if (ret_st->st_size > (off_t) POLICY_MAX_BYTES)
        return err_set(err, ERR_REQUEST,
                       "the policy '%s' is larger than 1 MiB, the most that is taken", path);
    return 0;
}

static bool is_same_time(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/* The beginning of a policy that is just being written may allow more than the whole. */
static int read_text(int fd, const struct stat *before, struct arena *arena,
                     struct policy_file *file, struct err *err)
{
    size_t size = (size_t) before->st_size;
    char *text = arena_alloc(arena, size + 1);
    struct stat after;

    if (!text)
        return err_no_memory(err);
    ssize_t len = fd_read_full(fd, text, size + 1);
    if (len < 0 || fstat(fd, &after) < 0)
        return err_sys(err, ERR_HOST, "cannot read the policy '%s'", file->path);
    if ((size_t) len != size || after.st_size != before->st_size ||
        !is_same_time(&after.st_mtim, &before->st_mtim))
        return err_set(err, ERR_REQUEST, "the policy '%s' is being changed: try again", file->path);
    text[len] = '\0';
    file->text = text;
    file->len = (size_t) len;
    return 0;
}

/* 0 with no text if it is not there. */
static int open_file(int folder, const char *name, bool root_alone, struct arena *arena,
                     struct policy_file *file, struct err *err)
{
    _cleanup_fd_ int fd = openat(folder, name, READ_FLAGS);
    struct stat st;

    if (fd < 0 && errno == ENOENT)
        return 0;
    if (fd < 0 && errno == ELOOP) {
        (void) err_set(err, ERR_REQUEST, "the policy '%s' is a symbolic link",
                       file->path); /* -1, as below */
        return err_hint(err, "put the file itself there");
    }
    if (fd < 0)
        return err_sys(err, ERR_REQUEST, "cannot open the policy '%s'", file->path);
    if (judge_file(fd, file->path, root_alone, &st, err) < 0)
        return -1;
    return read_text(fd, &st, arena, file, err);
}

/* 0 with *ret_fd -1 if it is not there. */
static int open_folder(const char *path, struct policy_trust trust, int *ret_fd, struct err *err)
{
    int flags = O_PATH | O_DIRECTORY | O_CLOEXEC | (trust.folder_itself ? O_NOFOLLOW : 0);
    _cleanup_fd_ int fd = open(path, flags);

    *ret_fd = -1;
    if (fd < 0 && errno == ENOENT)
        return 0;
    if (fd < 0 && (errno == ENOTDIR || errno == ELOOP))
        return err_set(err, ERR_REQUEST,
                       "'%s' is no folder, but would be one of wasp's: move it "
                       "away",
                       path);
    if (fd < 0)
        return err_sys(err, ERR_REQUEST, "cannot look for a policy in '%s'", path);
    *ret_fd = take_fd(&fd);
    return 0;
}

int policy_file_find(const char *folder, struct policy_trust trust, struct arena *arena,
                     struct policy_file *ret_file, struct err *err)
{
    static const char *const names[] = {"policy.yaml", "policy.json"};
    struct policy_file files[ARRAY_SIZE(names)] = {{.is_yaml = true}, {.is_yaml = false}};
    _cleanup_fd_ int fd = -1;

    *ret_file = (struct policy_file){.text = NULL};
    if (open_folder(folder, trust, &fd, err) < 0)
        return -1;
    if (fd < 0)
        return 0;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        files[i].path = arena_printf(arena, "%s/%s", folder, names[i]);
        if (!files[i].path)
            return err_no_memory(err);
        if (open_file(fd, names[i], trust.root_alone, arena, &files[i], err) < 0)
            return -1;
    }
    if (!files[0].text && !files[1].text)
        return 0;
    if (files[0].text && files[1].text)
        return err_set(err, ERR_REQUEST, "there are '%s' and '%s': keep one of them", files[0].path,
                       files[1].path);
    *ret_file = files[0].text ? files[0] : files[1];
    return judge_folder(fd, folder, trust.root_alone, err);
}

static bool ends_in(const char *text, const char *end)
{
    size_t len = strlen(text), end_len = strlen(end);

    return len > end_len && strcmp(text + len - end_len, end) == 0;
}

int policy_file_read(const char *path, struct arena *arena, struct policy_file *ret_file,
                     struct err *err)
{
    struct policy_file file = {.path = path};
    const char *slash = strrchr(path, '/');
    char *folder = slash ? arena_strndup(arena, path, (size_t) (slash - path) + 1) : NULL;
    _cleanup_fd_ int fd = -1;

    file.is_yaml = ends_in(path, ".yaml") || ends_in(path, ".yml");
    if (!file.is_yaml && !ends_in(path, ".json"))
        return err_set(err, ERR_REQUEST, "the policy '%s' must end in .yaml or .json", path);
    if (slash && !folder)
        return err_no_memory(err);
    fd = open(folder ? folder : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_sys(err, ERR_REQUEST, "cannot open the folder of the policy '%s'", path);
    if (judge_folder(fd, folder ? folder : ".", false, err) < 0 ||
        open_file(fd, slash ? slash + 1 : path, false, arena, &file, err) < 0)
        return -1;
    if (!file.text)
        return err_set(err, ERR_REQUEST, "there is no policy '%s'", path);
    *ret_file = file;
    return 0;
}
