/*
 * Applying changes, killed at each system call in turn: whatever the moment, no file is torn,
 * nothing says that it is done, and the next apply finishes it. And guests that act at random in a
 * real overlay: what they saw is what the host has when their changes are applied.
 */
#include <sys/ptrace.h>

#include "changes_tree.h"
#include "tap.h"

static const struct tree_item lower_items[] = {
    {"bytes", TREE_FILE, "old\n", 0},
    {"mode", TREE_FILE, "mode", 0},
    {"gone", TREE_FILE, "gone", 0},
    {"all", TREE_DIR, NULL, 0},
    {"all/a", TREE_FILE, "a", 0},
    {"all/b", TREE_HARD, "all/a", 0},
    {"all/c", TREE_DIR, NULL, 0},
    {"all/c/d", TREE_LINK, "x", 0},
    {"to_file", TREE_DIR, NULL, 0},
    {"to_file/a", TREE_FILE, "a", 0},
    {"to_dir", TREE_FILE, "text", 0},
    {"to_link", TREE_DIR, NULL, 0},
    {"to_link/a", TREE_FILE, "a", 0},
    {"chmod", TREE_DIR, NULL, 0},
    {"stays", TREE_DIR, NULL, 0},
    {"stays/a", TREE_FILE, "a", 0},
    {NULL, 0, NULL, 0},
};

static const struct tree_item upper_items[] = {
    {"bytes", TREE_FILE, "new\n", 0},
    {"mode", TREE_FILE, "mode", 0755},
    {"gone", TREE_WHITEOUT, NULL, 0},
    {"all", TREE_WHITEOUT, NULL, 0},
    {"to_file", TREE_FILE, "file", 0},
    {"to_dir", TREE_DIR, NULL, 0},
    {"to_dir/in", TREE_FILE, "in", 0},
    {"to_link", TREE_LINK, "new", 0},
    {"chmod", TREE_DIR, NULL, 0700},
    {"new", TREE_DIR, NULL, 0},
    {"new/dir", TREE_DIR, NULL, 0700},
    {"new/dir/file", TREE_FILE, "x", 0755},
    {"new/link", TREE_LINK, "../bytes", 0},
    {"stays", TREE_WHITEOUT, NULL, 0},
    {".envrc", TREE_FILE, "named", 0},
    {".bashrc", TREE_FILE, "left out", 0},
    {NULL, 0, NULL, 0},
};

static const struct tree_item result_items[] = {
    {"bytes", TREE_FILE, "new\n", 0},
    {"mode", TREE_FILE, "mode", 0755},
    {"to_file", TREE_FILE, "file", 0},
    {"to_dir", TREE_DIR, NULL, 0},
    {"to_dir/in", TREE_FILE, "in", 0},
    {"to_link", TREE_LINK, "new", 0},
    {"chmod", TREE_DIR, NULL, 0700},
    {"new", TREE_DIR, NULL, 0},
    {"new/dir", TREE_DIR, NULL, 0700},
    {"new/dir/file", TREE_FILE, "x", 0755},
    {"new/link", TREE_LINK, "../bytes", 0},
    {"stays", TREE_DIR, NULL, 0},
    {"stays/later", TREE_FILE, "", 0},
    {".envrc", TREE_FILE, "named", 0},
    {NULL, 0, NULL, 0},
};

/* Something appears in a directory that is to go, so that it is left out from the start. */
static const struct tree_item later[] = {{"stays/later", TREE_FILE, "", 0}, {NULL, 0, NULL, 0}};

static const char *const named[] = {".envrc", NULL};
static const struct changes_options first_options = {.unprotected = named, .skip_refused = true};

/* ---- the killing ----------------------------------------------------------------------------- */

static void be_victim(struct ground *ground)
{
    struct changes_outcome outcome;
    struct err err;

    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0 || raise(SIGSTOP) != 0)
        _exit(3);
    _exit(apply(ground, &first_options, &outcome, &err) == 0 && outcome.done ? 0 : 1);
}

enum fate { KILLED, ENDED_WELL, ENDED_BADLY, UNTRACED };

/* Runs an apply up to its call with that number, and kills it before the call is made. */
static enum fate kill_at(struct ground *ground, int call)
{
    int status = 0;
    pid_t child = fork();

