/*
 * Pins as a native cell makes them: in a user and mount namespace of its own, over a tree on the
 * host. A child tries each act there and hands back what the kernel answered.
 */
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mount.h"
#include "cell/cell.h"
#include "run/protect.h"

#define ORDINARY_UID 12345
#define GRANT 2

static char root[] = "/tmp/wasp-pins.XXXXXX";

static void die(const char *what)
{
    printf("Bail out! %s: %s\n", what, strerror(errno));
    exit(1);
}

/* ---- acts: 0, or errno ----------------------------------------------------------------------- */

static int result(int returned)
{
    return returned < 0 ? errno : 0;
}

static int act_open(const char *path, int flags)
{
    int fd = open(path, flags | O_CLOEXEC, 0644);
    int number = result(fd);

    if (fd >= 0)
        (void) close(fd); /* nothing was written */
    return number;
}
static int act_read(const char *path, const char *other)
{
    (void) other;
    return act_open(path, O_RDONLY);
}
static int act_write(const char *path, const char *other)
{
    (void) other;
    return act_open(path, O_WRONLY);
}
static int act_truncate(const char *path, const char *other)
{
    (void) other;
    return result(truncate(path, 0));
}
static int act_create(const char *path, const char *other)
{
    (void) other;
    return act_open(path, O_WRONLY | O_CREAT | O_EXCL);
}
static int act_unlink(const char *path, const char *other)
{
    (void) other;
    return result(unlink(path));
}
static int act_rmdir(const char *path, const char *other)
{
    (void) other;
    return result(rmdir(path));
}
static int act_chmod(const char *path, const char *other)
{
    (void) other;
    return result(chmod(path, 0700));
}
static int act_touch(const char *path, const char *other)
{
    (void) other;
    return result(utimensat(AT_FDCWD, path, NULL, 0));
}
static int act_rename(const char *path, const char *other)
{
    return result(rename(path, other));
}
static int act_exchange(const char *path, const char *other)
{
    return result(renameat2(AT_FDCWD, path, AT_FDCWD, other, RENAME_EXCHANGE));
}
static int act_link(const char *path, const char *other)
{
    return result(link(path, other));
}
static int act_connect(const char *path, const char *other)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    _cleanup_fd_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void) other;
    (void) snprintf(address.sun_path, sizeof(address.sun_path), "%s", path); /* short */
    return result(connect(fd, (const struct sockaddr *) &address, sizeof(address)));
}

/* In this order, in the directory that holds the grant "m". */
static const struct {
    const char *what;
    int (*act)(const char *path, const char *other);
    const char *path, *other;
    int expected;
} acts[] = {
    {"a protected file is read", act_read, "m/a/b/.envrc", NULL, 0},
    {"it is not written", act_write, "m/a/b/.envrc", NULL, EROFS},
    {"it is not truncated", act_truncate, "m/a/b/.envrc", NULL, EROFS},
    {"its mode is not changed", act_chmod, "m/a/b/.envrc", NULL, EROFS},
    {"nor its times", act_touch, "m/a/b/.envrc", NULL, EROFS},
    {"it is not removed", act_unlink, "m/a/b/.envrc", NULL, EBUSY},
    {"it is not moved away", act_rename, "m/a/b/.envrc", "m/a/b/x", EBUSY},
    {"it is not replaced", act_rename, "m/a/b/other", "m/a/b/.envrc", EBUSY},
    {"it is not exchanged", act_exchange, "m/a/b/other", "m/a/b/.envrc", EBUSY},
    {"it gets no second name", act_link, "m/a/b/.envrc", "m/a/b/x", EXDEV},
    {"the file beside it is written", act_write, "m/a/b/other", NULL, 0},
    {"and gets a second name", act_link, "m/a/b/other", "m/a/b/second", 0},
    {"and is moved", act_rename, "m/a/b/second", "m/a/b/third", 0},
    {"and is removed", act_unlink, "m/a/b/third", NULL, 0},
    {"a file is made beside it", act_create, "m/a/b/new", NULL, 0},
    {"the directory that holds it is not moved away", act_rename, "m/a/b", "m/a/x", EBUSY},
    {"nor the one above", act_rename, "m/a", "m/x", EBUSY},
    {"nor exchanged", act_exchange, "m/plain", "m/a", EBUSY},
    {"nor removed", act_rmdir, "m/a", NULL, EBUSY},
    {"a directory that holds nothing protected is moved", act_rename, "m/plain", "m/x", 0},

    {"in a protected directory a file is read", act_read, "m/.vscode/tasks.json", NULL, 0},
    {"but not written", act_write, "m/.vscode/tasks.json", NULL, EROFS},
    {"nor removed", act_unlink, "m/.vscode/tasks.json", NULL, EROFS},
    {"nor made", act_create, "m/.vscode/new", NULL, EROFS},
    {"nor moved there", act_rename, "m/file", "m/.vscode/file", EXDEV},
    {"nor made in what is mounted in it", act_create, "m/.vscode/mounted/new", NULL, EROFS},
    {"and it is not moved itself", act_rename, "m/.vscode", "m/v", EBUSY},

    {".git is not moved", act_rename, "m/.git", "m/git", EBUSY},
    {"nor exchanged for another", act_exchange, "m/x", "m/.git", EBUSY},
    {"git makes a lock", act_create, "m/.git/index.lock", NULL, 0},
    {"and renames it over the index", act_rename, "m/.git/index.lock", "m/.git/index", 0},
    {"and writes an object", act_create, "m/.git/objects/ab", NULL, 0},
    {"another lock", act_create, "m/.git/config.lock", NULL, 0},
    {"does not become the config", act_rename, "m/.git/config.lock", "m/.git/config", EBUSY},
    {"which is not written", act_write, "m/.git/config", NULL, EROFS},
    {"a hook is not made", act_create, "m/.git/hooks/post-merge", NULL, EROFS},
    {"nor its directory moved away", act_rename, "m/.git/hooks", "m/.git/hooks2", EBUSY},
    {".git as a file is not written", act_write, "m/sub/.git", NULL, EROFS},
    {"nor replaced", act_rename, "m/sub/other", "m/sub/.git", EBUSY},

    {"a socket of the host is not found", act_connect, "m/socket", NULL, ECONNREFUSED},
    {"nor moved to be found elsewhere", act_rename, "m/socket", "m/s", EBUSY},
    {"nor linked", act_link, "m/socket", "m/s", EXDEV},
    {"one that is not masked is", act_connect, "g/socket", NULL, 0},
};

