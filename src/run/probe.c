#include "run/probe.h"

#include <string.h>

#include "base/cleanup.h"
#include "run/identity.h"
#include "run/probing.h"

/* ---- uses ------------------------------------------------------------------------------------ */

#define BIT(use) USE_BIT(USE_##use)

static const struct use_row {
    const char *name;
    const char *about;
    uint32_t on_top_of; /* one of these must be usable, too; 0: it stands alone */
    bool is_strict;     /* a lack that wasp can do without counts, too */
} uses[USES] = {
    [USE_WASM_FULL] = {"wasm/full", "modules, full walls"},
    [USE_WASM_LANDLOCK] = {"wasm/landlock", "modules, --isolation landlock"},
    [USE_NATIVE_FULL] = {"native/full", "programs, full walls"},
    [USE_NATIVE_NO_PROC] = {"native/no-proc", "programs, full walls, --proc none"},
    [USE_NATIVE_LANDLOCK] = {"native/landlock", "programs, --isolation landlock"},
    [USE_OVERLAY] = {"overlay", "directories as ':overlay'",
                     BIT(NATIVE_FULL) | BIT(NATIVE_NO_PROC)},
    [USE_TTY] = {"tty", "--tty", BIT(NATIVE_FULL) | BIT(NATIVE_NO_PROC)},
    [USE_ROOTFS] = {"rootfs", "--rootfs", BIT(NATIVE_FULL) | BIT(NATIVE_NO_PROC)},
    [USE_LOOPBACK] = {"loopback", "--loopback", BIT(NATIVE_FULL) | BIT(NATIVE_NO_PROC)},
    [USE_LIMITS] = {"limits", "limits held by cgroups", .is_strict = true},
    [USE_PYTHON] = {"code/python", "code in Python",
                    BIT(NATIVE_FULL) | BIT(NATIVE_NO_PROC) | BIT(NATIVE_LANDLOCK)},
    [USE_JAVASCRIPT] = {"code/javascript", "code in JavaScript",
                        BIT(NATIVE_FULL) | BIT(NATIVE_NO_PROC) | BIT(NATIVE_LANDLOCK)},
    [USE_BASH] = {"code/bash", "code in Bash",
                  BIT(NATIVE_FULL) | BIT(NATIVE_NO_PROC) | BIT(NATIVE_LANDLOCK)},
};

#define WASM (BIT(WASM_FULL) | BIT(WASM_LANDLOCK))
#define NATIVE_WALLED (BIT(NATIVE_FULL) | BIT(NATIVE_NO_PROC))
#define NATIVE (NATIVE_WALLED | BIT(NATIVE_LANDLOCK))
#define WALLED (BIT(WASM_FULL) | NATIVE_WALLED)
#define ALL (WASM | NATIVE)

/* ---- probes ---------------------------------------------------------------------------------- */