    if (child == 0)
        be_victim(ground);
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
        return UNTRACED;
    for (int stops = 0; WIFSTOPPED(status); stops++) {
        /* each call stops twice: before it is made, and behind */
        if (stops == 2 * call + 1 && kill(child, SIGKILL) < 0)
            return UNTRACED;
        if (ptrace(PTRACE_SYSCALL, child, NULL, NULL) < 0 && errno != ESRCH)
            return UNTRACED;
        if (waitpid(child, &status, 0) != child)
            return UNTRACED;
    }
    if (WIFSIGNALED(status))
        return KILLED;
    return WEXITSTATUS(status) == 0   ? ENDED_WELL
           : WEXITSTATUS(status) == 3 ? UNTRACED
                                      : ENDED_BADLY;
}

static bool prepare(struct ground *ground)
{
    struct changes changes;
    struct err err;

    return ground_init(ground, lower_items) && make_tree(ground->upper, upper_items) &&
           keep(ground, NULL, &changes, &err) == 0 && make_tree(ground->lower, later);
}

static bool expect(struct buf *ret_text)
{
    _cleanup_(ground_release) struct ground ground;

    if (!ground_init(&ground, result_items))
        return false;
    tree_text(ground.lower, ret_text);
    return true;
}

static enum changes_state state_of(struct ground *ground)
{
    struct changes changes = {.state = CHANGES_STATES};
    struct err err;

    (void) changes_load(ground->state, RUN_ID, ground->arena, &changes, &err); /* then it is none */
    return changes.state;
}

/* A file that is replaced has all of its old bytes or all of the new ones. */
static bool is_whole(struct ground *ground)
{
    _cleanup_(buf_release) struct buf tree;

    tree_text(ground->lower, &tree);
    return strstr(tree.data, "/bytes 100644 old\n") || strstr(tree.data, "/bytes 100644 new\n");
}

/* Judged by what is left when one was killed; then once more, to the end. */
static bool survives(struct ground *ground, const struct buf *expected, int call)
{
    struct changes_outcome outcome = {0};
    struct err err = {0};
    enum changes_state state = state_of(ground);
    bool whole = is_whole(ground);
    bool honest = state != CHANGES_APPLIED || same_tree(ground->lower, expected);
    /* who was interrupted goes on as it was begun; who was not, begins */
    const struct changes_options none = {.skip_refused = false};
    const struct changes_options *options = state == CHANGES_APPLYING ? &none : &first_options;
    bool finished = apply(ground, options, &outcome, &err) == 0 && outcome.done;
    bool right = same_tree(ground->lower, expected);
    if (whole && honest && finished && right)
        return true;
    printf("# killed at call %d in state %s: whole %d, honest %d, finished %d (%s), right %d\n",
           call, changes_state_name(state), whole, honest, finished, err.message, right);
    return false;
}

static void test_resume(void)
{
    _cleanup_(buf_release) struct buf expected = {0};
    bool survived = expect(&expected);
    enum fate fate = KILLED;
    int call = 0;

    for (; fate == KILLED && survived; call++) {
        _cleanup_(ground_release) struct ground ground;
        if (!prepare(&ground)) {
            ok(false, "the trees are made");
            return;
        }
        fate = kill_at(&ground, call);
        if (fate == UNTRACED) {
            skip("no process can be traced here");
            return;
        }
        survived = fate != KILLED || survives(&ground, &expected, call);
        if (fate == ENDED_WELL)
            ok(same_tree(ground.lower, &expected), "an apply that is not killed is right");
    }
    ok(survived && fate == ENDED_WELL && call > 100,
       "killed at each of its system calls, an apply is finished by the next one");
    printf("# %d calls\n", call);
}

/* ---- giving up ------------------------------------------------------------------------------- */

static void test_discard(void)
{
    enum fate fate = KILLED;
    bool clean = true;

    /* every third will do: it is the same killing, and what is left is of few kinds */
    for (int call = 0; fate == KILLED && clean; call += 3) {
        _cleanup_(ground_release) struct ground ground;
        _cleanup_(buf_release) struct buf tree = {0};
        enum changes_state was;
        struct err err = {0};
        if (!prepare(&ground))
            return;
        fate = kill_at(&ground, call);
        if (fate != KILLED)
            break;
        clean = changes_discard(ground.state, RUN_ID, ground.arena, &was, &err) == 0;
        tree_text(ground.lower, &tree);
        if (clean)
            clean = strstr(tree.data, "/.wasp-") == NULL;
        if (!clean)
            printf("# killed at call %d: %s%s\n", call, err.message, tree.data);
    }
    if (fate == UNTRACED)
        skip("no process can be traced here");
    else
        ok(clean, "what a killed apply left under names of its own goes when it is discarded");
}

