/* fs_write: a file anew, its end, or a file that was not there. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "broker/guise.h"
#include "broker/place.h"
#include "plan/keys.h"

enum mode { MODE_REPLACE, MODE_APPEND, MODE_CREATE };

struct asked {
    const char *path;
    const char *bytes; /* NULL: neither data nor base64 */
    size_t len;
    enum mode mode;
};

/* ---- the request ----------------------------------------------------------------------------- */

static int take_path(struct reading *reading, const char *path, const struct json_value *value,
                     void *into)
{
    (void) reading;
    (void) path;
    ((struct asked *) into)->path = json_value_string(value);
    return 0;
}

static int take_data(struct reading *reading, const char *path, const struct json_value *value,
                     void *into)
{
    struct asked *asked = into;

    (void) reading;
    (void) path;
    asked->bytes = json_value_string(value); /* a JSON string here holds no NUL */
    asked->len = strlen(asked->bytes);
    return 0;
}

static int take_base64(struct reading *reading, const char *path, const struct json_value *value,
                       void *into)
{
    struct asked *asked = into;
    const char *text = json_value_string(value);
    size_t len = strlen(text);
    char *bytes = arena_alloc(reading->arena, len / 4 * 3 + 1);

    if (bytes == NULL)
        return err_no_memory(reading->err);
    if (asked->bytes != NULL)
        return key_refuse(reading, path, "stands beside 'data': give one of them");
    if (!base64_decode(text, len, bytes, &asked->len))
        return key_refuse(reading, path, "is not base64");
    asked->bytes = bytes;
    return 0;
}

static int take_mode(struct reading *reading, const char *path, const struct json_value *value,
                     void *into)
{
    static const char *const names[] = {"replace", "append", "create"};

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (strcmp(names[i], json_value_string(value)) == 0) {
            ((struct asked *) into)->mode = (enum mode) i;
            return 0;
        }
    return key_refuse(reading, path, "must be 'replace', 'append' or 'create'");
}

static const struct key keys[] = {
    {"path", JSON_KIND_STRING, 1, true, take_path},
    {"data", JSON_KIND_STRING, 1, false, take_data},
    {"base64", JSON_KIND_STRING, 1, false, take_base64},
    {"mode", JSON_KIND_STRING, 1, false, take_mode},
};

/* ---- what may be ----------------------------------------------------------------------------- */

static int check_size(struct call *call, const struct place *place, const struct asked *asked)
{
    const struct broker_quota *quota = call->broker->quota;
    uint64_t there = asked->mode == MODE_APPEND && place->exists ? (uint64_t) place->st.st_size : 0;

    if (there > quota->file_bytes || asked->len > quota->file_bytes - there)
        return call_fail(call, "limit", "'%s' would be larger than the limit of a file",
                         place->path);
    if (asked->len > quota->disk_bytes)
        return call_fail(call, "limit", "the run has written as much as it may");
    return 0;
}

static int check_there(struct call *call, const struct place *place, const struct asked *asked)
{
    if (!place->exists)
        return 0;
    if (asked->mode == MODE_CREATE)
        return call_fail(call, "exists", "'%s' is there already", place->path);
    /* its other names may be protected, or in nobody's scope; a file anew has none */
    if (asked->mode == MODE_APPEND && place->st.st_nlink > 1)
        return call_deny(call, RULE_SPECIAL, "'%s' has other names: it can only be replaced",
                         place->path);
    return 0;
}

/* ---- writing: with the rights of the scope's owner ------------------------------------------- */

/* 0, or -1 and errno. */
static int name_it(int dir, const char *temp, const char *name, bool unless_there)
{
    if (!unless_there)
        return renameat(dir, temp, dir, name);
    int rc = renameat2(dir, temp, dir, name, RENAME_NOREPLACE);
    if (rc == 0 || errno != EINVAL)
        return rc;
    rc = linkat(dir, temp, dir, name, 0); /* a file system that cannot: a link never replaces */
    return rc < 0 ? rc : unlinkat(dir, temp, 0);
}