static const struct probe {
    const char *id;
    const char *what;
    uint32_t needed_by;
    probe_act *act;
    const char *after[2]; /* earlier ones, without which this one cannot be tried */
} probes[] = {
    {"openat2", "paths that cannot lead out of a directory", ALL, probe_openat2},
    {"close-range", "no descriptor reaches a guest by accident", ALL, probe_close_range},
    {"pidfd", "processes that are watched and killed without mistake", ALL, probe_pidfd},
    {"memfd", "plans and modules that nobody can change", ALL, probe_memfd},
    {"no-new-privs", "no program gains rights", ALL, probe_no_new_privs},
    {"seccomp", "a list of system calls", ALL, probe_seccomp, {"no-new-privs"}},
    {"landlock", "the view of files once more, and sockets", ALL, probe_landlock, {"no-new-privs"}},
    {"landlock-rung",
     "Landlock as the only wall around files",
     BIT(WASM_LANDLOCK) | BIT(NATIVE_LANDLOCK),
     probe_landlock_rung,
     {"landlock"}},
    {"user-namespace", "an identity of its own, and its own processes alone", WALLED,
     probe_user_namespace},
    {"namespaces",
     "mounts, network, ipc, host name and cgroups of its own",
     WALLED,
     probe_namespaces,
     {"user-namespace"}},
    {"tmpfs", "a root and scratch of limited size", WALLED, probe_tmpfs, {"namespaces"}},
    {"mount-clones",
     "granted directories as mounts of their own",
     WALLED,
     probe_mount_clones,
     {"namespaces"}},
    {"idmapped-mounts",
     "files that keep their owner when root starts a run",
     WALLED | BIT(ROOTFS),
     probe_idmap,
     {"mount-clones"}},
    {"pivot-root", "no path of the host", WALLED, probe_pivot_root, {"tmpfs", "mount-clones"}},
    {"devices", "/dev/null and its like", NATIVE_WALLED, probe_devices, {"pivot-root"}},
    {"proc", "a /proc that shows a run's own processes", BIT(NATIVE_FULL), probe_proc, {"tmpfs"}},
    {"nesting",
     "no user namespace inside, set through that /proc",
     BIT(NATIVE_FULL),
     probe_nesting,
     {"proc"}},
    {"nesting-no-proc",
     "the same through the host's /proc",
     BIT(NATIVE_NO_PROC),
     probe_nesting_no_proc,
     {"namespaces"}},
    {"overlayfs", "a copy of a directory to change", BIT(OVERLAY), probe_overlay, {"pivot-root"}},
    {"terminal", "a terminal of its own", BIT(TTY), probe_terminal, {"tmpfs", "mount-clones"}},
    {"loopback", "a loopback of its own", BIT(LOOPBACK), probe_loopback, {"namespaces"}},
    {"cgroup", "limits on all processes of a run together", NATIVE | BIT(LIMITS), probe_cgroup},
    {"swap-limit", "a limit on memory that counts swap", BIT(LIMITS), probe_swap},
    {"process-limit",
     "a limit on processes without a cgroup",
     NATIVE_WALLED,
     probe_process_limit,
     {"user-namespace"}},
    {"cell-wasm", "the program around modules", WASM, probe_cell_wasm, {"pidfd", "close-range"}},
    {"compiler", "the program that compiles them", WASM, probe_compiler, {"pidfd", "close-range"}},
    {"cell-native",
     "the program around programs",
     NATIVE,
     probe_cell_native,
     {"pidfd", "close-range"}},
    {"cache-folder", "compiled code is kept", WASM, probe_cache_folder},
    {"state-folder", "runtimes and changes are kept", BIT(OVERLAY), probe_state_folder},
    {"config-folder", "the owner's settings", 0, probe_config_folder},
    {"python", "the interpreter", BIT(PYTHON), probe_python},
    {"node", "the interpreter", BIT(JAVASCRIPT), probe_javascript},
    {"bash", "the interpreter", BIT(BASH), probe_bash},
};

_Static_assert(ARRAY_SIZE(probes) <= PROBE_MAX, "PROBE_MAX holds them all");

const struct finding *checkup_find(const struct checkup *checkup, const char *id)
{
    for (size_t i = 0; i < checkup->count; i++)
        if (strcmp(checkup->findings[i].id, id) == 0)
            return &checkup->findings[i];
    return NULL;
}

static bool stands_in_the_way(const struct finding *finding)
{
    return finding->status == PROBE_MISSING || finding->status == PROBE_UNKNOWN;
}

/* The id of what must come first and is not there; NULL: it can be tried. */
static const char *find_obstacle(const struct checkup *checkup, const struct probe *probe)
{
    for (size_t i = 0; i < ARRAY_SIZE(probe->after); i++) {
        const char *after = probe->after[i];
        const struct finding *before = after ? checkup_find(checkup, after) : NULL;
        if (before && stands_in_the_way(before))
            return before->waits_for ? before->waits_for : before->id;
    }
    return NULL;
}

/* The other rung does without it, for modules as for programs. */
static bool is_wall_of_full(const struct probe *probe)
{
    return (probe->needed_by & WALLED) == WALLED && !(probe->needed_by & BIT(WASM_LANDLOCK));
}

static int try_one(const struct scene *scene, const struct probe *probe, struct checkup *checkup,
                   struct err *err)
{
    struct finding *finding = &checkup->findings[checkup->count];

