/*
 * Where a run's cgroup is made, and where none is to be had. The words are as for test_cgroup.
 */
#include <grp.h>
#include <sched.h>
#include <sys/mount.h>

#include "cgroup_rig.h"

#define ORDINARY_UID 12345

/*
 * In a child that goes into a cgroup without limits and then changes itself: what kind it gets
 * there, or -1.
 */
static int kind_after(bool (*change)(void))
{
    struct cgroup outer;
    if (make(&outer, 21, UNITS_UNLIMITED, UNITS_UNLIMITED) < 0)
        return -1;
    pid_t pid = fork();
    if (pid == 0) {
        struct cgroup cgroup;
        if (cgroup_enter_self(&outer) < 0 || !change() ||
            make(&cgroup, 20, MEMORY_LIMIT, PROCESSES) < 0)
            _exit(99);
        int kind = (int) cgroup.kind;
        cgroup_release(&cgroup);
        _exit(kind);
    }
    int status = wait_for(pid);
    cgroup_release(&outer);
    return WIFEXITED(status) && WEXITSTATUS(status) != 99 ? WEXITSTATUS(status) : -1;
}

static bool stay(void)
{
    return true;
}

static bool become_ordinary(void)
{
    return setgroups(0, NULL) == 0 && setresgid(ORDINARY_UID, ORDINARY_UID, ORDINARY_UID) == 0 &&
           setresuid(ORDINARY_UID, ORDINARY_UID, ORDINARY_UID) == 0;
}

/* As a container does it: our cgroup is the root of what we see. */
static bool enter_namespace(void)
{
    return unshare(CLONE_NEWNS | CLONE_NEWCGROUP) == 0 &&
           mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

static bool enter_namespace_of_v1(void)
{
    static const char *const controllers[] = {"memory", "pids", "cpuacct"};
    if (!enter_namespace() || mount("none", "/tmp", "tmpfs", 0, NULL) < 0 ||
        mkdir("/tmp/odd \\ place", 0700) < 0)
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(controllers); i++) {
        char path[64];
        (void) snprintf(path, sizeof(path), "/tmp/odd \\ place/%zu", i);
        if (mkdir(path, 0700) < 0 || (mount("none", path, "cgroup", 0, controllers[i]) < 0 &&
                                      mount("none", path, "cgroup", 0, "memory,pids,cpuacct") < 0))
            return false;
    }
    return true;
}

static bool enter_namespace_of_v2(void)
{
    return enter_namespace() && mount("none", "/tmp", "cgroup2", 0, NULL) == 0;
}

static bool has_no_cgroups(void)
{
    return enter_namespace() && umount2("/sys/fs/cgroup", MNT_DETACH) == 0;
}

static void test_none(enum cgroup_kind kind)
{
    struct cgroup cgroup;
    struct err err;
    struct limits limits = limits_of(MEMORY_LIMIT, PROCESSES);
    ok(cgroup_make(&cgroup, id_of(19), &limits, NEITHER, &err) == 0 && cgroup.kind == CGROUP_NONE,
       "none to be had is no error");
    cgroup_release(&cgroup);
    unsigned int others = kind == CGROUP_V2 ? 2 : 1;
    ok(cgroup_make(&cgroup, id_of(19), &limits, others, &err) == 0 && cgroup.kind == kind,
       "the kind that is there does not need the other");
    cgroup_release(&cgroup);
    if (geteuid() != 0) {
        skip("an ordinary user has none where root has one: not root");
        return;
    }
    ok(kind_after(stay) == (int) kind, "what follows works where nothing is changed");
    ok(kind_after(become_ordinary) == CGROUP_NONE, "an ordinary user has none where root has one");
    ok(kind_after(has_no_cgroups) == CGROUP_NONE, "where none are mounted there is none");
    ok(kind_after(enter_namespace) == CGROUP_NONE,
       "a cgroup namespace that does not see ours has none");
    if (kind == CGROUP_V1)
        ok(kind_after(enter_namespace_of_v1) == CGROUP_V1,
           "one that does has it, wherever it is mounted");
    else
        ok(kind_after(enter_namespace_of_v2) == CGROUP_NONE,
           "nor has one whose root has processes, as a container's: it cannot be shared out");
}

int main(int argc, char **argv)
{
    enum cgroup_kind kind = find_kind(argc, argv);
    if (kind == CGROUP_NONE)
        return done();
    test_none(kind);
    test_nothing_left();
    return done();
}
