#include "store/runtimes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/folder.h"

#define RECORD_SUFFIX ".json"
#define MODULE_SUFFIX ".wasm"
#define RECORD_FILE_SIZE (RUNTIME_NAME_MAX + sizeof(RECORD_SUFFIX))
#define MODULE_FILE_SIZE (DIGEST_HEX + sizeof(MODULE_SUFFIX))

/* Nothing in the folder is a link, and nothing may keep us waiting. */
#define READ_FLAGS (O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)

/* ---- the folder ------------------------------------------------------------------------------ */

static int open_folders(const char *state_dir, struct runtimes *runtimes, struct err *err)
{
    _cleanup_fd_ int state = -1;

    if (folder_open(state_dir, &state, err) < 0)
        return -1;
    if (folder_open_in(state, "runtimes", &runtimes->folder, err) < 0 ||
        folder_open_in(runtimes->folder, "tmp", &runtimes->temp, err) < 0)
        return err_prefix(err, "state folder '%s'", state_dir);
    return 0;
}

int runtimes_open(const char *state_dir, struct arena *arena, struct runtimes *ret_runtimes,
                  struct err *err)
{
    *ret_runtimes = (struct runtimes) RUNTIMES_NONE;
    if (!state_dir) {
        (void) err_set(
            err, ERR_HOST,
            "no HOME and no XDG_STATE_HOME: nowhere to keep runtimes"); /* -1, as below */
        return err_hint(err, "set one of them, or WASP_STATE_DIR, to an absolute path");
    }
    ret_runtimes->path = arena_printf(arena, "%s/runtimes", state_dir);
    if (!ret_runtimes->path)
        return err_no_memory(err);
    return open_folders(state_dir, ret_runtimes, err);
}

void runtimes_release(struct runtimes *runtimes)
{
    cleanup_fd(&runtimes->folder);
    cleanup_fd(&runtimes->temp);
    runtimes->folder = runtimes->temp = -1;
}

static void unlock(const int *folder)
{
    if (*folder >= 0)
        (void) flock(*folder, LOCK_UN); /* cannot fail on a lock that is held */
}

/* The locked descriptor, for _cleanup_(unlock), or -1 and *err. Nobody holds it for long. */
static int lock(const struct runtimes *runtimes, int operation, struct err *err)
{
    if (flock(runtimes->folder, operation) < 0)
        return err_sys(err, ERR_HOST, "cannot lock the folder '%s'", runtimes->path);
    return runtimes->folder;
}

static void name_record(const char *name, char ret_file[RECORD_FILE_SIZE])
{
    (void) snprintf(ret_file, RECORD_FILE_SIZE, "%s" RECORD_SUFFIX, name); /* a checked name fits */
}

static void name_module(const struct digest *digest, char ret_file[MODULE_FILE_SIZE])
{
    char hex[DIGEST_HEX];

    digest_hex(digest, hex);
    (void) snprintf(ret_file, MODULE_FILE_SIZE, "%s" MODULE_SUFFIX, hex); /* fits */
}

/* ---- one record ------------------------------------------------------------------------------ */

static int refuse_missing(const char *name, struct err *err)
{
    return err_set(err, ERR_NOT_FOUND,
                   "there is no runtime '%s': 'wasp runtime list' shows those there are", name);
}

/* It is our own file that is wrong, not what the caller asks. */
static int refuse_damaged(const char *name, struct err *err)
{
    (void) err_prefix(err, "runtime '%s' is damaged", name); /* -1, as below */
    err->code = ERR_HOST;
    return err_hint(err, "add it again with --replace, or remove it with 'wasp runtime rm %s'",
                    name);
}

static int read_text(int fd, struct buf *text, struct err *err)
{
    struct stat st;
    char *room;

    if (fstat(fd, &st) < 0)
        return err_sys(err, ERR_HOST, "cannot stat the record");
    if (!S_ISREG(st.st_mode))
        return err_set(err, ERR_HOST, "the record is no regular file");
    if (st.st_size > JSON_MAX_BYTES)
        return err_set(err, ERR_HOST, "the record is larger than %d bytes", JSON_MAX_BYTES);
    if (buf_reserve(text, (size_t) st.st_size, &room) < 0)
        return err_no_memory(err);
    ssize_t n = fd_read_full(fd, room, (size_t) st.st_size);
    if (n < 0)
        return err_sys(err, ERR_HOST, "cannot read the record");
    buf_commit(text, (size_t) n);
    return 0;
}