    *finding = (struct finding){.id = probe->id,
                                .what = probe->what,
                                .needed_by = probe->needed_by,
                                .waits_for = find_obstacle(checkup, probe)};
    if (finding->waits_for)
        finding_set(finding, PROBE_UNKNOWN, 0, "cannot be tried without '%s'", finding->waits_for);
    else if (probe_in_child(scene, probe->act, finding, err) < 0)
        return -1;
    if (finding->status == PROBE_MISSING && is_wall_of_full(probe))
        remedy_add_rung(finding->remedy);
    checkup->count++;
    return 0;
}

int probe_all(const struct places *places, const char *home, struct checkup *ret_checkup,
              struct err *err)
{
    const struct scene scene = {.places = places, .home = home, .host = &ret_checkup->host};
    uint32_t host_uid;
    _cleanup_fd_ int lock = -1;
    struct err no_uid;

    ret_checkup->count = 0;
    host_read(&ret_checkup->host);
    if (identity_choose(ISOLATION_FULL, places, &ret_checkup->identity, &host_uid, &lock, &no_uid) <
        0)
        ret_checkup->identity = IDENTITY_RANGE; /* the only one that can fail; its probe says why */
    cleanup_fd(&lock);
    lock = -1;
    for (size_t i = 0; i < ARRAY_SIZE(probes); i++)
        if (try_one(&scene, &probes[i], ret_checkup, err) < 0)
            return -1;
    return 0;
}

/* ---- judging --------------------------------------------------------------------------------- */

static void add_reason(struct verdict_of_use *verdict, const char *id)
{
    for (size_t i = 0; i < verdict->n_because; i++)
        if (strcmp(verdict->because[i], id) == 0)
            return;
    verdict->because[verdict->n_because++] = id;
}

/* What the use itself needs, whatever it stands on. */
static void judge_alone(const struct checkup *checkup, enum use use, struct verdict_of_use *verdict)
{
    for (size_t i = 0; i < checkup->count; i++) {
        const struct finding *finding = &checkup->findings[i];
        if (!(finding->needed_by & USE_BIT(use)))
            continue;
        if (stands_in_the_way(finding) ||
            (uses[use].is_strict && finding->status == PROBE_DEGRADED))
            add_reason(verdict, finding->waits_for ? finding->waits_for : finding->id);
    }
}

void checkup_judge(const struct checkup *checkup, enum use use, struct verdict_of_use *ret_verdict)
{
    struct verdict_of_use first = {.n_because = 0};
    bool has_ground = uses[use].on_top_of == 0;

    for (unsigned int ground = 0; ground < USES && !has_ground; ground++) {
        struct verdict_of_use below = {.n_because = 0};
        if (!(uses[use].on_top_of & USE_BIT(ground)))
            continue;
        judge_alone(checkup, (enum use) ground, &below);
        has_ground = below.n_because == 0;
        if (first.n_because == 0)
            first = below;
    }
    *ret_verdict = (struct verdict_of_use){.n_because = 0};
    for (size_t i = 0; i < first.n_because && !has_ground; i++)
        add_reason(ret_verdict, first.because[i]);
    judge_alone(checkup, use, ret_verdict);
    ret_verdict->usable = ret_verdict->n_because == 0;
}

enum cgroup_kind checkup_limits(const struct checkup *checkup)
{
    const struct finding *cgroup = checkup_find(checkup, "cgroup");

    return cgroup && cgroup->status == PROBE_OK ? (enum cgroup_kind) cgroup->number : CGROUP_NONE;
}

/* ---- names ----------------------------------------------------------------------------------- */

const char *use_name(enum use use)
{
    return uses[use].name;
}

const char *use_about(enum use use)
{
    return uses[use].about;
}

const char *probe_status_name(enum probe_status status)
{
    static const char *const names[PROBE_STATUSES] = {
        [PROBE_OK] = "ok",
        [PROBE_MISSING] = "missing",
        [PROBE_DEGRADED] = "degraded",
        [PROBE_UNKNOWN] = "unknown",
        [PROBE_NOT_NEEDED] = "not-needed",
    };
    return names[status];
}
