/*
 * Any sequence of WASI calls with any arguments over any memory. The guest has a writable and a
 * read-only grant in a throwaway folder; what lies beside them must be the same after each input,
 * and in the writable one there must be the protected names that were there, unchanged.
 *
 * An input is a list of calls: the first byte picks the function, then come its arguments, one byte
 * each that picks where the number comes from (a small one, a pointer, an edge, the input itself).
 */
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cell/wasi/abi.h"
#include "cell/wasi/wasi.h"
#include "plan/protected.h"
#include "run/protect_walk.h"

#define MEMORY_BYTES 65536
#define PATHS_AT 4096 /* the paths below, 64 bytes each */
#define PATH_BYTES 64
#define BUFFERS_AT 8192        /* a list of buffers that make sense, */
#define SUBSCRIPTIONS_AT 12288 /* and of subscriptions */
#define MAX_CALLS 64
#define DISK_BYTES 65536

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
    const uint8_t *data;
    size_t left;
};

static const char *const paths[] = {
    "file",
    "sub",
    "sub/inner",
    ".",
    "..",
    "../outside/secret",
    "out",
    "abs",
    "new",
    "new/",
    "sub/",
    "in",
    "in/inner",
    "/etc/passwd",
    "a/b/../../c",
    "sub/../../ro",
    "fifo",
    "loop/",
    "",
    "rel/secret",
    "rel/",
    "new2",
    "sub/new",
    ".git",
    "hooks",
    "..",
    ".git/hooks/x",
    ".git/config",
    "config",
    ".envrc",
    "git/hooks",
    ".idea",
    "hl",
    "hl/x",
    "sub/.envrc",
    ".config",
    "sub/fish",
    "gl/config",
    "gl",
    "hl/../config",
};

/* ---- the tree: rw and ro are granted, outside is not --------------------------------------- */

struct tree {
    int root, rw, ro, outside;
    struct stat outside_stat, secret_stat, ro_stat;
    struct stat config_stat, envrc_stat;
};

static int make_folder(int root, const char *name)
{
    assert(mkdirat(root, name, 0755) == 0 || errno == EEXIST);
    int fd = openat(root, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert(fd >= 0);
    return fd;
}

static void make_file(int dir, const char *name, const char *text)
{
    int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t) strlen(text));
    assert(close(fd) == 0);
}

/* Empties a folder, whatever a guest put into it. */
static void clear_folder(int fd)
{
    DIR *dir = fdopendir(dup(fd));
    assert(dir != NULL);
    rewinddir(dir);
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (unlinkat(fd, entry->d_name, 0) == 0)
            continue;
        int below = openat(fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        assert(below >= 0);
        clear_folder(below);
        assert(close(below) == 0 && unlinkat(fd, entry->d_name, AT_REMOVEDIR) == 0);
    }
    assert(closedir(dir) == 0);
}

static char root_path[] = "/tmp/wasp-fuzz-wasi.XXXXXX";

static void remove_tree(void)
{
    int root = open(root_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root < 0)
        return;
    clear_folder(root);
    (void) close(root); /* the process ends */
    (void) rmdir(root_path);
}

