#include <errno.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cell/cell.h"

/* The bounding set ends where the kernel says EINVAL: newer kernels have capabilities this build
 * does not know. */
static int empty_bounding_set(struct err *err)
{
    for (int capability = 0; capability < 64; capability++) {
        if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0)
            continue;
        if (errno == EINVAL && capability > CAP_SETPCAP)
            return 0;
        return err_sys(err, ERR_WALL, "cannot drop capability %d from the bounding set",
                       capability);
    }
    return 0;
}

static int empty_capability_sets(struct err *err)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
        return err_sys(err, ERR_WALL, "cannot clear the ambient capabilities");
    if (syscall(SYS_capset, &header, none) < 0)
        return err_sys(err, ERR_WALL, "cannot drop the capabilities");
    return 0;
}

/*
 * Stops: everything a capability or a set-uid file could give back, now or after some exec. An
 * ordinary caller on the landlock rung has no CAP_SETPCAP and nothing to drop: there no_new_privs
 * alone keeps the sets empty.
 */
int cell_drop_privileges(struct cell *cell, struct err *err)
{
    bool may_drop =
        prctl(PR_CAPBSET_READ, CAP_SETPCAP, 0, 0, 0) == 1 &&
        prctl(PR_SET_SECUREBITS, SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
                                     SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
                                     SECBIT_NO_CAP_AMBIENT_RAISE |
                                     SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED) == 0;
    if (!may_drop && cell->plan.identity != IDENTITY_CALLER)
        return err_sys(err, ERR_WALL, "cannot lock the secure bits");
    if (may_drop && empty_bounding_set(err) < 0)
        return -1;
    if (empty_capability_sets(err) < 0)
        return -1;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return err_sys(err, ERR_WALL, "cannot set no_new_privs");
    cell->walls |= WALL_NO_CAPABILITIES | WALL_NO_NEW_PRIVS;
    return 0;
}
