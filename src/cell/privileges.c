#include <errno.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cell/cell.h"

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
 * Stops: everything a capability or a set-uid file could give back, now or after some exec. An
 * ordinary caller on the landlock rung may not set the secure bits and has nothing to lose: there
 * no_new_privs alone keeps the sets empty.
 *
 * A wasm cell leaves the bounding set as it is: it only says what an exec may gain, no_new_privs
 * says that it gains nothing, and the filter says that there is no exec. Emptying it takes forty-one
 * calls, a thirtieth of a run.
 */
int cell_drop_privileges(struct cell *cell, struct err *err)
{
    const unsigned long locked = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
                                 SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
                                 SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
    if (prctl(PR_SET_SECUREBITS, locked, 0, 0, 0) < 0 && cell->plan.identity != IDENTITY_CALLER)
        return err_sys(err, ERR_WALL, "cannot lock the secure bits");
    if ((cell_is_native && empty_bounding_set(cell, err) < 0) || empty_capability_sets(err) < 0)
        return -1;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return err_sys(err, ERR_WALL, "cannot set no_new_privs");
    cell->walls |= WALL_NO_CAPABILITIES | WALL_NO_NEW_PRIVS;
    return 0;
}