static int read_record(const struct runtimes *runtimes, const char *name, struct arena *arena,
                       struct runtime *ret_runtime, struct err *err)
{
    _cleanup_(buf_release) struct buf text = BUF_INIT(JSON_MAX_BYTES);
    char file[RECORD_FILE_SIZE];

    name_record(name, file);
    _cleanup_fd_ int fd = openat(runtimes->folder, file, READ_FLAGS);
    if (fd < 0 && errno == ENOENT)
        return refuse_missing(name, err);
    if (fd < 0)
        (void) err_sys(err, ERR_HOST, "cannot open the record"); /* -1, as below */
    if (fd < 0 || read_text(fd, &text, err) < 0 ||
        runtime_parse(text.data, text.len, name, arena, ret_runtime, err) < 0)
        return refuse_damaged(name, err);
    return 0;
}

/* Fills in where the module is. A descriptor of it that the caller owns, or -1 and *err. */
static int open_module(const struct runtimes *runtimes, struct runtime *runtime,
                       struct arena *arena, struct err *err)
{
    char file[MODULE_FILE_SIZE];

    name_module(&runtime->digest, file);
    runtime->module = arena_printf(arena, "%s/%s", runtimes->path, file);
    if (!runtime->module)
        return err_no_memory(err);
    int fd = openat(runtimes->folder, file, READ_FLAGS);
    if (fd >= 0)
        return fd;
    (void) err_sys(err, ERR_HOST, "cannot open its module '%s'", file); /* -1, as below */
    return refuse_damaged(runtime->name, err);
}

int runtimes_find(const struct runtimes *runtimes, const char *name, struct arena *arena,
                  struct runtime *ret_runtime, int *ret_hold, struct err *err)
{
    struct runtime runtime;

    if (runtime_check_name(name, err) < 0)
        return -1;
    _cleanup_(unlock) int locked = lock(runtimes, LOCK_SH, err);
    if (locked < 0 || read_record(runtimes, name, arena, &runtime, err) < 0)
        return -1;
    _cleanup_fd_ int module = open_module(runtimes, &runtime, arena, err);
    if (module < 0)
        return -1;
    if (flock(module, LOCK_SH) < 0)
        return err_sys(err, ERR_HOST, "cannot lock '%s'", runtime.module);
    *ret_runtime = runtime;
    *ret_hold = take_fd(&module);
    return 0;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static int check_module(const struct runtimes *runtimes, struct runtime *runtime,
                        struct arena *arena, struct err *err)
{
    _cleanup_fd_ int fd = open_module(runtimes, runtime, arena, err);
    struct stat st;

    if (fd < 0)
        return -1;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (uint64_t) st.st_size == runtime->bytes)
        return 0;
    (void) err_set(err, ERR_HOST, "its module '%s' was changed",
                   runtime->module); /* -1, as below */
    return refuse_damaged(runtime->name, err);
}

static int list_files(const struct runtimes *runtimes, const char *suffix, struct arena *arena,
                      struct folder_names *ret_names, struct err *err)
{
    if (folder_list(runtimes->folder, suffix, arena, ret_names) < 0)
        return err_sys(err, ERR_HOST, "cannot read the folder '%s'", runtimes->path);
    return 0;
}

/* The names that have a record. Other files are not ours, and none of our business. */
static int list_names(const struct runtimes *runtimes, struct arena *arena,
                      struct folder_names *ret_names, struct err *err)
{
    struct folder_names files;
    size_t count = 0;
    struct err ignored;