/* ---- the tree, and what holds it ------------------------------------------------------------- */

static void plant(void)
{
    static const char *const folders[] = {"g",
                                          "m",
                                          "g/a",
                                          "g/a/b",
                                          "g/.vscode",
                                          "g/.vscode/mounted",
                                          "g/.git",
                                          "g/.git/hooks",
                                          "g/.git/objects",
                                          "g/sub",
                                          "g/plain"};
    static const char *const files[] = {
        "mask",          "g/file",       "g/a/b/.envrc", "g/a/b/other", "g/.vscode/tasks.json",
        "g/.git/config", "g/.git/index", "g/sub/.git",   "g/sub/other"};

    for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
        if (mkdir(folders[i], 0755) < 0)
            die(folders[i]);
    for (size_t i = 0; i < ARRAY_SIZE(files); i++)
        if (act_create(files[i], NULL) != 0)
            die(files[i]);
}

static int listen_at(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void) snprintf(address.sun_path, sizeof(address.sun_path), "%s", path); /* short */
    if (fd < 0 || bind(fd, (const struct sockaddr *) &address, sizeof(address)) < 0 ||
        listen(fd, 8) < 0)
        die(path);
    return fd;
}

static bool write_text(const char *path, const char *text)
{
    _cleanup_fd_ int fd = open(path, O_WRONLY | O_CLOEXEC);

    return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t) strlen(text);
}

/* As a cell does it for IDENTITY_USER. */
static bool enter_namespaces(void)
{
    char map[32];
    unsigned int uid = geteuid(), gid = getegid();

    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
        return false;
    (void) snprintf(map, sizeof(map), "%u %u 1", CELL_UID, uid); /* fits */
    bool is_mapped = write_text("/proc/self/uid_map", map);
    (void) snprintf(map, sizeof(map), "%u %u 1", CELL_UID, gid); /* fits */
    return is_mapped && write_text("/proc/self/setgroups", "deny") &&
           write_text("/proc/self/gid_map", map);
}

/* The grant "g", with a mount in it, becomes "m" and is pinned. */
static int pin_all(const struct protect_pins *pins, int *ret_mount, struct err *err)
{
    if (mount("tmpfs", "g/.vscode/mounted", "tmpfs", 0, NULL) < 0)
        return err_sys(err, ERR_HOST, "tmpfs");
    _cleanup_fd_ int dir = open("g", O_PATH | O_DIRECTORY | O_CLOEXEC);
    _cleanup_fd_ int mask = open("mask", O_PATH | O_CLOEXEC);
    int mount = -1;
    if (mount_detach(dir, "g", mount_attributes(false, true), -1, &mount, err) < 0)
        return -1;
    *ret_mount = mount;
    if (mount_attach(mount, AT_FDCWD, "m") < 0)
        return err_sys(err, ERR_HOST, "attach");
    return cell_pin(mount, pins->pins, pins->count, GRANT, mask, err);
}

/* What the child hands back. */
struct answers {
    bool entered;
    struct err err;
    int numbers[ARRAY_SIZE(acts)];
    int another_grant, gone, link; /* what cell_pin says of other pins */
    struct err link_err;
};

