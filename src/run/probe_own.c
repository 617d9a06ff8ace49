/*
 * What belongs to wasp, or should be installed: its programs, its folders, interpreters.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "plan/tell.h"
#include "run/probing.h"
#include "run/spawn.h"

/* ---- programs -------------------------------------------------------------------------------- */

/* A program that could not be started has said so before child_start came back. */
static bool has_failed(int tell, struct err *err)
{
    struct tell message;
    ssize_t n = recv(tell, &message, sizeof(message), MSG_DONTWAIT);

    if (n != (ssize_t) (offsetof(struct tell, failed) + sizeof(message.failed)) ||
        message.kind != TELL_FAILED || strcmp(message.failed.step, "spawn") != 0)
        return false; /* whatever it says later, it runs */
    *err = message.failed;
    return true;
}

/* Starts it as a cell without namespaces, which waits for its plan, and lets it go. */
static void start_program(const struct scene *scene, const char *name, struct finding *finding)
{
    const struct child_program program = {
        .dir = scene->places->program_dir,
        .name = name,
        .isolation = ISOLATION_LANDLOCK,
        .identity = IDENTITY_CALLER,
    };
    _cleanup_(child_release) struct child child = CHILD_NONE;
    struct err err;

    if (child_start(&program, &child, &err) == 0 && !has_failed(child.tell, &err)) {
        finding_note(finding, "%s/%s", program.dir, name);
    } else {
        finding_set(finding, PROBE_MISSING, 0, "%s", err.message);
        finding_advise(finding, REMEDY_PROGRAMS, NULL);
    }
    cleanup_fd(&child.tell); /* nothing will come: it ends, even where pidfds cannot kill */
    child.tell = -1;
}

void probe_cell_wasm(const struct scene *scene, struct finding *finding)
{
    start_program(scene, "wasp-cell-wasm", finding);
}

void probe_cell_native(const struct scene *scene, struct finding *finding)
{
    start_program(scene, "wasp-cell", finding);
}

void probe_compiler(const struct scene *scene, struct finding *finding)
{
    start_program(scene, "wasp-compile", finding);
}

/* ---- folders --------------------------------------------------------------------------------- */

/* The folder itself, or the nearest one above that is there: it would be made in that. */
static int open_nearest(char *path, bool *ret_is_itself)
{
    *ret_is_itself = true;
    for (;;) {
        int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        char *slash = strrchr(path, '/');
        if (fd >= 0 || errno != ENOENT || !slash)
            return fd;
        slash[slash == path] = '\0'; /* the first one is the root itself */
        *ret_is_itself = false;
    }
}

/* A file without a name leaves nothing; where there are none, the kernel is asked instead. */
static bool is_writable(int folder)
{
    _cleanup_fd_ int fd = openat(folder, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);

    if (fd >= 0)
        return true;
    if (errno != EOPNOTSUPP && errno != EISDIR)
        return false;
    return faccessat(folder, ".", W_OK | X_OK, AT_EACCESS) == 0;
}

static void look_at_folder(const char *folder, enum probe_status bad, struct finding *finding)
{
    char path[PATH_MAX];
    bool is_itself;
    struct stat st;

    if (!folder || strlen(folder) >= sizeof(path)) {
        finding_set(finding, bad, 0, "there is no place for it: HOME is not set");
        finding_advise(finding, REMEDY_NO_HOME, NULL);
        return;
    }
    memcpy(path, folder, strlen(folder) + 1);
    finding_note(finding, "%s", folder);
    _cleanup_fd_ int fd = open_nearest(path, &is_itself);
    if (fd < 0 || fstat(fd, &st) < 0 || !is_writable(fd)) {
        finding_set(finding, bad, errno, "%s", path);
        finding_advise(finding, REMEDY_FOLDER_WRITE, path);
    } else if (is_itself && (st.st_uid != geteuid() || (st.st_mode & 077) != 0)) {
        finding_set(finding, bad, 0, "%s is not yours alone (uid %u, mode %04o)", folder, st.st_uid,
                    st.st_mode & 07777);
        finding_advise(finding, REMEDY_FOLDER_OWNER, folder);
    } else if (!is_itself) {
        finding_note(finding, "%s, made when it is needed", folder);
    }
}

/* Without it each run compiles anew. */
void probe_cache_folder(const struct scene *scene, struct finding *finding)
{
    look_at_folder(scene->places->cache_dir, PROBE_DEGRADED, finding);
}

void probe_state_folder(const struct scene *scene, struct finding *finding)
{
    look_at_folder(scene->places->state_dir, PROBE_MISSING, finding);
}

/* It is only read, but who can write there says what is allowed: a policy in it is then refused. */
void probe_config_folder(const struct scene *scene, struct finding *finding)
{
    const char *folder = scene->places->config_dir;
    struct stat st;

    if (!folder || stat(folder, &st) < 0) {
        finding_set(finding, PROBE_NOT_NEEDED, 0, "%s%sthere is none", folder ? folder : "",
                    folder ? ": " : "");
        return;
    }
    finding_note(finding, "%s", folder);
    if ((st.st_uid == geteuid() || st.st_uid == 0) && (st.st_mode & 022) == 0)
        return;
    finding_set(finding, PROBE_DEGRADED, 0, "others can write to %s (uid %u, mode %04o)", folder,
                st.st_uid, st.st_mode & 07777);
    finding_advise(finding, REMEDY_FOLDER_OWNER, folder);
}

/* ---- interpreters ---------------------------------------------------------------------------- */

/* A cell sees these, and Debian's links through the second. */
static const char *const visible[] = {"/usr/", "/etc/alternatives/", "/bin/", "/sbin/", "/lib"};

static bool is_visible(const char *path)
{
    for (size_t i = 0; i < ARRAY_SIZE(visible); i++)
        if (strncmp(path, visible[i], strlen(visible[i])) == 0)
            return true;
    return false;
}

static bool is_program(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* The first on the path that every cell has. */
static bool find_program(const char *name, char path[PATH_MAX])
{
    static const char folders[] = CELL_PATH;

    for (const char *at = folders; *at;) {
        size_t len = strcspn(at, ":");
        (void) snprintf(path, PATH_MAX, "%.*s/%s", (int) len, at, name); /* fits */
        if (is_program(path))
            return true;
        at += len + (at[len] == ':');
    }
    return false;
}

static void find_interpreter(const char *name, const char *package, struct finding *finding)
{
    char path[PATH_MAX], real[PATH_MAX];

    if (!find_program(name, path)) {
        finding_set(finding, PROBE_MISSING, 0, "no %s on %s", name, CELL_PATH);
        finding_advise(finding, REMEDY_INTERPRETER, package);
        return;
    }
    const char *leads_to = realpath(path, real) ? real : "nowhere";
    if (is_visible(leads_to)) {
        finding_note(finding, "%s", path);
        return;
    }
    finding_set(finding, PROBE_MISSING, 0, "%s leads to %s, which a cell does not see", path,
                leads_to);
    finding_advise(finding, REMEDY_INTERPRETER_OUTSIDE, NULL);
}

void probe_python(const struct scene *scene, struct finding *finding)
{
    (void) scene; /* the path is the same for everybody */
    find_interpreter("python3", "python3", finding);
}

void probe_javascript(const struct scene *scene, struct finding *finding)
{
    (void) scene; /* likewise */
    find_interpreter("node", "nodejs", finding);
}

void probe_bash(const struct scene *scene, struct finding *finding)
{
    (void) scene; /* likewise */
    find_interpreter("bash", "bash", finding);
}