    if (list_files(runtimes, RECORD_SUFFIX, arena, &files, err) < 0)
        return -1;
    for (size_t i = 0; i < files.count; i++) {
        const char *file = files.items[i];
        char *name = arena_strndup(arena, file, strlen(file) - strlen(RECORD_SUFFIX));
        if (!name)
            return err_no_memory(err);
        if (runtime_check_name(name, &ignored) == 0)
            files.items[count++] = name;
    }
    *ret_names = (struct folder_names){.items = files.items, .count = count};
    return 0;
}

/* As a runtime or, if it cannot be one, as a problem. */
static int add_to_list(const struct runtimes *runtimes, const char *name, bool with_module,
                       struct arena *arena, struct runtime_list *list, struct err *err)
{
    struct runtime *runtime = &list->runtimes[list->n_runtimes];
    struct err why;

    if (read_record(runtimes, name, arena, runtime, &why) == 0 &&
        (!with_module || check_module(runtimes, runtime, arena, &why) == 0)) {
        list->n_runtimes++;
        return 0;
    }
    const char *error = arena_strdup(arena, why.message);
    if (!error)
        return err_no_memory(err);
    list->problems[list->n_problems++] = (struct runtime_problem){name, error};
    return 0;
}

static int read_all(const struct runtimes *runtimes, bool with_modules, struct arena *arena,
                    struct runtime_list *ret_list, struct err *err)
{
    struct runtime_list list = {0};
    struct folder_names names;

    if (list_names(runtimes, arena, &names, err) < 0)
        return -1;
    list.runtimes = arena_array(arena, names.count + 1, sizeof(*list.runtimes));
    list.problems = arena_array(arena, names.count + 1, sizeof(*list.problems));
    if (!list.runtimes || !list.problems)
        return err_no_memory(err);
    for (size_t i = 0; i < names.count; i++)
        if (add_to_list(runtimes, names.items[i], with_modules, arena, &list, err) < 0)
            return -1;
    *ret_list = list;
    return 0;
}

int runtimes_list(const struct runtimes *runtimes, struct arena *arena,
                  struct runtime_list *ret_list, struct err *err)
{
    _cleanup_(unlock) int locked = lock(runtimes, LOCK_SH, err);

    return locked < 0 ? -1 : read_all(runtimes, true, arena, ret_list, err);
}

/* ---- changes --------------------------------------------------------------------------------- */

static bool is_named(const struct runtime_list *list, const char *module)
{
    char file[MODULE_FILE_SIZE];

    for (size_t i = 0; i < list->n_runtimes; i++) {
        name_module(&list->runtimes[i].digest, file);
        if (strcmp(file, module) == 0)
            return true;
    }
    return false;
}

/*
 * With the folder locked. While there is a record that cannot be read, every module stays: it may
 * be the one that the record names.
 */
static int sweep_modules(const struct runtimes *runtimes, struct arena *arena, struct err *err)
{
    struct runtime_list list;
    struct folder_names files;
    int removed = 0;

    if (read_all(runtimes, false, arena, &list, err) < 0 ||
        list_files(runtimes, MODULE_SUFFIX, arena, &files, err) < 0)
        return -1;
    for (size_t i = 0; i < files.count && list.n_problems == 0; i++)
        if (!is_named(&list, files.items[i]))
            removed += folder_sweep_one(runtimes->folder, files.items[i]);
    return removed;
}

int runtimes_sweep(const struct runtimes *runtimes, struct arena *arena, struct err *err)
{
    _cleanup_(unlock) int locked = lock(runtimes, LOCK_EX, err);

    if (locked < 0)
        return -1;
    int removed = sweep_modules(runtimes, arena, err);
    return removed < 0 ? -1 : removed + temp_sweep(runtimes->temp);
}

/* What was changed holds, even if its traces stay: `wasp gc` comes by again. */
static void settle(const struct runtimes *runtimes, struct arena *arena)
{
    struct err ignored;

    (void) fsync(runtimes->folder);                  /* not all can */
    (void) sweep_modules(runtimes, arena, &ignored); /* as above */
}

int runtimes_remove(const struct runtimes *runtimes, const char *name, struct arena *arena,
                    struct err *err)
{
    char file[RECORD_FILE_SIZE];

