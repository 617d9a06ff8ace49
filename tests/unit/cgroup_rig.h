/*
 * cgroup_rig: what the tests of cgroups have in common.
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "run/cgroup.h"
#include "tap.h"

#define MIB (1024ULL * 1024)
#define MEMORY_LIMIT (16 * MIB)
#define PROCESSES 8
#define NEITHER 3U /* bits of `without` */

/* A run's id, and so a name that a sweep takes for ours; the pid of main makes it this test's. */
static const char *id_of(int number)
{
    static char id[40];
    static pid_t test;
    test = test == 0 ? getpid() : test;
    (void) snprintf(id, sizeof(id), "%08x-0000-7000-8000-%012x", (unsigned) number,
                    (unsigned) test); /* always fits */
    return id;
}

static struct limits limits_of(uint64_t memory, uint64_t processes)
{
    struct limits limits;
    limits_init(&limits, BACKEND_NATIVE);
    limits.value[LIMIT_MEMORY] = memory;
    limits.value[LIMIT_PROCESSES] = processes;
    return limits;
}

static int make(struct cgroup *cgroup, int number, uint64_t memory, uint64_t processes)
{
    struct err err = {.code = ERR_NONE};
    struct limits limits = limits_of(memory, processes);
    int rc = cgroup_make(cgroup, id_of(number), &limits, 0, &err);
    if (rc < 0)
        printf("# %s\n", err.message);
    return rc;
}

/* How many folders of that run there are, where others are made. */
static int folders_there(const int parents[CGROUP_SLOTS], int number)
{
    char name[64];
    int count = 0;
    struct stat st;
    (void) snprintf(name, sizeof(name), "wasp-%s", id_of(number));
    for (int i = 0; i < CGROUP_SLOTS; i++)
        count += parents[i] >= 0 && fstatat(parents[i], name, &st, 0) == 0;
    return count;
}

static int wait_for(pid_t pid)
{
    int status = -1;
    return waitpid(pid, &status, 0) == pid ? status : -1;
}

/* Of all that were made before. */
static void test_nothing_left(void)
{
    struct cgroup last;
    int left = 0;
    if (make(&last, 300, MEMORY_LIMIT, PROCESSES) < 0)
        return;
    ok(folders_there(last.parents, 300) > 0, "one that is there is seen");
    for (int i = 0; i < 300; i++)
        left += folders_there(last.parents, i);
    ok(left == 0, "nothing is left of all the others");
    cgroup_release(&last);
}

/*
 * What kind is to be had, which must be the one that the command line names. What there is to test
 * where there is none is said, too.
 */
static enum cgroup_kind find_kind(int argc, char **argv)
{
    static const char *const names[] = {"none", "v1", "v2"};
    struct cgroup cgroup;
    if (make(&cgroup, 0, MEMORY_LIMIT, PROCESSES) < 0)
        exit(1);
    enum cgroup_kind kind = cgroup.kind;
    cgroup_release(&cgroup);
    if (argc > 1)
        ok(strcmp(names[kind], argv[1]) == 0, "the kind of cgroup is %s", argv[1]);
    else if (kind == CGROUP_NONE)
        skip("no cgroup can be made here as uid %d", (int) geteuid());
    return kind;
}
