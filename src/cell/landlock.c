#include <errno.h>
#include <linux/landlock.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cell/cell.h"

/* Newer than Debian 12's header; the numbers are the kernel's for good. */
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)
#endif
#ifndef LANDLOCK_ACCESS_FS_IOCTL_DEV
#define LANDLOCK_ACCESS_FS_IOCTL_DEV (1ULL << 15)
#endif

/* The attribute as of ABI 6; an older kernel is given the shorter prefix that it knows. */
struct ruleset_attr {
    uint64_t handled_access_fs;
    uint64_t handled_access_net;
    uint64_t scoped;
};

#define NET_BIND_AND_CONNECT_TCP 3ULL
#define SCOPE_ABSTRACT_SOCKET_AND_SIGNAL 3ULL

#define READ (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
/*
 * No exec, no devices, no sockets, no FIFOs: a wasm guest has no use for them, the host might fall
 * for them.
 */
#define WRITE                                                                                    \
    (READ | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_TRUNCATE |                        \
     LANDLOCK_ACCESS_FS_REFER | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE | \
     LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SYM)
/* A native program runs what it built, and talks to its own processes. */
#define WORK                                                             \
    (WRITE | LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_MAKE_SOCK | \
     LANDLOCK_ACCESS_FS_MAKE_FIFO)

static const uint64_t place_rights[] = {
    [RIGHT_LIST] = LANDLOCK_ACCESS_FS_READ_DIR,
    [RIGHT_READ] = READ,
    [RIGHT_SYSTEM] = READ | LANDLOCK_ACCESS_FS_EXECUTE,
    [RIGHT_WORK] = WORK,
    [RIGHT_DEVICES] = READ | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_IOCTL_DEV,
    [RIGHT_FILE] = LANDLOCK_ACCESS_FS_READ_FILE,
    [RIGHT_DEVICE] =
        LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_IOCTL_DEV,
};

static uint64_t grant_rights(enum plan_job job, enum access access)
{
    if (job == JOB_NATIVE)
        return place_rights[access == ACCESS_RO ? RIGHT_SYSTEM : RIGHT_WORK];
    return access == ACCESS_RW ? WRITE : READ;
}

/*
 * One row for each ABI that brought something: how many file rights it knows, how much of the
 * attribute.
 */
static const struct abi {
    uint32_t version;
    unsigned int fs_rights;
    size_t attr_size;
} abis[] = {
    {1, 13, offsetof(struct ruleset_attr, handled_access_net)},
    {2, 14, offsetof(struct ruleset_attr, handled_access_net)}, /* refer */
    {3, 15, offsetof(struct ruleset_attr, handled_access_net)}, /* truncate */
    {4, 15, offsetof(struct ruleset_attr, scoped)},             /* TCP */
    {5, 16, offsetof(struct ruleset_attr, scoped)},             /* ioctl on devices */
    {6, 16, sizeof(struct ruleset_attr)},                       /* abstract sockets, signals */
};

/*
 * On the landlock rung it is the wall between the guest and the host's files, so truncate must be
 * covered: ABI 3. A native guest has kill(2), and no pid namespace there: signals must be, too.
 */
static long rung_min_abi(enum plan_job job)
{
    return job == JOB_NATIVE ? 6 : 3;
}

static const struct abi *find_abi(uint32_t version)
{
    const struct abi *found = NULL;
    for (size_t i = 0; i < ARRAY_SIZE(abis); i++)
        if (abis[i].version <= version)
            found = &abis[i];
    return found;
}

static int add_rule(int ruleset, int place, uint64_t rights, const char *name, struct err *err)
{
    struct landlock_path_beneath_attr rule = {.allowed_access = rights, .parent_fd = place};
    if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0)
        return err_sys(err, ERR_WALL, "cannot add a Landlock rule for '%s'", name);
    return 0;
}

static int add_rules(const struct cell *cell, int ruleset, uint64_t known, struct err *err)
{
    const struct plan *plan = &cell->plan;
    for (size_t i = 0; i < plan->n_grants; i++)
        if (add_rule(ruleset, cell->grants[i],
                     grant_rights(plan->job, plan->grants[i].access) & known, plan->grants[i].host,
                     err) < 0)
            return -1;
    for (size_t i = 0; i < cell->n_places; i++)
        if (add_rule(ruleset, cell->places[i].fd, place_rights[cell->places[i].right] & known,
                     cell->places[i].name, err) < 0)
            return -1;
    return 0;
}

static int probe_version(const struct cell *cell, uint32_t *ret_version, struct err *err)
{
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    if (version < 0) {
        (void) err_sys(err, ERR_WALL, "the kernel offers no Landlock");
        return err_hint(err, "boot a kernel of 5.13 or newer with `landlock` in its `lsm=` list");
    }
    long least = rung_min_abi(cell->plan.job);
    if (cell->plan.isolation == ISOLATION_LANDLOCK && version < least)
        return err_set(
            err, ERR_WALL,
            "isolation 'landlock' needs Landlock ABI %ld (Linux %s), this kernel has %ld", least,
            least == 6 ? "6.12" : "6.2", version);
    *ret_version = (uint32_t) version;
    return 0;
}

/*
 * Stops: a guest without a pid namespace ending the process that watches over it. A domain of its
 * own, inside the cell's: the cell can signal it, and not the other way round.
 */
int cell_scope_signals(void)
{
    struct ruleset_attr attr = {.scoped = SCOPE_ABSTRACT_SOCKET_AND_SIGNAL};
    _cleanup_fd_ int ruleset = (int) syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);

    return ruleset < 0 ? -1 : (int) syscall(SYS_landlock_restrict_self, ruleset, 0);
}

/*
 * Stops: reaching a file outside the grants through whatever the root step missed, TCP, abstract
 * sockets and signals. It mirrors the same view, so a mount bug or a leaked descriptor is not the
 * last word.
 */
int cell_enter_landlock(struct cell *cell, struct err *err)
{
    if (cell_without(cell, WALL_LANDLOCK))
        return 0;
    uint32_t version;
    if (probe_version(cell, &version, err) < 0)
        return -1;
    const struct abi *abi = find_abi(version);
    struct ruleset_attr attr = {
        .handled_access_fs = (1ULL << abi->fs_rights) - 1,
        /* a guest with a loopback of its own is walled by the net namespace alone */
        .handled_access_net =
            cell->plan.native.network == NETWORK_NONE ? NET_BIND_AND_CONNECT_TCP : 0,
        .scoped = SCOPE_ABSTRACT_SOCKET_AND_SIGNAL,
    };
    _cleanup_fd_ int ruleset = (int) syscall(SYS_landlock_create_ruleset, &attr, abi->attr_size, 0);
    if (ruleset < 0)
        return err_sys(err, ERR_WALL, "cannot make a Landlock ruleset");
    if (add_rules(cell, ruleset, attr.handled_access_fs, err) < 0)
        return -1;
    if (syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
        return err_sys(err, ERR_WALL, "cannot enforce the Landlock ruleset");
    cell->landlock_abi = version;
    cell->walls |= WALL_LANDLOCK;
    return 0;
}