    if (runtime_check_name(name, err) < 0)
        return -1;
    name_record(name, file);
    _cleanup_(unlock) int locked = lock(runtimes, LOCK_EX, err);
    if (locked < 0)
        return -1;
    if (unlinkat(runtimes->folder, file, 0) < 0) {
        if (errno == ENOENT)
            return refuse_missing(name, err);
        return err_sys(err, ERR_HOST, "cannot remove '%s/%s'", runtimes->path, file);
    }
    settle(runtimes, arena);
    return 0;
}

static void drop(struct temp_file *file)
{
    if (file->fd >= 0)
        temp_drop(file);
}

/* 0, or -1 and errno; the file is whole on the disk, and nobody will write to it by mistake. */
static int copy_module(const struct runtimes *runtimes, int module, uint64_t bytes,
                       struct temp_file *file)
{
    off_t at = 0;

    if (temp_create(runtimes->temp, file) < 0)
        return -1;
    while ((uint64_t) at < bytes) {
        ssize_t n = sendfile(file->fd, module, &at, (size_t) bytes - (size_t) at);
        if (n == 0)
            errno = EIO; /* it is sealed: it cannot have become shorter */
        if (n <= 0)
            return -1;
    }
    return fchmod(file->fd, 0400) < 0 ? -1 : fsync(file->fd);
}

static int write_record(const struct runtimes *runtimes, const struct runtime *runtime,
                        struct temp_file *file, struct err *err)
{
    _cleanup_(buf_release) struct buf text = BUF_INIT(JSON_MAX_BYTES);
    struct json_writer json;

    json_writer_init_buf(&json, &text);
    runtime_write(&json, runtime);
    if (json_finish(&json) < 0)
        return err_set(err, ERR_REQUEST, "the record is larger than %d bytes: give fewer arguments",
                       JSON_MAX_BYTES);
    if (temp_create(runtimes->temp, file) < 0 || fd_write_all(file->fd, text.data, text.len) < 0 ||
        fsync(file->fd) < 0)
        return err_sys(err, ERR_HOST, "cannot write in the folder '%s'", runtimes->path);
    return 0;
}

/* The module first: a record never names one that is not there. */
static int name_both(const struct runtimes *runtimes, const struct runtime *runtime,
                     struct temp_file *module, struct temp_file *record, bool replace,
                     struct err *err)
{
    char record_file[RECORD_FILE_SIZE], module_file[MODULE_FILE_SIZE];
    struct stat st;

    name_record(runtime->name, record_file);
    name_module(&runtime->digest, module_file);
    if (!replace && fstatat(runtimes->folder, record_file, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        (void) err_set(err, ERR_REQUEST, "there is a runtime '%s' already", /* -1, as below */
                       runtime->name);
        return err_hint(err, "--replace puts the new one in its place");
    }
    if (temp_rename(module, runtimes->folder, module_file) < 0 ||
        temp_rename(record, runtimes->folder, record_file) < 0)
        return err_sys(err, ERR_HOST, "cannot write in the folder '%s'", runtimes->path);
    return 0;
}

int runtimes_add(const struct runtimes *runtimes, struct runtime *runtime, int module,
                 const struct digest *digest, bool replace, struct arena *arena, struct err *err)
{
    _cleanup_(drop) struct temp_file copy = {.fd = -1}, record = {.fd = -1};
    struct stat st;

    if (runtime_check_name(runtime->name, err) < 0)
        return -1;
    if (fstat(module, &st) < 0)
        return err_sys(err, ERR_HOST, "cannot stat the module");
    runtime->digest = *digest;
    runtime->bytes = (uint64_t) st.st_size;
    clock_format(clock_realtime_ns(), runtime->added_at);
    if (copy_module(runtimes, module, runtime->bytes, &copy) < 0)
        return err_sys(err, ERR_HOST, "cannot write in the folder '%s'", runtimes->path);
    if (write_record(runtimes, runtime, &record, err) < 0)
        return -1;
    _cleanup_(unlock) int locked = lock(runtimes, LOCK_EX, err);
    if (locked < 0 || name_both(runtimes, runtime, &copy, &record, replace, err) < 0)
        return -1;
    settle(runtimes, arena);
    return 0;
}
