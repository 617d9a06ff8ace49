#include "run/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "run/cgroup_place.h"

#define PREFIX "wasp-"
#define RUN_ID_LEN 36        /* a UUID's */
#define MAKE_TRIES 10        /* a sweep may take an empty one away before it is locked */
#define LAST_WAIT_MS 64      /* waits for processes to be gone double from 1 ms up to this one */
#define PIDS_BYTES 16384     /* of a list of processes to kill, each time we look */
#define PIDS_LARGEST 4194304 /* the kernel refuses a larger pids.max, but for "max" */

static int folder_of(const struct cgroup *cgroup, enum cgroup_slot slot)
{
    return cgroup->folders[cgroup->kind == CGROUP_V2 ? 0 : slot];
}

/* ---- limits ---------------------------------------------------------------------------------- */

enum value { VALUE_MEMORY, VALUE_ZERO, VALUE_ONE, VALUE_TASKS };

struct setting {
    enum cgroup_kind kind;
    enum cgroup_slot slot;
    const char *file;
    enum limit limit; /* nothing is set where it is unlimited */
    enum value value;
    bool is_optional; /* a kernel without swap accounting lacks it */
};

/* In this order: v1 refuses a sum with swap below the memory alone. */
static const struct setting settings[] = {
    {CGROUP_V1, CGROUP_MEMORY, "memory.limit_in_bytes", LIMIT_MEMORY, VALUE_MEMORY, false},
    {CGROUP_V1, CGROUP_MEMORY, "memory.memsw.limit_in_bytes", LIMIT_MEMORY, VALUE_MEMORY, true},
    {CGROUP_V1, CGROUP_PIDS, "pids.max", LIMIT_PROCESSES, VALUE_TASKS, false},
    {CGROUP_V2, CGROUP_MEMORY, "memory.max", LIMIT_MEMORY, VALUE_MEMORY, false},
    {CGROUP_V2, CGROUP_MEMORY, "memory.swap.max", LIMIT_MEMORY, VALUE_ZERO, true},
    {CGROUP_V2, CGROUP_MEMORY, "memory.oom.group", LIMIT_MEMORY, VALUE_ONE, true},
    {CGROUP_V2, CGROUP_PIDS, "pids.max", LIMIT_PROCESSES, VALUE_TASKS, false},
};

static uint64_t number_of(const struct setting *setting, const struct limits *limits)
{
    uint64_t limit = limits->value[setting->limit];
    switch (setting->value) {
    case VALUE_MEMORY:
        return limit;
    case VALUE_TASKS:
        return limit + 1; /* the cell's init is not the guest's */
    case VALUE_ONE:
        return 1;
    case VALUE_ZERO:
        break;
    }
    return 0;
}