/* ---- guests at random ------------------------------------------------------------------------ */

static unsigned seed;

static unsigned chance(unsigned below)
{
    seed = seed * 1103515245U + 12345U;
    return (seed >> 16) % below;
}

static const char *any_path(char room[64])
{
    static const char *const names[] = {"a", "b", "c", "d"};
    unsigned levels = 1 + chance(3);

    room[0] = '\0';
    for (unsigned i = 0; i < levels; i++) {
        (void) strcat(room, i ? "/" : ""); /* three short names fit */
        (void) strcat(room, names[chance(4)]);
    }
    return room;
}

static void write_some(const char *path)
{
    _cleanup_fd_ int fd = open(path, O_WRONLY | O_CREAT | (chance(2) ? O_TRUNC : O_APPEND), 0644);

    if (fd >= 0)
        (void) fd_write_all(fd, "guest\n", chance(7)); /* a guest may fail */
}

static void act_once(void)
{
    static const mode_t modes[] = {0644, 0755, 0600, 0700};
    char one[64], two[64];
    const char *path = any_path(one);
    struct stat st;
    int rc = 0;

    switch (chance(10)) {
    case 0:
    case 1:
    case 2:
        write_some(path);
        break;
    case 3:
    case 4:
        rc = mkdir(path, 0755);
        break;
    case 5:
        rc = unlink(path);
        break;
    case 6:
        rc = rmdir(path);
        break;
    case 7:
        rc = rename(path, any_path(two));
        break;
    case 8:
        rc = symlink("a", path);
        break;
    default:
        if (lstat(path, &st) == 0 && !S_ISLNK(st.st_mode))
            rc = chmod(path, S_ISDIR(st.st_mode) ? modes[1 + 2 * chance(2)] : modes[chance(4)]);
    }
    (void) rc; /* a guest may fail at each of them */
}

static void act_randomly(void)
{
    for (int i = 0; i < 60; i++)
        act_once();
}

static void make_randomly(const struct ground *ground)
{
    if (chdir(ground->lower) < 0)
        return;
    act_randomly();
    if (chdir("/") < 0)
        ok(false, "there is a root");
}

static bool read_seen(const struct ground *ground, struct buf *ret_text)
{
    char path[80], *room;

    (void) snprintf(path, sizeof(path), "%s/seen", ground->base);
    _cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    *ret_text = (struct buf) BUF_INIT(TREE_MAX);
    if (fd < 0 || buf_reserve(ret_text, 65536, &room) < 0)
        return false;
    ssize_t n = fd_read_full(fd, room, 65536);
    buf_commit(ret_text, n < 0 ? 0 : (size_t) n);
    return n > 0;
}

/* -1 if there are no overlays here. */
static int try_guest(unsigned number)
{
    _cleanup_(ground_release) struct ground ground;
    _cleanup_(buf_release) struct buf seen = {0};
    struct changes_outcome outcome = {.done = true};
    struct changes changes = {0};
    struct err err = {0};

    seed = number;
    if (!ground_init(&ground, NULL))
        return 0;
    make_randomly(&ground);
    ground_start(&ground);
    _cleanup_fd_ int upper = run_guest(&ground, act_randomly);
    if (upper < 0)
        return -1;
    bool applied = keep_layer(&ground, upper, NULL, &changes, &err) == 0 &&
                   (!changes.kept || apply(&ground, NULL, &outcome, &err) == 0);
    bool right =
        applied && outcome.done && read_seen(&ground, &seen) && same_tree(ground.lower, &seen);
    if (!right)
        printf("# guest %u: %s, refused %llu\n", number, err.message,
               (unsigned long long) outcome.n_refused);
    return right;
}

static void test_guests(void)
{
    int right = 1;

    for (unsigned i = 0; i < 150 && right == 1; i++)
        right = try_guest(i);
    if (right < 0)
        skip("no overlay in a user namespace here");
    else
        ok(right, "what 150 guests saw in their overlays is what the host then has");
}

int main(void)
{
    (void) umask(022); /* cannot fail */
    if (access("/dev/shm", W_OK) == 0)
        ground_home = "/dev/shm";
    test_guests();
    test_resume();
    test_discard();
    return done();
}
