/* Acts that make another view of the machine: mounts, roots and namespaces. */
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "native.h"

#define STACK_BYTES 16384

/* ---- mounts ---------------------------------------------------------------------------------- */

static int mount_tmpfs(const struct native_stage *stage)
{
    char path[4096];

    if (mount("none", native_path(path, sizeof(path), stage->rw, "dir"), "tmpfs", 0, NULL) < 0)
        return -1;
    return umount2(path, MNT_DETACH);
}

static int unmount_proc(const struct native_stage *stage)
{
    (void) stage; /* a name that is no mount: EINVAL if it is let in */
    return native_let_in(umount2("/usr/bin", MNT_DETACH));
}

static int remount_root(const struct native_stage *stage)
{
    (void) stage; /* a flag that is none, so that nothing changes: EINVAL if it is let in */
    return native_let_in(mount("none", "/usr/bin", NULL, MS_REMOUNT | MS_BIND, NULL));
}

static int pivot(const struct native_stage *stage)
{
    (void) stage;
    return native_let_in(syscall(SYS_pivot_root, "/usr", "/usr"));
}

static int change_root(const struct native_stage *stage)
{
    (void) stage;
    return chroot("/");
}

static int clone_tree(const struct native_stage *stage)
{
    return syscall(SYS_open_tree, AT_FDCWD, stage->rw, 1 /* OPEN_TREE_CLONE */) < 0 ? -1 : 0;
}

static int open_file_system(const struct native_stage *stage)
{
    (void) stage;
    return syscall(SYS_fsopen, "tmpfs", 0) < 0 ? -1 : 0;
}

static int pick_file_system(const struct native_stage *stage)
{
    return syscall(SYS_fspick, AT_FDCWD, stage->rw, 0) < 0 && native_let_in(-1) < 0 ? -1 : 0;
}

static int move_a_mount(const struct native_stage *stage)
{
    return native_let_in(syscall(SYS_move_mount, AT_FDCWD, stage->rw, AT_FDCWD, stage->ro, 0));
}

static int set_mount(const struct native_stage *stage)
{
    struct mount_attr attr = {0};

    return native_let_in(syscall(SYS_mount_setattr, AT_FDCWD, stage->rw, 0, &attr, sizeof(attr)));
}

/* ---- namespaces ------------------------------------------------------------------------------ */

static int leave(int flags)
{
    return unshare(CLONE_NEWUSER | flags);
}

#define LEAVE(name, flags)                            \
    static int name(const struct native_stage *stage) \
    {                                                 \
        (void) stage;                                 \
        return leave(flags);                          \
    }

LEAVE(leave_user, 0)
LEAVE(leave_mounts, CLONE_NEWNS)
LEAVE(leave_pids, CLONE_NEWPID)
LEAVE(leave_network, CLONE_NEWNET)
LEAVE(leave_ipc, CLONE_NEWIPC)
LEAVE(leave_names, CLONE_NEWUTS)
LEAVE(leave_cgroups, CLONE_NEWCGROUP)
LEAVE(leave_time, 0x80 /* CLONE_NEWTIME */)

static int leave_mounts_alone(const struct native_stage *stage)
{
    (void) stage;
    return unshare(CLONE_NEWNS);
}

static int end_at_once(void *data)
{
    (void) data;
    _exit(0);
}

static int clone_user(const struct native_stage *stage)
{
    char stack[STACK_BYTES];
    int status;
    pid_t pid = clone(end_at_once, stack + sizeof(stack), CLONE_NEWUSER | SIGCHLD, NULL);

    (void) stage;
    return pid > 0 && waitpid(pid, &status, 0) == pid ? 0 : -1;
}

static int clone3_user(const struct native_stage *stage)
{
    struct clone_args args = {.flags = CLONE_NEWUSER, .exit_signal = SIGCHLD};
    long pid = syscall(SYS_clone3, &args, sizeof(args));

    (void) stage;
    if (pid == 0)
        _exit(0);
    return pid > 0 && waitpid((pid_t) pid, NULL, 0) == pid ? 0 : -1;
}

/* A child of init's instead of ours would outlive what we are told to end with. */
static int clone_sibling(const struct native_stage *stage)
{
    char stack[STACK_BYTES];

    (void) stage;
    return clone(end_at_once, stack + sizeof(stack), CLONE_PARENT | SIGCHLD, NULL) < 0 ? -1 : 0;
}

static int enter_again(const char *name)
{
    int fd = open(name, O_RDONLY | O_CLOEXEC);

    return fd < 0 ? -1 : setns(fd, 0);
}

static int enter_network(const struct native_stage *stage)
{
    (void) stage;
    return enter_again("/proc/self/ns/net");
}

static int enter_mounts(const struct native_stage *stage)
{
    (void) stage;
    return enter_again("/proc/self/ns/mnt");
}

const struct native_act native_mounts[] = {
    {"mount-tmpfs", 11, NATIVE_SURFACE, NEEDS_ROOT, mount_tmpfs},
    {"unmount", 11, NATIVE_SURFACE, NEEDS_ROOT, unmount_proc},
    {"remount", 11, NATIVE_SURFACE, NEEDS_ROOT, remount_root},
    {"pivot", 11, NATIVE_SURFACE, NEEDS_ROOT, pivot},
    {"change-root", 11, NATIVE_SURFACE, NEEDS_ROOT, change_root},
    {"clone-tree", 11, NATIVE_SURFACE, NEEDS_ROOT, clone_tree},
    {"open-file-system", 11, NATIVE_SURFACE, NEEDS_ROOT, open_file_system},
    {"pick-file-system", 11, NATIVE_SURFACE, NEEDS_ROOT, pick_file_system},
    {"move-a-mount", 11, NATIVE_SURFACE, NEEDS_ROOT, move_a_mount},
    {"set-mount", 11, NATIVE_SURFACE, NEEDS_ROOT, set_mount},
    {"leave-user", 15, NATIVE_SURFACE, NEEDS_NOTHING, leave_user},
    {"leave-mounts", 15, NATIVE_SURFACE, NEEDS_NOTHING, leave_mounts},
    {"leave-pids", 15, NATIVE_SURFACE, NEEDS_NOTHING, leave_pids},
    {"leave-network", 15, NATIVE_SURFACE, NEEDS_NOTHING, leave_network},
    {"leave-ipc", 15, NATIVE_SURFACE, NEEDS_NOTHING, leave_ipc},
    {"leave-names", 15, NATIVE_SURFACE, NEEDS_NOTHING, leave_names},
    {"leave-cgroups", 15, NATIVE_SURFACE, NEEDS_NOTHING, leave_cgroups},
    {"leave-time", 15, NATIVE_SURFACE, NEEDS_NOTHING, leave_time},
    {"leave-mounts-alone", 15, NATIVE_SURFACE, NEEDS_ROOT, leave_mounts_alone},
    {"clone-user", 14, NATIVE_SURFACE, NEEDS_NOTHING, clone_user},
    {"clone3-user", 14, NATIVE_SURFACE, NEEDS_NOTHING, clone3_user},
    {"clone-sibling", 14, NATIVE_SURFACE, NEEDS_NOTHING, clone_sibling},
    {"enter-network", 14, NATIVE_SURFACE, NEEDS_ROOT, enter_network},
    {"enter-mounts", 14, NATIVE_SURFACE, NEEDS_ROOT, enter_mounts},
    {NULL},
};
