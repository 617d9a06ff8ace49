/*
 * Looking through a tree for protected names, before and after a run.
 */
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "protect_rig.h"

/* ---- what is pinned -------------------------------------------------------------------------- */

struct expected {
    enum pin_kind kind;
    const char *path;
};

static const struct plan_pin *find(const struct protect_pins *pins, const char *path)
{
    for (size_t i = 0; i < pins->count; i++)
        if (strcmp(pins->pins[i].path, path) == 0)
            return &pins->pins[i];
    return NULL;
}

static bool has_all(const struct protect_pins *pins, const struct expected *expected, size_t n)
{
    bool same = pins->count == n;

    for (size_t i = 0; i < n; i++) {
        const struct plan_pin *pin = find(pins, expected[i].path);
        same = pin != NULL && pin->kind == expected[i].kind && same;
    }
    for (size_t i = 0; !same && i < pins->count; i++)
        printf("# found %d %s\n", (int) pins->pins[i].kind, pins->pins[i].path);
    return same;
}

/* A mount hides what was mounted beneath it before. */
static bool parents_first(const struct protect_pins *pins)
{
    for (size_t i = 0; i < pins->count; i++)
        for (size_t j = i + 1; j < pins->count; j++) {
            size_t len = strlen(pins->pins[j].path);
            if (strncmp(pins->pins[i].path, pins->pins[j].path, len) == 0 &&
                strchr("/", pins->pins[i].path[len]) != NULL)
                return false;
        }
    return true;
}

static const struct protect_want names_only = {.grant = 3, .names = true};

static void test_pins(struct arena *arena)
{
    static const char *const tree[] = {".git/hooks/pre-commit",
                                       ".git/config",
                                       ".git/objects/ab/cd",
                                       ".git/HEAD",
                                       "src/main.c",
                                       "a/b/.envrc",
                                       "a/b/.vscode/tasks.json",
                                       "a/.github/ci.yml",
                                       "sub/.git",
                                       "c/.config/fish/config.fish",
                                       "c/.config/other",
                                       "d/.config/other",
                                       "e/.git/",
                                       NULL};
    static const struct expected expected[] = {
        {PIN_PLACE, ".git"},
        {PIN_READ_ONLY, ".git/hooks"},
        {PIN_READ_ONLY, ".git/config"},
        {PIN_PLACE, "a"},
        {PIN_PLACE, "a/b"},
        {PIN_READ_ONLY, "a/b/.envrc"},
        {PIN_READ_ONLY, "a/b/.vscode"},
        {PIN_PLACE, "sub"},
        {PIN_READ_ONLY, "sub/.git"},
        {PIN_PLACE, "c"},
        {PIN_PLACE, "c/.config"},
        {PIN_READ_ONLY, "c/.config/fish"},
        {PIN_PLACE, "e"},
        {PIN_PLACE, "e/.git"},
    };
    _cleanup_fd_ int dir = new_tree();
    struct protect_pins pins = {.count = 0};
    struct err err;

    plant_all(tree);
    ok(protect_scan(dir, root, &names_only, arena, &pins, &err) == 0 &&
           has_all(&pins, expected, ARRAY_SIZE(expected)),
       "protected names are pinned, and the directories above them, and nothing else");
    ok(parents_first(&pins), "a directory is pinned before what is in it");
    ok(pins.count > 0 && pins.pins[0].grant == 3, "a pin names its grant");
}

static void test_root(struct arena *arena)
{
    static const char *const tree[] = {".git/config", ".git/index", NULL};
    static const struct expected expected[] = {{PIN_READ_ONLY, "config"}};
    int above = new_tree();
    struct protect_pins pins = {.count = 0};
    struct err err;

    plant_all(tree);
    _cleanup_fd_ int dir = openat(above, ".git", O_PATH | O_DIRECTORY | O_CLOEXEC);
    (void) close(above); /* only a path */
    ok(protect_scan(dir, "somewhere", &names_only, arena, &pins, &err) == 0 &&
           has_all(&pins, expected, ARRAY_SIZE(expected)),
       "a grant that is a .git is known as that by where it is");
    ok(protect_root(-1, "x/.git", NULL) == protect_root(dir, "x", NULL) &&
           protect_root(-1, "x", NULL) == PROTECTED_NOWHERE,
       "and by its name where /proc does not tell");
}

static void test_unprotected(struct arena *arena)
{
    static const char *const tree[] = {".git/hooks/x", ".git/config", "a/.envrc", NULL};
    static const char *const names[] = {".git/hooks", ".envrc", NULL};
    static const struct expected expected[] = {{PIN_PLACE, ".git"}, {PIN_READ_ONLY, ".git/config"}};
    const struct protect_want want = {.names = true, .unprotected = names};
    _cleanup_fd_ int dir = new_tree();
    struct protect_pins pins = {.count = 0};
    struct err err;

    plant_all(tree);
    ok(protect_scan(dir, root, &want, arena, &pins, &err) == 0 &&
           has_all(&pins, expected, ARRAY_SIZE(expected)),
       "a name that the owner gave is not pinned");
}