static struct tree *make_tree(void)
{
    static struct tree tree;
    assert(mkdtemp(root_path) != NULL && atexit(remove_tree) == 0);
    tree.root = open(root_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert(tree.root >= 0);
    tree.rw = make_folder(tree.root, "rw");
    tree.ro = make_folder(tree.root, "ro");
    tree.outside = make_folder(tree.root, "outside");
    make_file(tree.outside, "secret", "secret");
    make_file(tree.ro, "file", "read me");
    assert(fstat(tree.outside, &tree.outside_stat) == 0 && fstat(tree.ro, &tree.ro_stat) == 0 &&
           fstatat(tree.outside, "secret", &tree.secret_stat, 0) == 0);
    return &tree;
}

static void plant(const struct tree *tree)
{
    clear_folder(tree->rw);
    int sub = make_folder(tree->rw, "sub");
    make_file(sub, "inner", "inner");
    make_file(tree->rw, "file", "0123456789");
    assert(close(sub) == 0 && mkfifoat(tree->rw, "fifo", 0600) == 0 &&
           symlinkat("../outside/secret", tree->rw, "out") == 0 &&
           symlinkat("../outside", tree->rw, "rel") == 0 &&
           symlinkat("/etc", tree->rw, "abs") == 0 && symlinkat("sub", tree->rw, "in") == 0 &&
           symlinkat("loop", tree->rw, "loop") == 0);
}

/* What nobody may change in the writable one, and links to it. */
static void plant_protected(struct tree *tree)
{
    int git = make_folder(tree->rw, ".git");

    make_file(git, "config", "owner's");
    make_file(git, "index", "anybody's");
    make_file(tree->rw, ".envrc", "owner's");
    assert(mkdirat(git, "hooks", 0755) == 0 && close(git) == 0 &&
           symlinkat(".git/hooks", tree->rw, "hl") == 0 && symlinkat(".git", tree->rw, "gl") == 0);
    assert(fstatat(tree->rw, ".git/config", &tree->config_stat, 0) == 0 &&
           fstatat(tree->rw, ".envrc", &tree->envrc_stat, 0) == 0);
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_mode == b->st_mode && a->st_nlink == b->st_nlink &&
           a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec && a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
           a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

static void check_outside(const struct tree *tree)
{
    struct stat st;

    assert(fstat(tree->outside, &st) == 0 && is_same(&st, &tree->outside_stat));
    assert(fstatat(tree->outside, "secret", &st, 0) == 0 && is_same(&st, &tree->secret_stat));
    assert(fstat(tree->ro, &st) == 0 && is_same(&st, &tree->ro_stat));
}

/* .git, config and hooks in it, .envrc */
#define N_PROTECTED 4

static int count_protected(void *data, const struct protect_entry *entry, struct err *err)
{
    bool is_dir = entry->type == DT_DIR;

    (void) err;
    assert(protected_at_rule(entry->above) == NULL); /* hooks were empty */
    *(size_t *) data += (is_dir ? protected_at_name : protected_at_move)(entry->at) != NULL;
    return 0;
}

static void check_protected(const struct tree *tree)
{
    size_t count = 0;
    struct protect_walk walk = {.name = "rw",
                                .whole = true,
                                .max_entries = SIZE_MAX,
                                .visit = count_protected,
                                .data = &count};
    struct stat st;
    struct err err;

    assert(fstatat(tree->rw, ".git/config", &st, 0) == 0 && is_same(&st, &tree->config_stat));
    assert(fstatat(tree->rw, ".envrc", &st, 0) == 0 && is_same(&st, &tree->envrc_stat));
    assert(protect_walk(tree->rw, PROTECTED_NOWHERE, &walk, &err) == 0 && count == N_PROTECTED);
}

/* ---- the calls ----------------------------------------------------------------------------- */

static uint8_t next_byte(struct input *input)
{
    if (input->left == 0)
        return 0;
    input->left--;
    return *input->data++;
}

static uint64_t next_number(struct input *input)
{
    uint64_t number = 0;

    for (int i = 0; i < 8; i++)
        number = number << 8 | next_byte(input);
    return number;
}

/* A path's address; its length follows as the next argument, see next_argument. */
static uint64_t next_path(struct input *input, uint64_t *ret_len)
{
    size_t index = next_byte(input) % ARRAY_SIZE(paths);

    *ret_len = strlen(paths[index]);
    return PATHS_AT + index * PATH_BYTES;
}

static uint64_t next_argument(struct input *input, uint64_t *pending_len)
{
    static const uint64_t edges[] = {
        0,          1,          MEMORY_BYTES - 1, MEMORY_BYTES, MEMORY_BYTES - 8, 0x7fffffff,
        0xffffffff, RIGHTS_ALL, INT64_MAX,        1ULL << 63,   UINT64_MAX};
    uint64_t len = *pending_len;

    *pending_len = 0;
    if (len > 0)
        return len;
    uint8_t kind = next_byte(input);
    switch (kind % 6) {
    case 0:
        return kind / 6 % 16; /* a descriptor, a flag, a whence */
    case 1:
        return next_path(input, pending_len);
    case 2:
        return next_byte(input) * 256U; /* somewhere in memory */
    case 3:
        return edges[next_byte(input) % ARRAY_SIZE(edges)];
    case 4:
        return next_byte(input); /* a length */
    default:
        return next_number(input);
    }
}

/* Standard output is the fuzzer's own. */
static bool would_write_to_us(const struct wasi_function *function, const uint64_t *args)
{
    uint32_t fd = (uint32_t) args[0];

    return strncmp(function->name, "fd_", 3) == 0 && strstr(function->name, "write") != NULL &&
           fd < 3;
}

static void play(struct wasi *wasi, const struct wasi_memory *memory, struct input *input)
{
    size_t n_new, n_old;
    const struct wasi_function *new = wasi_functions(false, &n_new);
    const struct wasi_function *old = wasi_functions(true, &n_old);

    for (int calls = 0; calls < MAX_CALLS && input->left > 0; calls++) {
        size_t pick = next_byte(input) % (n_new + n_old);
        const struct wasi_function *function = pick < n_new ? &new[pick] : &old[pick - n_new];
        uint64_t args[9] = {0}, pending_len = 0;
        for (size_t i = 0; function->params[i] != '\0'; i++)
            args[i] = next_argument(input, &pending_len);
        /* moving a stream would make a file of ours look like one */
        if (would_write_to_us(function, args) || strcmp(function->name, "fd_renumber") == 0)
            args[0] = 3 + args[0] % 8;
        (void) function->call(wasi, memory, args); /* any answer will do */
    }
}

/* What random bytes would hardly ever become. The first bytes of memory are the input itself. */
static void fill_memory(uint8_t *memory, const uint8_t *data, size_t size)
{
    static const struct abi_iovec buffers[] = {{16384, 16}, {20480, 4096}, {0, 0}, {65000, 1000}};
    static const struct abi_subscription subscriptions[] = {
        {.userdata = 1, .tag = EVENT_FD_READ, .id = 5},
        {.userdata = 2, .tag = EVENT_FD_WRITE, .id = 1},
        {.userdata = 3, .tag = EVENT_CLOCK, .id = 1, .timeout = 1},
        {.userdata = 4, .tag = EVENT_CLOCK, .timeout = UINT64_MAX, .flags = SUBCLOCK_ABSTIME},
    };

    memcpy(memory, data, size < PATHS_AT ? size : PATHS_AT);
    for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
        memcpy(memory + PATHS_AT + i * PATH_BYTES, paths[i], strlen(paths[i]));
    memcpy(memory + BUFFERS_AT, buffers, sizeof(buffers));
    memcpy(memory + SUBSCRIPTIONS_AT, subscriptions, sizeof(subscriptions));
}

static struct wasi *make_guest(const struct tree *tree)
{
    static const char *const words[] = {"program", "", "A=1"};
    struct wasi_preopen preopens[] = {{dup(tree->rw), "/rw", true}, {dup(tree->ro), "/ro", false}};
    struct limits limits;
    struct wasi_config config = {
        .args = words,
        .n_args = 2,
        .env = words + 2,
        .n_env = 1,
        .preopens = preopens,
        .n_preopens = 2,
        .limits = &limits,
        .deadline_ns = 0, /* long ago: nothing waits */
    };
    struct wasi *wasi;
    struct err err;

    for (size_t i = 0; i < LIMIT_COUNT; i++)
        limits.value[i] = UNITS_UNLIMITED;
    limits.value[LIMIT_DISK] = DISK_BYTES;
    limits.value[LIMIT_FILE] = DISK_BYTES;
    limits.value[LIMIT_OPEN_FILES] = 24;
    assert(wasi_new(&config, &wasi, &err) == 0);
    return wasi;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct tree *tree;
    struct input input = {data, size};

    if (tree == NULL)
        tree = make_tree();
    plant(tree);
    plant_protected(tree);
    /* as large as the guest's, so that a sanitizer sees the first byte beyond it */
    struct wasi_memory memory = {calloc(1, MEMORY_BYTES), MEMORY_BYTES};
    assert(memory.base != NULL);
    fill_memory(memory.base, data, size);
    struct wasi *wasi = make_guest(tree);
    play(wasi, &memory, &input);
    assert(wasi_counters(wasi)->bytes_written <= DISK_BYTES);
    wasi_free(wasi);
    free(memory.base);
    check_outside(tree);
    check_protected(tree);
    return 0;
}