static int write_file(int folder, const char *name, const char *text)
{
    _cleanup_fd_ int fd = openat(folder, name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? -1 : fd_write_all(fd, text, strlen(text));
}

static int apply(const struct cgroup *cgroup, const struct setting *setting,
                 const struct limits *limits)
{
    char text[24];
    if (setting->kind != cgroup->kind || limits->value[setting->limit] == UNITS_UNLIMITED)
        return 0;
    uint64_t number = number_of(setting, limits);
    if (setting->value == VALUE_TASKS && number > PIDS_LARGEST)
        (void) snprintf(text, sizeof(text), "max");
    else
        (void) snprintf(text, sizeof(text), "%llu", (unsigned long long) number); /* always fits */
    int rc = write_file(folder_of(cgroup, setting->slot), setting->file, text);
    return rc < 0 && setting->is_optional && errno == ENOENT ? 0 : rc;
}

/* ---- making ---------------------------------------------------------------------------------- */

enum made { MADE, MADE_NONE, MADE_SWEPT, MADE_FAILED };

/* A folder that a sweep took from under us has no files any more. */
static bool is_gone(void)
{
    return errno == ENOENT || errno == ENODEV;
}

/*
 * The lock says that we live, from here on. A sweep that comes before it finds an empty folder that
 * nobody holds, and removes it: then we make another one. It may not have the same name: the sweep
 * may have locked the first and be about to remove whatever is called so.
 */
static enum made make_folder(struct cgroup *cgroup, int slot)
{
    /* v1 may have two controllers in one hierarchy: the second finds the folder of the first */
    if (mkdirat(cgroup->parents[slot], cgroup->name, 0700) < 0 && !(errno == EEXIST && slot > 0))
        return MADE_NONE;
    int fd = openat(cgroup->parents[slot], cgroup->name,
                    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    cgroup->folders[slot] = fd;
    return fd < 0 || flock(fd, LOCK_SH | LOCK_NB) < 0 ? MADE_SWEPT : MADE;
}

static enum made make_folders(struct cgroup *cgroup)
{
    enum made made = MADE;
    for (int i = 0; i < CGROUP_SLOTS && made == MADE; i++)
        if (cgroup->parents[i] >= 0)
            made = make_folder(cgroup, i);
    return made;
}

static enum made open_entries(struct cgroup *cgroup)
{
    for (int i = 0; i < CGROUP_SLOTS && cgroup->kind == CGROUP_V1; i++) {
        cgroup->entries[i] = openat(cgroup->folders[i], "tasks", O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
        if (cgroup->entries[i] < 0)
            return is_gone() ? MADE_SWEPT : MADE_FAILED;
    }
    return MADE;
}

/* It wakes its poller for what happens after it was last read, so it is read. -1: none. */
static int open_events(int folder, const char *name)
{
    char text[256];
    _cleanup_fd_ int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || pread(fd, text, sizeof(text), 0) < 0)
        return -1;
    return take_fd(&fd);
}

/* v1 tells it to an eventfd. -1: none. */
static int open_oom_events(int folder)
{
    char text[32];
    _cleanup_fd_ int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    _cleanup_fd_ int control =
        openat(folder, "memory.oom_control", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (event < 0 || control < 0)
        return -1;
    (void) snprintf(text, sizeof(text), "%d %d", event, control); /* always fits */
    return write_file(folder, "cgroup.event_control", text) < 0 ? -1 : take_fd(&event);
}

static void watch(struct cgroup *cgroup)
{
    int folder = cgroup->folders[CGROUP_MEMORY];
    if (cgroup->kind == CGROUP_V1) {
        cgroup->memory_events = open_oom_events(folder);
        return; /* of forks not every kernel tells there */
    }
    cgroup->memory_events = open_events(folder, "memory.events");
    cgroup->pids_events = open_events(folder, "pids.events");
}

static enum made set_up(struct cgroup *cgroup, const struct limits *limits, struct err *err)
{
    for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
        if (apply(cgroup, &settings[i], limits) == 0)
            continue;
        if (is_gone())
            return MADE_SWEPT;
        (void) err_sys(err, ERR_WALL, "cannot set '%s' of the run's cgroup", settings[i].file);
        return MADE_FAILED;
    }
    enum made made = open_entries(cgroup);
    if (made == MADE_FAILED)
        (void) err_sys(err, ERR_WALL, "cannot open 'tasks' of the run's cgroup");
    else if (made == MADE)
        watch(cgroup);
    return made;
}

/* ---- unmaking -------------------------------------------------------------------------------- */

/*
 * A pid may be somebody else's by the time we act on it; a pidfd stays with the process it was
 * opened for, so it is opened first and asked about then.
 */
static void kill_member(pid_t pid, const char *name)
{
    char path[32], text[PIDS_BYTES];
    _cleanup_fd_ int pidfd = (int) syscall(SYS_pidfd_open, pid, 0);
    (void) snprintf(path, sizeof(path), "/proc/%d/cgroup", (int) pid); /* always fits */
    _cleanup_fd_ int fd = pidfd < 0 ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : fd_read_full(fd, text, sizeof(text) - 1);
    if (n <= 0)
        return;
    text[n] = '\0';
    if (strstr(text, name) != NULL)
        (void) syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0); /* or it is dead already */
}

/* What is left after this, or was born meanwhile, is there when we look again. */
static void kill_members(const struct cgroup *cgroup)
{
    char text[PIDS_BYTES];
    int folder = cgroup->folders[CGROUP_MEMORY];
    if (cgroup->kind == CGROUP_V2 && write_file(folder, "cgroup.kill", "1") == 0)
        return; /* since 5.14 */
    _cleanup_fd_ int fd = openat(folder, "cgroup.procs", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : fd_read_full(fd, text, sizeof(text) - 1);
    if (n <= 0)
        return;
    text[n] = '\0';
    char *at = text;
    for (long pid; (pid = strtol(at, &at, 10)) > 0 && *at == '\n';)
        if (pid != getpid())
            kill_member((pid_t) pid, cgroup->name);
}

/* False if there are still processes in it. */
static bool remove_folders(const struct cgroup *cgroup)
{
    bool is_busy = false;
    for (int i = 0; i < CGROUP_SLOTS; i++)
        if (cgroup->parents[i] >= 0 && unlinkat(cgroup->parents[i], cgroup->name, AT_REMOVEDIR) < 0)
            is_busy |= errno == EBUSY;
    return !is_busy;
}

static void close_all(int *fds, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        cleanup_fd(&fds[i]);
        fds[i] = -1;
    }
}

static void close_folders(struct cgroup *cgroup)
{
    close_all(cgroup->folders, CGROUP_SLOTS);
    close_all(cgroup->entries, CGROUP_SLOTS);
    close_all(&cgroup->memory_events, 1);
    close_all(&cgroup->pids_events, 1);
}

void cgroup_release(struct cgroup *cgroup)
{
    for (int ms = 1; cgroup->kind != CGROUP_NONE && !remove_folders(cgroup); ms *= 2) {
        if (ms > LAST_WAIT_MS)
            break; /* stuck in the kernel: a sweep finds the folders when it is not any more */
        kill_members(cgroup);
        const struct timespec pause = {.tv_nsec = (long) (ms * NS_PER_MS)};
        (void) nanosleep(&pause, NULL); /* a signal only makes us look sooner */
    }
    close_folders(cgroup);
    close_all(cgroup->parents, CGROUP_SLOTS);
    cgroup->kind = CGROUP_NONE;
}

/* "wasp-" and a run's id, and what name_it adds: nobody else's folder. */
static bool is_ours(const char *name)
{
    const char *id = name + strlen(PREFIX);
    if (strncmp(name, PREFIX, strlen(PREFIX)) != 0)
        return false;
    size_t len = strlen(id);
    return (len == RUN_ID_LEN || len == RUN_ID_LEN + strlen("-1")) &&
           strspn(id, "0123456789abcdef-") == len;
}

/* A run that lives holds its lock; one with processes cannot be removed. */
static bool sweep_one(int parent, const char *name)
{
    _cleanup_fd_ int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 &&
           unlinkat(parent, name, AT_REMOVEDIR) == 0;
}

static void close_dir(DIR **dir)
{
    if (*dir != NULL)
        (void) closedir(*dir); /* only read from */
}

static int sweep_folder(int parent)
{
    int again = openat(parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _cleanup_(close_dir) DIR *dir = again < 0 ? NULL : fdopendir(again);
    int removed = 0;
    for (const struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;)
        if (is_ours(entry->d_name))
            removed += sweep_one(parent, entry->d_name);
    return removed;
}

int cgroup_sweep(unsigned int without)
{
    struct cgroup cgroup = CGROUP_INIT;
    int removed = 0;
    cgroup_find(&cgroup, without);
    for (int i = 0; i < CGROUP_SLOTS; i++)
        if (cgroup.parents[i] >= 0)
            removed += sweep_folder(cgroup.parents[i]);
    close_all(cgroup.parents, CGROUP_SLOTS);
    return removed;
}

/* A UUID and a digit fit. */
static void name_it(struct cgroup *cgroup, const char *run_id, int try)
{
    if (try == 0)
        (void) snprintf(cgroup->name, sizeof(cgroup->name), PREFIX "%s", run_id);
    else
        (void) snprintf(cgroup->name, sizeof(cgroup->name), PREFIX "%s-%d", run_id, try);
}

int cgroup_make(struct cgroup *cgroup, const char *run_id, const struct limits *limits,
                unsigned int without, struct err *err)
{
    *cgroup = (struct cgroup) CGROUP_INIT;
    cgroup_find(cgroup, without);
    enum made made = cgroup->kind == CGROUP_NONE ? MADE_NONE : MADE_SWEPT;
    for (int i = 0; i < MAKE_TRIES && made == MADE_SWEPT; i++) {
        name_it(cgroup, run_id, i);
        made = make_folders(cgroup);
        if (made == MADE)
            made = set_up(cgroup, limits, err);
        if (made == MADE)
            return 0;
        (void) remove_folders(cgroup); /* nobody has entered it */
        close_folders(cgroup);
    }
    close_all(cgroup->parents, CGROUP_SLOTS);
    cgroup->kind = CGROUP_NONE;
    return made == MADE_FAILED ? -1 : 0;
}

/* ---- going in -------------------------------------------------------------------------------- */

int cgroup_enter(const struct cgroup *cgroup, pid_t pid, struct err *err)
{
    char text[16];
    (void) snprintf(text, sizeof(text), "%d", (int) pid); /* always fits */
    for (int i = 0; i < CGROUP_SLOTS; i++)
        if (cgroup->folders[i] >= 0 && write_file(cgroup->folders[i], "cgroup.procs", text) < 0)
            return err_sys(err, ERR_WALL, "cannot move the run into its cgroup");
    return 0;
}

int cgroup_enter_self(const struct cgroup *cgroup)
{
    if (cgroup->kind == CGROUP_V2)
        return write_file(cgroup->folders[0], "cgroup.procs", "0");
    for (int i = 0; i < CGROUP_SLOTS; i++)
        if (cgroup->entries[i] >= 0 && fd_write_all(cgroup->entries[i], "0", 1) < 0)
            return -1;
    return 0;
}

/* ---- what it used ---------------------------------------------------------------------------- */

struct source {
    const char *file;
    const char *key; /* the line that starts with it; NULL: the file is the number */
    uint64_t factor; /* to our unit */
};

struct reading {
    size_t offset; /* in struct cgroup_usage */
    enum cgroup_slot slot;
    struct source v1, v2;
};

enum { READ_CPU, READ_PEAK, READ_OOM, READ_FORKS };

static const struct reading readings[] = {
    [READ_CPU] = {offsetof(struct cgroup_usage, cpu_ns),
                  CGROUP_CPUACCT,
                  {"cpuacct.usage", NULL, 1},
                  {"cpu.stat", "usage_usec ", NS_PER_US}},
    [READ_PEAK] = {offsetof(struct cgroup_usage, memory_peak),
                   CGROUP_MEMORY,
                   {"memory.max_usage_in_bytes", NULL, 1},
                   {"memory.peak", NULL, 1}}, /* since 5.19 */
    [READ_OOM] = {offsetof(struct cgroup_usage, oom_kills),
                  CGROUP_MEMORY,
                  {"memory.oom_control", "oom_kill ", 1},
                  {"memory.events", "oom_kill ", 1}},
    [READ_FORKS] = {offsetof(struct cgroup_usage, forks_refused),
                    CGROUP_PIDS,
                    {"pids.events", "max ", 1},
                    {"pids.events", "max ", 1}},
};

/* The number after the key, at the start of a line. */
static uint64_t find_number(const char *text, const char *key)
{
    for (const char *at = text; key != NULL && at != NULL; at = strchr(at, '\n')) {
        at += *at == '\n';
        if (strncmp(at, key, strlen(key)) == 0)
            return strtoull(at + strlen(key), NULL, 10);
    }
    return key == NULL ? strtoull(text, NULL, 10) : 0;
}

/* The descriptor that is polled is also the one to read: that quiets it. */
static int polled(const struct cgroup *cgroup, const struct reading *reading)
{
    if (reading == &readings[READ_FORKS])
        return cgroup->pids_events;
    return reading == &readings[READ_OOM] && cgroup->kind == CGROUP_V2 ? cgroup->memory_events : -1;
}

static uint64_t read_number(const struct cgroup *cgroup, const struct reading *reading)
{
    char text[2048];
    const struct source *source = cgroup->kind == CGROUP_V2 ? &reading->v2 : &reading->v1;
    int folder = folder_of(cgroup, reading->slot), kept = polled(cgroup, reading);
    if (folder < 0)
        return 0;
    _cleanup_fd_ int own =
        kept >= 0 ? -1 : openat(folder, source->file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    ssize_t n = pread(kept >= 0 ? kept : own, text, sizeof(text) - 1, 0);
    if (n <= 0)
        return 0;
    text[n] = '\0';
    return find_number(text, source->key) * source->factor;
}

void cgroup_usage(const struct cgroup *cgroup, struct cgroup_usage *ret_usage)
{
    uint64_t told = 0;
    if (cgroup->kind == CGROUP_V1 && cgroup->memory_events >= 0 &&
        read(cgroup->memory_events, &told, sizeof(told)) < 0)
        told = 0; /* nothing happened since */
    for (size_t i = 0; i < ARRAY_SIZE(readings); i++) {
        uint64_t number = read_number(cgroup, &readings[i]);
        memcpy((char *) ret_usage + readings[i].offset, &number, sizeof(number));
    }
    if (told > 0 && ret_usage->oom_kills == 0)
        ret_usage->oom_kills = 1; /* v1 tells before it kills, and counts after */
}

uint64_t cgroup_cpu_ns(const struct cgroup *cgroup)
{
    return read_number(cgroup, &readings[READ_CPU]);
}