static void plant_socket(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    _cleanup_fd_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void) snprintf(address.sun_path, sizeof(address.sun_path), "%s", path); /* short */
    if (fd < 0 || bind(fd, (const struct sockaddr *) &address, sizeof(address)) < 0)
        die(path);
}

static void test_sockets(struct arena *arena)
{
    static const struct expected expected[] = {{PIN_MASK, "a/s"}, {PIN_MASK, ".ssh/s"}};
    static const struct expected both[] = {
        {PIN_MASK, "a/s"}, {PIN_READ_ONLY, ".ssh"}, {PIN_MASK, ".ssh/s"}};
    const struct protect_want sockets = {.sockets = true}, all = {.sockets = true, .names = true};
    _cleanup_fd_ int dir = new_tree();
    struct protect_pins pins = {.count = 0}, more = {.count = 0}, none = {.count = 0};
    struct err err;

    plant("a/");
    plant(".ssh/config");
    plant_socket("a/s");
    plant_socket(".ssh/s");
    if (mkfifo("a/fifo", 0600) < 0)
        die("fifo");
    ok(protect_scan(dir, root, &sockets, arena, &pins, &err) == 0 &&
           has_all(&pins, expected, ARRAY_SIZE(expected)),
       "sockets are masked where they are, a FIFO is not");
    ok(protect_scan(dir, root, &all, arena, &more, &err) == 0 &&
           has_all(&more, both, ARRAY_SIZE(both)) && parents_first(&more),
       "in a protected directory too");
    ok(protect_scan(dir, root, &names_only, arena, &none, &err) == 0 && none.count == 1,
       "unless nobody asked for them");
}

/* ---- hostile trees --------------------------------------------------------------------------- */

static void test_links(struct arena *arena)
{
    static const char *const links[] = {".git -> x", ".vscode -> ..", "a/.envrc -> nowhere",
                                        ".git/hooks -> ../x", "b/.config -> /etc"};
    const struct protect_want unheld = {.names = true, .unheld = true};
    const char *names[] = {".git", ".vscode", ".envrc", ".config", NULL};
    const struct protect_want named = {.names = true, .unprotected = names};
    struct err err;

    for (size_t i = 0; i < ARRAY_SIZE(links); i++) {
        _cleanup_fd_ int dir = new_tree();
        struct protect_pins pins = {.count = 0}, free_pins = {.count = 0}, known = {.count = 0};
        plant(links[i]);
        bool is_refused = protect_scan(dir, root, &names_only, arena, &pins, &err) == -1 &&
                          err.code == ERR_DENIED && strstr(err.hint, "--unprotect .") != NULL &&
                          strstr(err.hint, "overlay") != NULL;
        ok(is_refused && protect_scan(dir, root, &named, arena, &free_pins, &err) == 0 &&
               free_pins.count == 0,
           "'%s' is refused unless it is named", links[i]);
        ok(protect_scan(dir, root, &unheld, arena, &known, &err) == 0,
           "where nothing is held, '%s' is no reason to refuse", links[i]);
    }
    _cleanup_fd_ int dir = new_tree();
    struct protect_pins pins = {.count = 0};
    plant("a/.envrc");
    plant("link -> a");
    plant("up -> ..");
    plant("loop -> loop");
    ok(protect_scan(dir, root, &names_only, arena, &pins, &err) == 0 && pins.count == 2,
       "other links are neither followed nor refused");
}

static void test_closed(struct arena *arena)
{
    _cleanup_fd_ int dir = new_tree();
    struct protect_pins pins = {.count = 0};
    struct err err;

    plant("closed/.envrc");
    plant("open/.envrc");
    if (chmod("closed", 0) < 0)
        die("closed");
    ok(protect_scan(dir, root, &names_only, arena, &pins, &err) == 0 &&
           find(&pins, "open/.envrc") != NULL &&
           (find(&pins, "closed/.envrc") != NULL) == (geteuid() == 0),
       "a directory that may not be read is passed over");
    if (chmod("closed", 0700) < 0)
        die("closed");
}

static void test_deep(struct arena *arena)
{
    static const char name[] = "a-directory-with-a-long-name-so-that-it-goes-quickly-to-the-end";
    _cleanup_fd_ int dir = new_tree();
    struct protect_pins pins = {.count = 0};
    struct err err = {.code = ERR_NONE};
    bool was_fine = false;

    for (int depth = 0; depth < 80; depth++) { /* past PATH_MAX */
        if (mkdir(name, 0700) < 0 || chdir(name) < 0)
            die(name);
        if (depth == 50)
            was_fine = protect_scan(dir, root, &names_only, arena, &pins, &err) == 0;
    }
    ok(was_fine, "50 directories in one another are looked through");
    ok(protect_scan(dir, root, &names_only, arena, &pins, &err) == -1 && err.code == ERR_DENIED &&
           strstr(err.message, "too deep") != NULL && strstr(err.hint, "overlay") != NULL,
       "a tree deeper than a path can say is refused");
    /* nftw cannot either, so bring it up before it is removed */
    for (int depth = 0; depth < 80; depth++)
        if (chdir("..") < 0 || rmdir(name) < 0)
            die(name);
}

