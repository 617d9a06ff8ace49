/*
 * wasi_rig: a guest without an engine. A throwaway tree with a writable grant (descriptor 3,
 * "/rw"), a read-only one (4, "/ro") and a folder beside them that nobody may reach; a memory with
 * a page behind it that faults; calls by name.
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cell/wasi/abi.h"
#include "cell/wasi/errno.h"
#include "cell/wasi/wasi.h"
#include "tap.h"

#define RIG_MEMORY 65536
#define RIG_RW 3
#define RIG_RO 4
#define RIG_PATH 1024  /* where a first path is put, */
#define RIG_PATH2 6144 /* a second one, */
#define RIG_OUT 512    /* what a call answers, */
#define RIG_IOV 640    /* and the list of buffers */
#define RIG_DATA 16384

struct rig {
    char root[64];
    struct wasi *wasi;
    struct wasi_memory memory;
    struct limits limits;
    uint64_t deadline_ns;
    const char *module;
    const char *const *unprotected; /* NULL: all rules about names hold */
    uint8_t at;                     /* where the writable grant lies (plan/protected.h) */
    bool has_door;                  /* with a descriptor that stays the test's */
    int door;
    unsigned int n_denials;
    struct tell_denial denial; /* the last one */
};

__attribute__((unused)) static void rig_note(void *data, const struct tell_denial *denial)
{
    struct rig *rig = data;

    rig->n_denials++;
    rig->denial = *denial;
}

__attribute__((unused, noreturn)) static void rig_die(const char *what)
{
    printf("Bail out! %s: %s\n", what, strerror(errno));
    exit(1);
}

__attribute__((unused)) static const char *rig_host(const struct rig *rig, const char *path)
{
    static char texts[4][256];
    static unsigned int next;
    char *text = texts[next++ % 4];

    (void) snprintf(text, sizeof(texts[0]), "%s/%s", rig->root, path); /* short by construction */
    return text;
}

__attribute__((unused)) static void rig_write_host(const struct rig *rig, const char *path,
                                                   const char *text)
{
    FILE *file = fopen(rig_host(rig, path), "w");

    if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0)
        rig_die(path);
}

/* The first bytes of a file on the host, or NULL. */
__attribute__((unused)) static const char *rig_read_host(const struct rig *rig, const char *path)
{
    static char text[4096];
    FILE *file = fopen(rig_host(rig, path), "r");

    if (file == NULL)
        return NULL;
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    (void) fclose(file); /* it was only read */
    return text;
}

__attribute__((unused)) static bool rig_exists(const struct rig *rig, const char *path)
{
    struct stat st;

    return lstat(rig_host(rig, path), &st) == 0;
}

__attribute__((unused)) static int rig_open_host(const struct rig *rig, const char *path, int flags)
{
    int fd = open(rig_host(rig, path), flags | O_CLOEXEC);

    if (fd < 0)
        rig_die(path);
    return fd;
}

