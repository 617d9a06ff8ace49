#include "run/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"

#define STAT_BYTES 1024
#define ROLLUP_BYTES 2048
#define LINKS_BYTES (65536 * sizeof(struct link)) /* all processes of the machine */

struct link {
    pid_t parent, child;
};

struct walk {
    struct tree tree;
    bool is_exact;
    uint64_t tick_ns, page_bytes;
    struct buf links; /* of struct link, by parent; empty where the kernel lists children */
    bool has_links;
    size_t count;
    pid_t pids[TREE_MOST]; /* those found; the first ones have been looked at */
};

/* Reads a small file of /proc whole, or what fits of it. False if there is no more such process. */
static bool read_text(const char *path, char *ret_text, size_t size)
{
    _cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : fd_read_full(fd, ret_text, size - 1);
    if (n <= 0)
        return false;
    ret_text[n] = '\0';
    return true;
}

static void close_dir(DIR **dir)
{
    if (*dir != NULL)
        (void) closedir(*dir); /* only read from */
}

/* The next name that is a number, or 0 at the end. */
static pid_t next_pid(DIR *dir)
{
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        long number = strtol(entry->d_name, NULL, 10);
        if (number > 0)
            return (pid_t) number;
    }
    return 0;
}

/* ---- one process ----------------------------------------------------------------------------- */

/* Fields of /proc/PID/stat, counted from the one behind the name, which is the state. */
enum field {
    FIELD_PARENT = 1,
    FIELD_FIRST_TIME = 11, /* utime, stime, cutime, cstime */
    FIELD_THREADS = 17,
    FIELD_RSS = 21, /* pages */
    FIELDS
};

struct process {
    char state;
    long long fields[FIELDS];
};

static bool read_stat(const char *path, struct process *ret_process)
{
    char text[STAT_BYTES];
    if (!read_text(path, text, sizeof(text)))
        return false;
    char *at = strrchr(text, ')'); /* the name may have one as well */
    if (at == NULL || at[1] != ' ' || at[2] == '\0')
        return false;
    ret_process->state = at[2];
    at += 3;
    for (int i = 1; i < FIELDS; i++)
        ret_process->fields[i] = strtoll(at, &at, 10);
    return true;
}

static bool read_process(pid_t pid, struct process *ret_process)
{
    char path[32];
    (void) snprintf(path, sizeof(path), "/proc/%d/stat", (int) pid); /* always fits */
    return read_stat(path, ret_process);
}

static bool has_ended(const struct process *process)
{
    return strchr("ZXx", process->state) != NULL;
}

static uint64_t ticks_of(const struct process *process)
{
    uint64_t ticks = 0;
    for (int i = 0; i < 4; i++)
        ticks += (uint64_t) process->fields[FIELD_FIRST_TIME + i];
    return ticks;
}

/* "Pss_Anon:     1234 kB": the sum of two such lines. False if one is not there. */
static bool read_share(pid_t pid, pid_t thread, uint64_t *ret_bytes)
{
    static const char *const names[] = {"\nPss_Anon:", "\nPss_Shmem:"};
    char path[64], text[ROLLUP_BYTES];
    uint64_t sum = 0;
    (void) snprintf(path, sizeof(path), "/proc/%d/task/%d/smaps_rollup", (int) pid,
                    (int) thread); /* always fits */
    if (!read_text(path, text, sizeof(text)))
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        const char *at = strstr(text, names[i]);
        if (at == NULL)
            return false;
        sum += strtoull(at + strlen(names[i]), NULL, 10) * 1024;
    }
    *ret_bytes = sum;
    return true;
}

/* What a living thread, and so its process, has in memory. */
static uint64_t weigh(const struct walk *walk, pid_t pid, pid_t thread,
                      const struct process *process)
{
    uint64_t bytes;
    if (walk->is_exact && read_share(pid, thread, &bytes))
        return bytes;
    return (uint64_t) process->fields[FIELD_RSS] * walk->page_bytes;
}

/* ---- its children ---------------------------------------------------------------------------- */

/* A child that changes its thread while we look is not counted twice. */
static void add(struct walk *walk, pid_t pid, size_t first_sibling)
{
    for (size_t i = first_sibling; i < walk->count; i++)
        if (walk->pids[i] == pid)
            return;
    if (walk->count < TREE_MOST)
        walk->pids[walk->count++] = pid;
}

/* "123 456 ", of any length: a number that a chunk cuts goes on in the next. */
static void add_listed(struct walk *walk, pid_t pid, pid_t thread, size_t first_sibling)
{
    char path[64], chunk[4096];
    (void) snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int) pid,
                    (int) thread); /* always fits */
    _cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    pid_t number = 0;
    for (ssize_t n; fd >= 0 && (n = read(fd, chunk, sizeof(chunk))) > 0;)
        for (ssize_t i = 0; i < n; i++) {
            if (chunk[i] != ' ') {
                number = number * 10 + (chunk[i] - '0');
                continue;
            }
            add(walk, number, first_sibling);
            number = 0;
        }
}