static void try_others(int mount, struct answers *answers)
{
    struct plan_pin pins[] = {{.grant = GRANT + 1, .kind = PIN_READ_ONLY, .path = "file"},
                              {.grant = GRANT + 2, .kind = PIN_READ_ONLY, .path = "no/where"},
                              {.grant = GRANT + 3, .kind = PIN_READ_ONLY, .path = "link/b"}};
    struct err err;

    answers->another_grant = cell_pin(mount, pins, ARRAY_SIZE(pins), GRANT, -1, &err) == 0
                                 ? act_write("m/file", NULL)
                                 : -1;
    answers->gone = cell_pin(mount, pins, ARRAY_SIZE(pins), GRANT + 2, -1, &err);
    if (symlink("a", "m/link") < 0)
        die("link");
    answers->link = cell_pin(mount, pins, ARRAY_SIZE(pins), GRANT + 3, -1, &answers->link_err);
}

static void run_child(const struct protect_pins *pins, struct answers *answers)
{
    int mount = -1;

    answers->entered = enter_namespaces();
    if (!answers->entered || pin_all(pins, &mount, &answers->err) < 0)
        return;
    for (size_t i = 0; i < ARRAY_SIZE(acts); i++)
        answers->numbers[i] = acts[i].act(acts[i].path, acts[i].other);
    try_others(mount, answers);
}

static struct answers ask_child(const struct protect_pins *pins)
{
    struct answers answers = {.entered = false};
    int pipes[2];

    (void) fflush(stdout); /* or the child has it too */
    if (pipe(pipes) < 0)
        die("pipe");
    pid_t child = fork();
    if (child == 0) {
        run_child(pins, &answers);
        _exit(write(pipes[1], &answers, sizeof(answers)) != sizeof(answers));
    }
    (void) close(pipes[1]); /* the child's */
    if (read(pipes[0], &answers, sizeof(answers)) != sizeof(answers) || waitpid(child, NULL, 0) < 0)
        die("child");
    (void) close(pipes[0]); /* read */
    return answers;
}

/* ---- the test -------------------------------------------------------------------------------- */

/* What the acts were allowed to make. */
#define MADE 4

static size_t n_entries;

static int count_one(const char *path, const struct stat *st, int kind, struct FTW *where)
{
    (void) path;
    (void) st;
    (void) kind;
    (void) where;
    n_entries++;
    return 0;
}

static size_t count_entries(void)
{
    n_entries = 0;
    if (nftw(".", count_one, 16, FTW_PHYS) != 0)
        die("nftw");
    return n_entries;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *where)
{
    (void) st;
    (void) kind;
    (void) where;
    return remove(path);
}

static void test_acts(const char *who, const struct answers *answers)
{
    for (size_t i = 0; i < ARRAY_SIZE(acts); i++)
        if (!ok(answers->numbers[i] == acts[i].expected, "%s: %s (%s)", who, acts[i].what,
                acts[i].path))
            printf("# answered %s\n", strerror(answers->numbers[i]));
    ok(answers->another_grant == 0, "%s: a pin of another grant is left alone", who);
    ok(answers->gone == 0, "%s: a name that is gone by now is none to hold", who);
    ok(answers->link == -1 && answers->link_err.code == ERR_DENIED &&
           strstr(answers->link_err.message, "symbolic link") != NULL,
       "%s: one that became a link is refused", who);
}

static void test_as(const char *who)
{
    const struct protect_want want = {.grant = GRANT, .names = true, .sockets = true};
    struct protect_pins pins = {.count = 0};
    struct arena *arena = arena_new();
    struct err err;

    if (mkdtemp(strcpy(root, "/tmp/wasp-pins.XXXXXX")) == NULL || chdir(root) < 0 || !arena)
        die(root);
    plant();
    int listener = listen_at("g/socket");
    _cleanup_fd_ int dir = open("g", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (protect_scan(dir, "g", &want, arena, &pins, &err) < 0)
        die(err.message);
    size_t before = count_entries();
    struct answers answers = ask_child(&pins);
    if (!answers.entered)
        skip("%s: no user namespace can be made here", who);
    else if (ok(answers.err.code == ERR_NONE, "%s: the names are pinned", who))
        test_acts(who, &answers);
    else
        printf("# %s\n", answers.err.message);
    ok(count_entries() == before + (answers.entered ? MADE : 0),
       "%s: nothing is left on the host but what was allowed", who);
    arena_free(arena);
    (void) close(listener); /* nobody connects any more */
    if (chdir("/") < 0 || nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS) != 0)
        die(root);
}

int main(void)
{
    test_as(geteuid() == 0 ? "as root" : "as a user");
    if (geteuid() != 0)
        return done();
    if (setresgid(ORDINARY_UID, ORDINARY_UID, ORDINARY_UID) < 0 ||
        setresuid(ORDINARY_UID, ORDINARY_UID, ORDINARY_UID) < 0 ||
        prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0) /* or /proc/self is root's */
        die("cannot become an ordinary user");
    test_as("as a user");
    return done();
}