__attribute__((unused)) static void rig_plant(struct rig *rig)
{
    static const char *const folders[] = {"rw", "ro", "outside", "rw/sub", "ro/sub"};
    static const struct {
        const char *text, *path;
    } links[] = {
        {"/etc", "rw/abs"},
        {"../outside", "rw/rel"},
        {"../outside/secret", "rw/out"},
        {"rel", "rw/chain"},
        {"sub", "rw/in"},
        {"loop", "rw/loop"},
        {"nowhere", "rw/dangling"},
        {"../outside/new", "rw/dangling_out"},
        {"../outside/secret", "ro/out"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
        if (mkdir(rig_host(rig, folders[i]), 0755) < 0)
            rig_die(folders[i]);
    for (size_t i = 0; i < ARRAY_SIZE(links); i++)
        if (symlink(links[i].text, rig_host(rig, links[i].path)) < 0)
            rig_die(links[i].path);
    rig_write_host(rig, "outside/secret", "secret");
    rig_write_host(rig, "rw/file", "0123456789");
    rig_write_host(rig, "rw/sub/inner", "inner");
    rig_write_host(rig, "ro/file", "read me");
}

/* A new guest over the same tree, with the limits that are in the rig by now. */
__attribute__((unused)) static void rig_start(struct rig *rig)
{
    static const char *const args[] = {"prog", "one", ""};
    static const char *const env[] = {"A=1", "LONG=something"};
    struct wasi_preopen preopens[] = {
        {rig_open_host(rig, "rw", O_PATH | O_DIRECTORY), "/rw", true, rig->at},
        {rig_open_host(rig, "ro", O_PATH | O_DIRECTORY), "/ro", false, 0},
    };
    struct wasi_config config = {
        .args = args,
        .n_args = ARRAY_SIZE(args),
        .env = env,
        .n_env = ARRAY_SIZE(env),
        .preopens = preopens,
        .n_preopens = ARRAY_SIZE(preopens),
        .unprotected = rig->unprotected,
        .limits = &rig->limits,
        .deadline_ns = rig->deadline_ns,
        .has_door = rig->has_door,
        .door = rig->door,
        .denied = rig_note,
        .data = rig,
    };
    struct err err;

    wasi_free(rig->wasi);
    rig->n_denials = 0;
    if (wasi_new(&config, &rig->wasi, &err) < 0)
        rig_die(err.message);
}

__attribute__((unused)) static void rig_init(struct rig *rig)
{
    size_t page = (size_t) sysconf(_SC_PAGESIZE);
    uint8_t *base =
        mmap(NULL, RIG_MEMORY + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    *rig = (struct rig){.root = "/tmp/wasp-wasi.XXXXXX",
                        .memory = {base, RIG_MEMORY},
                        .deadline_ns = UINT64_MAX,
                        .module = "wasi_snapshot_preview1"};
    if (base == MAP_FAILED || mprotect(base + RIG_MEMORY, page, PROT_NONE) < 0)
        rig_die("mmap");
    if (mkdtemp(rig->root) == NULL)
        rig_die("mkdtemp");
    for (size_t i = 0; i < LIMIT_COUNT; i++)
        rig->limits.value[i] = UNITS_UNLIMITED;
    rig->limits.value[LIMIT_OPEN_FILES] = 64;
    rig_plant(rig);
    rig_start(rig);
}

__attribute__((unused)) static int rig_remove(const char *path, const struct stat *st, int kind,
                                              struct FTW *where)
{
    (void) st;
    (void) kind;
    (void) where;
    return remove(path);
}

__attribute__((unused)) static void rig_release(struct rig *rig)
{
    wasi_free(rig->wasi);
    (void) nftw(rig->root, rig_remove, 16, FTW_DEPTH | FTW_PHYS); /* what stays lies in /tmp */
    (void) munmap(rig->memory.base, RIG_MEMORY);                  /* the program ends */
}

/* An i32 stands in the low half of its cell; the upper half is undefined, so here it is garbage. */
__attribute__((unused)) static uint32_t rig_call(struct rig *rig, const char *name,
                                                 const uint64_t *given)
{
    const struct wasi_function *function = wasi_find(rig->module, name);
    uint64_t args[9];

    if (function == NULL)
        rig_die(name);
    for (size_t i = 0; function->params[i] != '\0'; i++)
        args[i] = function->params[i] == 'i' ? (uint32_t) given[i] | 0xa5a5a5a500000000 : given[i];
    return function->call(rig->wasi, &rig->memory, args);
}

#define CALL(rig, name, ...) rig_call(rig, #name, (const uint64_t[]){__VA_ARGS__})

/* Puts text at `at` in the guest's memory and returns its length. */
__attribute__((unused)) static uint32_t rig_text(struct rig *rig, uint32_t at, const char *text)
{
    memcpy(rig->memory.base + at, text, strlen(text));
    return (uint32_t) strlen(text);
}

__attribute__((unused)) static uint32_t rig_u32(const struct rig *rig, uint32_t at)
{
    uint32_t value;

    memcpy(&value, rig->memory.base + at, sizeof(value));
    return value;
}

__attribute__((unused)) static uint64_t rig_u64(const struct rig *rig, uint32_t at)
{
    uint64_t value;

    memcpy(&value, rig->memory.base + at, sizeof(value));
    return value;
}

/* One of the calls whose arguments are a directory and a path. */
#define CALL_PATH(rig, name, fd, path) CALL(rig, name, fd, RIG_PATH, rig_text(rig, RIG_PATH, path))
/* Two directories and paths: path_rename. */
#define CALL_RENAME(rig, fd, from, fd2, to)                                             \
    CALL(rig, path_rename, fd, RIG_PATH, rig_text(rig, RIG_PATH, from), fd2, RIG_PATH2, \
         rig_text(rig, RIG_PATH2, to))
#define CALL_LINK(rig, fd, from, fd2, to)                                                \
    CALL(rig, path_link, fd, 0, RIG_PATH, rig_text(rig, RIG_PATH, from), fd2, RIG_PATH2, \
         rig_text(rig, RIG_PATH2, to))
#define CALL_SYMLINK(rig, text, fd, path)                                            \
    CALL(rig, path_symlink, RIG_PATH2, rig_text(rig, RIG_PATH2, text), fd, RIG_PATH, \
         rig_text(rig, RIG_PATH, path))
#define CALL_STAT(rig, fd, follow, path) \
    CALL(rig, path_filestat_get, fd, follow, RIG_PATH, rig_text(rig, RIG_PATH, path), RIG_OUT)
#define CALL_TIMES(rig, fd, follow, path, ns)                                                   \
    CALL(rig, path_filestat_set_times, fd, follow, RIG_PATH, rig_text(rig, RIG_PATH, path), ns, \
         ns, FST_ATIM | FST_MTIM)
#define CALL_READLINK(rig, fd, path, size) \
    CALL(rig, path_readlink, fd, RIG_PATH, rig_text(rig, RIG_PATH, path), RIG_DATA, size, RIG_OUT)
#define CALL_OPEN(rig, fd, follow, path, oflags, rights, fdflags)                             \
    CALL(rig, path_open, fd, follow, RIG_PATH, rig_text(rig, RIG_PATH, path), oflags, rights, \
         rights, fdflags, RIG_OUT)

#define RIGHTS_RW                                                                             \
    (RIGHT_FD_READ | RIGHT_FD_WRITE | RIGHT_FD_SEEK | RIGHT_FD_TELL | RIGHT_FD_FILESTAT_GET | \
     RIGHT_FD_FILESTAT_SET_SIZE | RIGHT_FD_ALLOCATE | RIGHT_FD_ADVISE | RIGHT_FD_SYNC |       \
     RIGHT_FD_DATASYNC | RIGHT_FD_FILESTAT_SET_TIMES | RIGHT_FD_FDSTAT_SET_FLAGS |            \
     RIGHT_POLL_FD_READWRITE)
#define RIGHTS_READ                                                          \
    (RIGHT_FD_READ | RIGHT_FD_SEEK | RIGHT_FD_TELL | RIGHT_FD_FILESTAT_GET | \
     RIGHT_FD_FILESTAT_SET_TIMES | RIGHT_FD_SYNC | RIGHT_POLL_FD_READWRITE)

/* The descriptor, or dies: for what a test builds on. */
__attribute__((unused)) static uint32_t rig_open(struct rig *rig, uint32_t dir, const char *path,
                                                 uint32_t oflags, uint64_t rights)
{
    uint32_t failed = CALL_OPEN(rig, dir, 0, path, oflags, rights, 0);

    if (failed) {
        errno = 0;
        printf("# path_open '%s' answered %u\n", path, failed);
        rig_die(path);
    }
    return rig_u32(rig, RIG_OUT);
}

/* One buffer of `len` bytes at RIG_DATA. */
__attribute__((unused)) static void rig_buffer(struct rig *rig, uint32_t len)
{
    struct abi_iovec buffer = {RIG_DATA, len};

    memcpy(rig->memory.base + RIG_IOV, &buffer, sizeof(buffer));
}

__attribute__((unused)) static uint32_t rig_write(struct rig *rig, uint32_t fd, const char *text)
{
    rig_buffer(rig, rig_text(rig, RIG_DATA, text));
    return CALL(rig, fd_write, fd, RIG_IOV, 1, RIG_OUT);
}

__attribute__((unused)) static uint32_t rig_read(struct rig *rig, uint32_t fd, uint32_t len)
{
    rig_buffer(rig, len);
    return CALL(rig, fd_read, fd, RIG_IOV, 1, RIG_OUT);
}