/* Threads have children each for themselves. */
static void add_threads(struct walk *walk, pid_t pid)
{
    char path[32];
    size_t first_sibling = walk->count;
    (void) snprintf(path, sizeof(path), "/proc/%d/task", (int) pid); /* always fits */
    _cleanup_(close_dir) DIR *dir = opendir(path);
    for (pid_t thread; dir != NULL && (thread = next_pid(dir)) > 0;)
        add_listed(walk, pid, thread, first_sibling);
}

/* A thread that has ended shows no memory any more: another one of the process does. */
static uint64_t weigh_by_threads(const struct walk *walk, pid_t pid)
{
    char path[64];
    struct process process;
    (void) snprintf(path, sizeof(path), "/proc/%d/task", (int) pid); /* always fits */
    _cleanup_(close_dir) DIR *dir = opendir(path);
    for (pid_t thread; dir != NULL && (thread = next_pid(dir)) > 0;) {
        (void) snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int) pid,
                        (int) thread); /* always fits */
        if (read_stat(path, &process) && !has_ended(&process))
            return weigh(walk, pid, thread, &process);
    }
    return 0;
}

/* ---- without lists of children: all processes there are -------------------------------------- */

static int compare_links(const void *a, const void *b)
{
    pid_t left = ((const struct link *) a)->parent, right = ((const struct link *) b)->parent;
    return (left > right) - (left < right);
}

static void find_links(struct walk *walk)
{
    _cleanup_(close_dir) DIR *dir = opendir("/proc");
    struct process process;
    for (pid_t pid; dir != NULL && (pid = next_pid(dir)) > 0;) {
        if (!read_process(pid, &process))
            continue;
        struct link link = {(pid_t) process.fields[FIELD_PARENT], pid};
        if (buf_add(&walk->links, &link, sizeof(link)) < 0)
            break; /* more than fit: what was found has to do */
    }
    if (walk->links.len > 0)
        qsort(walk->links.data, walk->links.len / sizeof(struct link), sizeof(struct link),
              compare_links);
    walk->has_links = true;
}

static void add_linked(struct walk *walk, pid_t pid)
{
    const struct link *links = (const struct link *) (const void *) walk->links.data;
    size_t low = 0, count = walk->links.len / sizeof(*links);
    for (size_t high = count; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (links[middle].parent < pid)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < count && links[low].parent == pid; low++)
        add(walk, links[low].child, walk->count);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void add_children(struct walk *walk, pid_t pid, bool has_threads)
{
    if (walk->has_links)
        add_linked(walk, pid);
    else if (has_threads)
        add_threads(walk, pid);
    else
        add_listed(walk, pid, pid, walk->count);
}

/* A process whose first thread has ended lives on in its others, and shows as a zombie. */
static bool visit(struct walk *walk, pid_t pid)
{
    struct process process;
    if (!read_process(pid, &process))
        return false; /* it has ended since; what it left went to the first process of the tree */
    bool has_threads = process.fields[FIELD_THREADS] > 1;
    walk->tree.cpu_ns += ticks_of(&process) * walk->tick_ns;
    if (has_ended(&process) && !has_threads)
        return true;
    walk->tree.processes++;
    walk->tree.rss_bytes +=
        has_ended(&process) ? weigh_by_threads(walk, pid) : weigh(walk, pid, pid, &process);
    add_children(walk, pid, has_threads);
    return true;
}

static void walk_release(struct walk *walk)
{
    buf_release(&walk->links);
}

static int look(pid_t pid, bool is_exact, bool is_scan, struct tree *ret_tree)
{
    _cleanup_(walk_release) struct walk walk;
    walk.tree = (struct tree){.processes = 0}; /* not the array: it is large and mostly unused */
    walk.is_exact = is_exact;
    walk.tick_ns = NS_PER_S / (uint64_t) sysconf(_SC_CLK_TCK);
    walk.page_bytes = (uint64_t) sysconf(_SC_PAGESIZE);
    walk.links = (struct buf) BUF_INIT(LINKS_BYTES);
    walk.has_links = false;
    walk.pids[0] = pid;
    walk.count = 1;
    if (is_scan || access("/proc/thread-self/children", F_OK) < 0)
        find_links(&walk);
    for (size_t i = 0; i < walk.count; i++) {
        if (!visit(&walk, walk.pids[i]) && i == 0) {
            errno = ESRCH;
            return -1;
        }
    }
    *ret_tree = walk.tree;
    return 0;
}

int tree_look(pid_t pid, struct tree *ret_tree)
{
    return look(pid, false, false, ret_tree);
}

int tree_weigh(pid_t pid, struct tree *ret_tree)
{
    return look(pid, true, false, ret_tree);
}

int tree_scan(pid_t pid, struct tree *ret_tree)
{
    return look(pid, false, true, ret_tree);
}