static void test_too_many(struct arena *arena)
{
    const struct protect_want small = {.names = true, .max_entries = 10},
                              exact = {.names = true, .max_entries = 12};
    _cleanup_fd_ int dir = new_tree();
    struct protect_pins pins = {.count = 0}, few = {.count = 0};
    struct err err;
    char path[64];

    for (int i = 0; i < 12; i++) {
        (void) snprintf(path, sizeof(path), "f%d", i); /* fits */
        plant(path);
    }
    ok(protect_scan(dir, root, &small, arena, &few, &err) == -1 && err.code == ERR_DENIED &&
           strstr(err.message, "too large") != NULL && strstr(err.hint, ":ro") != NULL,
       "a tree with more entries than allowed is refused");
    ok(protect_scan(dir, root, &exact, arena, &few, &err) == 0, "one with as many is not");
    for (int i = 0; i < PROTECT_MAX_PINS / 2; i++) {
        (void) snprintf(path, sizeof(path), "d%d/.envrc", i); /* fits */
        plant(path);
    }
    ok(protect_scan(dir, root, &names_only, arena, &pins, &err) == 0 &&
           pins.count == PROTECT_MAX_PINS,
       "as many names are pinned as can be");
    plant("one/.more/../.envrc");
    struct protect_pins over = {.count = 0};
    ok(protect_scan(dir, root, &names_only, arena, &over, &err) == -1 && err.code == ERR_DENIED &&
           strstr(err.hint, "--unprotect") != NULL,
       "and one more is refused");
}

/* ---- large trees ----------------------------------------------------------------------------- */

/* How many system calls a scan makes, seen from outside; -1 if that cannot be. */
static long count_calls(int dir, size_t *ret_pins)
{
    int status, pipes[2];
    long stops = 0;

    if (pipe(pipes) < 0)
        die("pipe");
    (void) fflush(stdout); /* or the child has it too */
    pid_t child = fork();
    if (child == 0) {
        struct arena *arena = arena_new();
        struct protect_pins pins = {.count = 0};
        struct err err;
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0 || raise(SIGSTOP) != 0)
            _exit(2);
        int rc = protect_scan(dir, root, &names_only, arena, &pins, &err);
        _exit(rc < 0 || write(pipes[1], &pins.count, sizeof(pins.count)) < 0);
    }
    while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
        stops += WSTOPSIG(status) == SIGTRAP;
        if (ptrace(PTRACE_SYSCALL, child, NULL, NULL) < 0)
            break;
    }
    (void) close(pipes[1]); /* only the child writes */
    bool is_whole = WIFEXITED(status) && WEXITSTATUS(status) == 0 &&
                    read(pipes[0], ret_pins, sizeof(*ret_pins)) == sizeof(*ret_pins);
    (void) close(pipes[0]); /* read */
    return is_whole ? stops / 2 : -1;
}

static void test_large(void)
{
    enum { FOLDERS = 1000, FILES = 99 };
    _cleanup_fd_ int dir = new_tree();
    char path[64];
    size_t n_pins = 0;

    for (int i = 0; i < FOLDERS; i++) {
        (void) snprintf(path, sizeof(path), "d%d", i); /* fits */
        _cleanup_fd_ int folder =
            mkdir(path, 0700) < 0 ? -1 : open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        for (int j = 0; j < FILES; j++) {
            (void) snprintf(path, sizeof(path), "some-file-%d.c", j); /* fits */
            if (mknodat(folder, path, S_IFREG | 0600, 0) < 0)
                die(path);
        }
    }
    plant("d500/.envrc");
    long calls = count_calls(dir, &n_pins);
    if (calls < 0) {
        skip("no process can be traced here");
        return;
    }
    /* open, read, read the end, close */
    if (!ok(n_pins == 2 && calls < 4L * (FOLDERS + 1) + 50,
            "100,000 entries in 1,000 directories take four system calls a directory"))
        printf("# %ld calls, %zu pins\n", calls, n_pins);
}

int main(void)
{
    struct arena *arena = rig_begin();

    test_pins(arena);
    test_root(arena);
    test_unprotected(arena);
    test_sockets(arena);
    test_links(arena);
    test_closed(arena);
    test_deep(arena);
    test_too_many(arena);
    test_large();
    rig_end(arena);
    return done();
}
