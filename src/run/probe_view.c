/*
 * What of the host, or like it, a native guest finds in its view: devices, /proc, overlays,
 * terminals.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/mount.h"
#include "run/probing.h"

#ifndef TIOCGPTPEER
#define TIOCGPTPEER 0x5441
#endif

/* ---- devices --------------------------------------------------------------------------------- */

static const char *const devices[] = {"null", "zero", "full", "random", "urandom"};

/* The host's own node, since a user namespace can make none. It must be one. */
static int clone_device(const char *name)
{
    _cleanup_fd_ int folder = open("/dev", O_PATH | O_DIRECTORY | O_CLOEXEC);
    _cleanup_fd_ int clone = mount_clone(folder, name);
    struct stat st;

    if (clone < 0 || fstat(clone, &st) < 0)
        return -1;
    if (!S_ISCHR(st.st_mode)) {
        errno = ENODEV;
        return -1;
    }
    return take_fd(&clone);
}

/* On a file of our own root, as in a cell. */
static int use_device(int clone, const char *name)
{
    _cleanup_fd_ int own = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    _cleanup_fd_ int place = openat(own, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
    char byte;

    if (place < 0 || mount_attach(clone, own, name) < 0)
        return -1;
    _cleanup_fd_ int opened = openat(own, name, O_RDWR | O_CLOEXEC);
    return opened < 0 || read(opened, &byte, 1) < 0 ? -1 : 0;
}

static void refuse_device(const char *name, struct finding *finding)
{
    finding_set(finding, PROBE_MISSING, errno, "using the host's /dev/%s", name);
    finding_advise(finding, REMEDY_DEVICES, NULL);
}

static void take_devices(const struct scene *scene, struct finding *finding)
{
    int clones[ARRAY_SIZE(devices)]; /* until the child ends */

    if (birth_enter(scene, finding) < 0)
        return;
    for (size_t i = 0; i < ARRAY_SIZE(devices); i++) {
        clones[i] = clone_device(devices[i]);
        if (clones[i] < 0) {
            refuse_device(devices[i], finding);
            return;
        }
    }
    if (birth_enter_root(scene, finding) < 0)
        return;
    for (size_t i = 0; i < ARRAY_SIZE(devices); i++) {
        if (use_device(clones[i], devices[i]) < 0) {
            refuse_device(devices[i], finding);
            return;
        }
    }
}

void probe_devices(const struct scene *scene, struct finding *finding)
{
    born_in_user_namespace(scene, finding, take_devices);
}

/* ---- /proc ----------------------------------------------------------------------------------- */

/* The kernel makes none where the host's is covered in parts: it would show what is covered. */
static void make_proc(const struct scene *scene, struct finding *finding)
{
    struct stat st;

    if (birth_enter(scene, finding) < 0)
        return;
    _cleanup_fd_ int proc = mount_new("proc", NULL, 0, MOUNT_TAME | MOUNT_ATTR_NOEXEC);
    if (proc < 0) {
        bool is_masked = errno == EPERM;
        finding_mount_failed(finding, scene, "a /proc of its own");
        if (is_masked)
            finding_advise(finding, REMEDY_PROC, NULL);
    } else if (fstatat(proc, "1/status", &st, 0) < 0) {
        finding_set(finding, PROBE_MISSING, errno, "a /proc of its own shows no process");
        finding_advise(finding, REMEDY_PROC, NULL);
    }
}

void probe_proc(const struct scene *scene, struct finding *finding)
{
    born_in_user_namespace(scene, finding, make_proc);
}

/* ---- overlay --------------------------------------------------------------------------------- */

static int make_layers(void)
{
    static const char *const folders[] = {"/lower", "/lower/folder", "/upper", "/work"};

    for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
        if (mkdir(folders[i], 0755) < 0)
            return -1;
    _cleanup_fd_ int fd = open("/lower/folder/file", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    return fd < 0 ? -1 : 0;
}

/*
 * A folder that is removed and made anew hides what was in it: that takes a whiteout and an
 * extended attribute in the upper layer.
 */
static void use_overlay(const struct scene *scene, struct finding *finding)
{
    static const struct mount_option options[] = {
        {"lowerdir", "/lower"}, {"upperdir", "/upper"}, {"workdir", "/work"}, {"userxattr", NULL}};

    if (birth_enter(scene, finding) < 0 || birth_enter_root(scene, finding) < 0)
        return;
    int made = make_layers();
    _cleanup_fd_ int merged =
        made < 0 ? -1 : mount_new("overlay", options, ARRAY_SIZE(options), MOUNT_TAME);
    if (merged < 0) {
        bool has_no_module = errno == ENODEV;
        finding_mount_failed(finding, scene, "an overlay in a user namespace");
        finding_advise(finding, has_no_module ? REMEDY_MODULE : REMEDY_OVERLAY, "overlay");
    } else if (unlinkat(merged, "folder/file", 0) < 0 ||
               unlinkat(merged, "folder", AT_REMOVEDIR) < 0 ||
               mkdirat(merged, "folder", 0755) < 0) {
        finding_set(finding, PROBE_MISSING, errno, "replacing a folder in an overlay on a tmpfs");
        finding_advise(finding, REMEDY_OVERLAY, NULL);
    } else if (faccessat(merged, "folder/file", F_OK, 0) == 0) {
        finding_set(finding, PROBE_MISSING, 0, "a new folder in an overlay shows the old contents");
        finding_advise(finding, REMEDY_OVERLAY, NULL);
    }
}

void probe_overlay(const struct scene *scene, struct finding *finding)
{
    born_in_user_namespace(scene, finding, use_overlay);
}

/* ---- terminals ------------------------------------------------------------------------------- */

static int open_terminal(int devpts)
{
    int unlocked = 0;
    char byte;
    _cleanup_fd_ int master = openat(devpts, "ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);

    if (master < 0 || ioctl(master, TIOCSPTLCK, &unlocked) < 0)
        return -1;
    _cleanup_fd_ int slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (slave < 0 || write(slave, "x", 1) != 1)
        return -1;
    return read(master, &byte, 1) == 1 && byte == 'x' ? 0 : -1;
}

static void use_terminal(const struct scene *scene, struct finding *finding)
{
    static const struct mount_option options[] = {
        {"newinstance", NULL}, {"ptmxmode", "0666"}, {"mode", "0620"}};

    if (birth_enter(scene, finding) < 0)
        return;
    _cleanup_fd_ int devpts =
        mount_new("devpts", options, ARRAY_SIZE(options), MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
    if (devpts < 0) {
        finding_mount_failed(finding, scene, "a devpts of its own");
        finding_advise(finding, REMEDY_TERMINAL, NULL);
    } else if (open_terminal(devpts) < 0) {
        finding_set(finding, PROBE_MISSING, errno, "a terminal of its own");
        finding_advise(finding, REMEDY_TERMINAL, NULL);
    }
    _cleanup_fd_ int tty = mount_clone(AT_FDCWD, "/dev/tty");
    if (tty < 0 && finding->status == PROBE_OK) {
        finding_set(finding, PROBE_MISSING, errno, "using the host's /dev/tty");
        finding_advise(finding, REMEDY_DEVICES, NULL);
    }
}

void probe_terminal(const struct scene *scene, struct finding *finding)
{
    born_in_user_namespace(scene, finding, use_terminal);
}
