/* What holds between the parts of a request, declared in request.h with the other judges. */
#include <string.h>

#include "base/cleanup.h"
#include "plan/request.h"

static bool has_access(const struct request *request, enum access access)
{
    for (size_t i = 0; i < request->n_dirs; i++)
        if (request->dirs[i].access == access)
            return true;
    return false;
}

static bool has_overlay(const struct request *request)
{
    return has_access(request, ACCESS_OVERLAY);
}

static bool has_rootfs(const struct request *request)
{
    return request->rootfs != NULL;
}

static bool has_tty(const struct request *request)
{
    return request->tty;
}

static bool has_loopback(const struct request *request)
{
    return request->network == NETWORK_LOOPBACK;
}

static bool has_proc(const struct request *request)
{
    return request->proc_given;
}

static bool has_disk(const struct request *request)
{
    return request->limits.given[LIMIT_DISK];
}

static bool has_processes(const struct request *request)
{
    return request->limits.given[LIMIT_PROCESSES];
}

static bool has_other_place(const struct request *request)
{
    for (size_t i = 0; i < request->n_dirs; i++)
        if (!request->dirs[i].plain && strcmp(request->dirs[i].guest, request->dirs[i].host) != 0)
            return true;
    return false;
}

static bool has_no_memory(const struct request *request)
{
    return request->limits.value[LIMIT_MEMORY] < (1U << 20);
}

static bool has_disk_and_rw(const struct request *request)
{
    return has_disk(request) && has_access(request, ACCESS_RW);
}

static bool has_apply_alone(const struct request *request)
{
    return (request->apply != APPLY_NEVER || request->diff) && !has_overlay(request);
}

static bool has_unprotected_alone(const struct request *request)
{
    return request->n_unprotected > 0 && !has_access(request, ACCESS_RW) && !has_overlay(request);
}

static bool has_door(const struct request *request)
{
    return request->n_capabilities > 0 || request->n_commands > 0;
}

static bool has_capability(const struct request *request, enum capability capability)
{
    for (size_t i = 0; i < request->n_capabilities; i++)
        if (request->capabilities[i].capability == capability)
            return true;
    return false;
}

static bool has_exec_alone(const struct request *request)
{
    return has_capability(request, CAPABILITY_EXEC_RUN) && request->n_commands == 0;
}

static bool has_commands_alone(const struct request *request)
{
    return request->n_commands > 0 && !has_capability(request, CAPABILITY_EXEC_RUN);
}

/* fs_read or fs_write for the request's own directories, of which none is there for that. */
static bool has_files_alone(const struct request *request)
{
    for (size_t i = 0; i < request->n_capabilities; i++) {
        const struct request_capability *one = &request->capabilities[i];
        if (!one->path &&
            ((one->capability == CAPABILITY_FS_READ && request->n_dirs == 0) ||
             (one->capability == CAPABILITY_FS_WRITE && !has_access(request, ACCESS_RW))))
            return true;
    }
    return false;
}

enum scope { EVERYWHERE, NATIVE, NATIVE_LANDLOCK };

/*
 * What was asked for and cannot be had, or would mean nothing. The landlock rung has no namespaces,
 * and so nothing that a mount, a network or a count of one's own is needed for.
 */
static const struct conflict {
    enum scope scope;
    bool (*asked)(const struct request *request);
    const char *why;
    const char *hint;
} conflicts[] = {
    {EVERYWHERE, has_unprotected_alone,
     "a name is unprotected, but no directory can be changed: it would mean nothing",
     "leave it out, or grant the directory that it is about for writing"},
    {NATIVE, has_door,
     "capabilities and commands are for wasm guests: a native program has no door to ask at",
     "leave them out, and grant it directories"},
    {EVERYWHERE, has_exec_alone, "'exec_run' is asked for, but no command: it could run nothing",
     "name what it may run: --command 'PROGRAM ARGS' ('commands')"},
    {EVERYWHERE, has_commands_alone,
     "commands are named, but 'exec_run' is not asked for: nothing could run them",
     "ask for it: --capability exec_run ('capabilities')"},
    {EVERYWHERE, has_files_alone,
     "'fs_read' or 'fs_write' is asked for without a path, but no directory is granted for that",
     "grant a directory, or name the path: --capability fs_read=PATH"},
    {NATIVE, has_apply_alone,
     "changes are to be applied or shown, but no directory is an overlay: there will be none",
     "grant the directory as HOST::GUEST:overlay ('access': 'overlay'), or leave it out"},
    {NATIVE, has_no_memory, "a native program does not start in less than 1 MiB of memory",
     "write a unit: --memory 64MiB ('memory_bytes' counts bytes)"},
    {NATIVE, has_disk_and_rw,
     "a disk limit cannot be held where a directory is read-write: the guest writes there to the "
     "host's own disk",
     "grant the directory as an overlay or read-only, or leave the disk limit out"},
    {NATIVE_LANDLOCK, has_overlay,
     "isolation 'landlock' has no overlay directories: without a mount namespace there is nothing "
     "to lay over",
     "grant it read-only or read-write, or take isolation 'full'"},
    {NATIVE_LANDLOCK, has_other_place,
     "isolation 'landlock' shows a directory where it is on the host and nowhere else: without a "
     "mount namespace it cannot have another path",
     "grant it as a plain path or as PATH::PATH with the same absolute path, or take isolation "
     "'full'"},
    {NATIVE_LANDLOCK, has_rootfs,
     "isolation 'landlock' has no root of its own: without a mount namespace the guest sees the "
     "host's",
     "take isolation 'full'"},
    {NATIVE_LANDLOCK, has_tty,
     "isolation 'landlock' has no terminals: they would be made in the host's /dev",
     "take isolation 'full'"},
    {NATIVE_LANDLOCK, has_loopback,
     "isolation 'landlock' has no loopback of its own: without a network namespace it would be the "
     "host's",
     "take isolation 'full'"},
    {NATIVE_LANDLOCK, has_proc,
     "isolation 'landlock' has no /proc of its own: without a pid namespace it would show the "
     "host's processes",
     "leave it out: nothing of /proc can be opened there"},
    {NATIVE_LANDLOCK, has_disk,
     "isolation 'landlock' has no scratch space that a disk limit could bound",
     "leave it out, or take isolation 'full'"},
    {NATIVE_LANDLOCK, has_processes,
     "isolation 'landlock' cannot count the processes of one run: without a user namespace they "
     "are counted with all others of the caller",
     "leave it out, or take isolation 'full'"},
};

static bool is_within(const struct request *request, enum scope scope)
{
    if (scope == EVERYWHERE)
        return true;
    return request->backend == BACKEND_NATIVE &&
           (scope == NATIVE || request->isolation == ISOLATION_LANDLOCK);
}

int request_check(const struct request *request, struct err *err)
{
    for (size_t i = 0; i < ARRAY_SIZE(conflicts); i++) {
        const struct conflict *conflict = &conflicts[i];
        if (!is_within(request, conflict->scope) || !conflict->asked(request))
            continue;
        (void) err_set(err, ERR_REQUEST, "%s", conflict->why); /* -1, as below */
        return err_hint(err, "%s", conflict->hint);
    }
    return 0;
}
