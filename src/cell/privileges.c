#include <errno.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cell/cell.h"

int cell_empty_capabilities(struct err *err)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
        return err_sys(err, ERR_WALL, "cannot clear the ambient capabilities");
    if (syscall(SYS_capset, &header, none) < 0)
        return err_sys(err, ERR_WALL, "cannot drop the capabilities");
    return 0;
}

/* One call for each capability that the kernel knows; the first it does not know ends it. */
static int empty_bounding_set(const struct cell *cell, struct err *err)
{
    unsigned long capability = 0;
    while (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0)
        capability++;
    if (errno != EINVAL && cell->plan.identity != IDENTITY_CALLER)
        return err_sys(err, ERR_WALL, "cannot empty the bounding set");
    return 0;
}

/*
 * Stops: reading the keys of the caller's session. The filter has no call for keys; this holds
 * without it. A kernel without keys has none to read.
 */
static int leave_session_keyring(struct err *err)
{
    if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0 && errno != ENOSYS &&
        errno != EPERM && errno != EACCES && errno != EDQUOT)
        return err_sys(err, ERR_WALL, "cannot leave the caller's session keyring");
    return 0;
}

/*
 * Stops: everything a capability or a set-uid file could give back, now or after some exec. An
 * ordinary caller on the landlock rung may not set the secure bits and has nothing to lose: there
 * no_new_privs alone keeps the sets empty.
 *
 * A wasm cell leaves the bounding set as it is: it only says what an exec may gain, no_new_privs
 * says that it gains nothing, and the filter says that there is no exec. Emptying it takes
 * forty-one calls, a thirtieth of a run.
 */
int cell_drop_privileges(struct cell *cell, struct err *err)
{
    const unsigned long locked = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
                                 SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
                                 SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
    /* a test that leaves no_new_privs out: Landlock and seccomp need a capability then */
    bool keeps = cell_without(cell, WALL_NO_CAPABILITIES) || cell_without(cell, WALL_NO_NEW_PRIVS);
    if (!keeps && prctl(PR_SET_SECUREBITS, locked, 0, 0, 0) < 0 &&
        cell->plan.identity != IDENTITY_CALLER)
        return err_sys(err, ERR_WALL, "cannot lock the secure bits");
    if (cell_is_native && !cell_without(cell, WALL_NO_CAPABILITIES) &&
        empty_bounding_set(cell, err) < 0)
        return -1;
    if (cell_is_native && leave_session_keyring(err) < 0)
        return -1;
    if (!keeps && cell_empty_capabilities(err) < 0)
        return -1;
    cell->walls |= cell_without(cell, WALL_NO_CAPABILITIES) ? 0 : WALL_NO_CAPABILITIES;
    if (cell_without(cell, WALL_NO_NEW_PRIVS))
        return 0;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return err_sys(err, ERR_WALL, "cannot set no_new_privs");
    cell->walls |= WALL_NO_NEW_PRIVS;
    return 0;
}
