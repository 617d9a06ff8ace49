#include "base/remedy.h"

#include <stdio.h>
#include <string.h>

/* Commands first: what can be copied should be. */
static const char *const texts[REMEDIES] = {
    [REMEDY_NONE] = "",
    [REMEDY_AGAIN] = "run 'wasp doctor' again when the machine is less busy",
    [REMEDY_KERNEL] = "boot a kernel that has it: Linux {} or newer, with that configured",
    [REMEDY_MODULE] = "sudo modprobe {}",
    [REMEDY_OUTER_SECCOMP] =
        "a seccomp filter around wasp forbids it: start the container with --security-opt "
        "seccomp=unconfined (docker, podman) or seccompProfile Unconfined (Kubernetes), the "
        "service without SystemCallFilter= and RestrictNamespaces= (systemd)",
    [REMEDY_OUTER_LSM] =
        "a security module forbids it: start the container with --security-opt "
        "apparmor=unconfined or --security-opt label=disable (docker, podman), or allow it to "
        "wasp in the policy of AppArmor or SELinux",
    [REMEDY_APPARMOR_USERNS] =
        "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, or load an AppArmor "
        "profile for wasp's path with flags=(unconfined) and the rule 'userns,'",
    [REMEDY_USERNS_CLONE] = "sudo sysctl -w kernel.unprivileged_userns_clone=1",
    [REMEDY_MAX_NAMESPACES] = "sudo sysctl -w user.max_{}_namespaces=65536",
    [REMEDY_CHROOT] = "a chroot cannot make user namespaces: enter the tree with pivot_root "
                      "(systemd-nspawn, a container) instead of chroot",
    [REMEDY_KERNEL_NAMESPACES] =
        "boot a kernel with CONFIG_USER_NS, CONFIG_PID_NS, CONFIG_NET_NS, CONFIG_IPC_NS, "
        "CONFIG_UTS_NS and CONFIG_CGROUPS",
    [REMEDY_FORBIDDEN] = "something around wasp forbids it, such as a container or a security "
                         "module: allow it there",
    [REMEDY_ROOT_MOUNTS] = "run wasp as an ordinary user, or start the container with --cap-add "
                           "SYS_ADMIN (docker, podman)",
    [REMEDY_IDMAP] = "run wasp as an ordinary user, or grant directories on another file system "
                     "than that of '{}' (ext4, xfs, btrfs and tmpfs can map owners)",
    [REMEDY_UID_RANGE] = "widen WASP_UID_RANGE=BASE:COUNT",
    [REMEDY_PROC] = "run with --proc none, or start the container with an unmasked /proc: "
                    "--security-opt systempaths=unconfined (docker), --security-opt unmask=ALL "
                    "(podman), procMount: Unmasked (Kubernetes)",
    [REMEDY_NESTING] = "start the container with a writable /proc/sys: --security-opt "
                       "systempaths=unconfined (docker), --security-opt unmask=ALL (podman)",
    [REMEDY_DEVICES] = "mount a /dev with null, zero, full, random and urandom, and not with "
                       "nodev",
    [REMEDY_OVERLAY] = "boot Linux 6.6 or newer with CONFIG_OVERLAY_FS and CONFIG_TMPFS_XATTR, or "
                       "grant directories with ':ro' or ':rw' instead of ':overlay'",
    [REMEDY_TERMINAL] = "run without --tty, or boot a kernel with CONFIG_UNIX98_PTYS",
    [REMEDY_LANDLOCK_OFF] = "add landlock to the kernel's list of security modules: boot with "
                            "lsm=landlock,… (/sys/kernel/security/lsm shows those in force)",
    [REMEDY_LANDLOCK_OLD] = "boot Linux 6.2 or newer, or run with full walls, which need less of "
                            "Landlock",
    [REMEDY_SECCOMP] = "boot a kernel with CONFIG_SECCOMP_FILTER",
    [REMEDY_CGROUP_USER] = "have cgroup v2 delegated to it: systemd-run --user --scope -p "
                           "Delegate=yes wasp …",
    [REMEDY_CGROUP_ROOT] = "mount cgroup v2, or v1 with memory, pids and cpuacct, at "
                           "/sys/fs/cgroup, and give wasp's user a folder to write to there; in a "
                           "container: --cgroupns private -v /sys/fs/cgroup:/sys/fs/cgroup:rw",
    [REMEDY_SWAP] = "boot with swapaccount=1, or turn swap off: sudo swapoff -a",
    [REMEDY_PROGRAMS] = "wasp needs its helper programs beside it or in ../libexec/wasp: install "
                        "it with `make install`, or run build/wasp",
    [REMEDY_FOLDER_OWNER] = "chown it to you and chmod 0700 '{}', or name another one with "
                            "WASP_CACHE_DIR, WASP_STATE_DIR or XDG_CONFIG_HOME",
    [REMEDY_FOLDER_WRITE] = "make '{}' writable to you, or name another one with WASP_CACHE_DIR, "
                            "WASP_STATE_DIR or XDG_CONFIG_HOME",
    [REMEDY_NO_HOME] = "set HOME, or WASP_CACHE_DIR and WASP_STATE_DIR, to absolute paths",
    [REMEDY_INTERPRETER] = "install it into /usr: sudo apt install {}",
    [REMEDY_INTERPRETER_OUTSIDE] = "a cell sees /usr alone: install it there, or take a tree that "
                                   "has it with --rootfs",
};

const char *remedy_text(enum remedy remedy)
{
    return (unsigned int) remedy < REMEDIES && texts[remedy] ? texts[remedy] : "";
}

void remedy_format(enum remedy remedy, const char *subject, char ret_text[REMEDY_BYTES])
{
    const char *text = remedy_text(remedy);
    const char *gap = strstr(text, "{}");
    int before = gap ? (int) (gap - text) : (int) strlen(text);

    /* cut where it is too long, which the test of this table rules out */
    (void) snprintf(ret_text, REMEDY_BYTES, "%.*s%.*s%s", before, text,
                    gap && subject ? REMEDY_SUBJECT_BYTES : 0, gap && subject ? subject : "",
                    gap ? gap + 2 : "");
}

void remedy_add_rung(char text[REMEDY_BYTES])
{
    size_t len = strlen(text);

    if (len > 0) /* cut as above */
        (void) snprintf(text + len, REMEDY_BYTES - len,
                        "; or ask for the weaker rung by name: --isolation landlock");
}