/*
 * Under a name of its own until it is whole and on the disk. Who had rights to the file before has
 * them still, but never a set-user-id bit. 0, or -1 and errno.
 */
static int write_anew(const struct place *place, const struct asked *asked)
{
    uint64_t chance;
    char temp[32];

    if (getrandom(&chance, sizeof(chance), 0) != (ssize_t) sizeof(chance))
        return -1;
    (void) snprintf(temp, sizeof(temp), ".wasp-%016llx", (unsigned long long) chance); /* fits */
    _cleanup_fd_ int fd =
        openat(place->dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0)
        return -1;
    if ((!place->exists || fchmod(fd, place->st.st_mode & 0777) == 0) &&
        fd_write_all(fd, asked->bytes, asked->len) == 0 && fsync(fd) == 0 &&
        name_it(place->dir, temp, place->name, asked->mode == MODE_CREATE) == 0)
        return 0;
    int number = errno;
    (void) unlinkat(place->dir, temp, 0); /* the first failure is the one to tell */
    errno = number;
    return -1;
}

/* -1 and call->err. */
static int append(struct call *call, const struct place *place, const struct asked *asked)
{
    struct stat st;
    _cleanup_fd_ int fd = fd_openat2(
        place->dir, place->name, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY,
        0644, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);

    if (fd < 0 || fstat(fd, &st) < 0)
        return place_fail(call, place->path, "written");
    if (!S_ISREG(st.st_mode) || st.st_nlink != 1 ||
        (place->exists && (st.st_dev != place->st.st_dev || st.st_ino != place->st.st_ino)))
        return err_set(&call->err, ERR_HOST, "'%s' was replaced meanwhile", place->path);
    if (place_check_kernel_file(call, fd, place->path) < 0)
        return -1;
    if (fd_write_all(fd, asked->bytes, asked->len) < 0)
        return place_fail(call, place->path, "written");
    return 0;
}

static int write_file(struct call *call, const struct place *place, const struct asked *asked)
{
    _cleanup_(guise_off) struct guise guise = GUISE_NONE;

    if (guise_on(&guise, place->scope->fd, &call->err) < 0)
        return -1;
    if (asked->mode == MODE_APPEND)
        return append(call, place, asked);
    if (write_anew(place, asked) == 0)
        return 0;
    if (errno == EEXIST && asked->mode == MODE_CREATE)
        return call_fail(call, "exists", "'%s' is there already", place->path);
    return place_fail(call, place->path, "written");
}

static int answer_bytes(struct call *call, size_t len, struct buf *answer)
{
    struct json_writer json;

    json_writer_init_buf(&json, answer);
    json_open_object(&json);
    json_key(&json, "bytes");
    json_put_uint(&json, len);
    json_close_object(&json);
    return json_finish(&json) < 0 ? err_no_memory(&call->err) : 0;
}

int broker_fs_write(struct call *call, const struct json_value *object, struct buf *answer)
{
    struct reading reading = {
        .arena = call->arena, .err = &call->err, .kind = 1, .shapes = "guest/README.md"};
    struct asked asked = {.mode = MODE_REPLACE};
    _cleanup_(place_release) struct place place = PLACE_NONE;

    if (keys_read(&reading, "", object, keys, ARRAY_SIZE(keys), &asked) < 0)
        return -1;
    if (asked.bytes == NULL)
        return key_refuse(&reading, "data", "is missing: give 'data' or 'base64'");
    if (place_to_write(call, asked.path, &place) < 0 || check_there(call, &place, &asked) < 0 ||
        check_size(call, &place, &asked) < 0)
        return -1;
    const struct broker_use use = {.capability = CAPABILITY_FS_WRITE, .path = place.real};
    if (call_check(call, &use, NULL) < 0)
        return -1;
    call->broker->quota->disk_bytes -= asked.len; /* before: half of it may be there afterwards */
    if (write_file(call, &place, &asked) < 0)
        return -1;
    return answer_bytes(call, asked.len, answer);
}
