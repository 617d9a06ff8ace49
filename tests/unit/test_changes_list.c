/* What is kept: listed, loaded, discarded, and removed when it is too old or too much. */
#include <sys/file.h>

#include "changes_tree.h"
#include "tap.h"

static const struct tree_item one_file[] = {{"a", TREE_FILE, "12345", 0}, {NULL, 0, NULL, 0}};

/* A run id for each number, in their order. */
static const char *run_id(unsigned number)
{
    static char ids[8][CHANGES_RUN_ID_SIZE];

    (void) snprintf(ids[number], sizeof(ids[number]), "01890a5d-ac96-774b-bcce-%012x", number);
    return ids[number];
}

static bool keep_as(struct ground *ground, unsigned number, uint64_t started_ns,
                    const struct changes_limits *limits, struct changes *ret)
{
    _cleanup_fd_ int upper = open(ground->upper, O_PATH | O_DIRECTORY | O_CLOEXEC);
    _cleanup_fd_ int lower = open(ground->lower, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct changes_source source = {upper, lower, ground->lower, "/ws"};
    struct err err;

    return changes_keep(ground->state, run_id(number), &source, 1, started_ns, limits,
                        ground->arena, ret, &err) == 0 &&
           ret->kept;
}

static bool prepare(struct ground *ground, unsigned count)
{
    struct changes changes;

    if (!ground_init(ground, NULL) || !make_tree(ground->upper, one_file))
        return ok(false, "the trees are made");
    for (unsigned i = 0; i < count; i++)
        if (!keep_as(ground, i, ground->started_ns, NULL, &changes))
            return ok(false, "changes are kept");
    return ok(true, "changes of %u runs are kept", count);
}

/* The numbers of the runs that are left, as digits. */
static const char *left(struct ground *ground)
{
    static char digits[9];
    struct changes_list list;
    struct err err;
    size_t n = 0;

    if (changes_list(ground->state, ground->arena, &list, &err) < 0)
        return err.message[0] ? "?" : "";
    for (; n < list.n_sets && n < sizeof(digits) - 1; n++)
        digits[n] = list.sets[n].run_id[CHANGES_RUN_ID_SIZE - 2];
    digits[n] = '\0';
    return digits;
}

static bool is_left(struct ground *ground, const char *expected)
{
    const char *found = left(ground);

    if (strcmp(found, expected) == 0)
        return true;
    printf("# expected %s, are %s\n", expected, found);
    return false;
}

static void write_in(struct ground *ground, unsigned number, const char *file, const char *text)
{
    char path[256];

    (void) snprintf(path, sizeof(path), "%s/changes/%s/%s", ground->state, run_id(number), file);
    if (!make_file(AT_FDCWD, path, text, 0600))
        ok(false, "%s is written", path);
}

static void test_list(void)
{
    _cleanup_(ground_release) struct ground ground;
    struct changes_list list = {0};
    struct changes changes;
    enum changes_state was;
    struct err err = {0};

    if (!prepare(&ground, 3))
        return;
    ok(is_left(&ground, "012"), "they are listed, the oldest first");
    write_in(&ground, 1, "record.json", "{}");
    int rc = changes_list(ground.state, ground.arena, &list, &err);
    ok(rc == 0 && list.n_sets == 2 && list.n_problems == 1 &&
           strcmp(list.problems[0].run_id, run_id(1)) == 0,
       "a damaged one is a problem, and not in the way of the others: %s",
       list.n_problems ? list.problems[0].error : "");
    ok(changes_load(ground.state, run_id(1), ground.arena, &changes, &err) < 0 &&
           err.code == ERR_HOST && strstr(err.hint, "discard"),
       "it cannot be loaded, and the hint says what to do: %s; %s", err.message, err.hint);
    ok(changes_discard(ground.state, run_id(1), ground.arena, &was, &err) == 0 &&
           is_left(&ground, "02"),
       "but discarded");
    ok(changes_discard(ground.state, run_id(1), ground.arena, &was, &err) < 0 &&
           err.code == ERR_NOT_FOUND,
       "once: %s", err.message);
    ok(changes_load(ground.state, run_id(2), ground.arena, &changes, &err) == 0 &&
           changes.n_entries == 1 && strcmp(changes.entries[0].path, "a") == 0 &&
           changes.state == CHANGES_KEPT && changes.bytes == 5,
       "one that is whole is loaded");
    ok(changes_load(ground.state, "..", ground.arena, &changes, &err) < 0 &&
           err.code == ERR_REQUEST,
       "a name that is no run id is refused: %s", err.message);
}

static void test_entries(void)
{
    static const struct {
        const char *sentence, *text;
    } damages[] = {
        {"an entry that is cut", "{\"dir\":0,\"path\":\"a\""},
        {"no entry", ""},
        {"one too many",
         "{\"dir\":0,\"path\":\"a\",\"change\":\"added\",\"type\":\"directory\",\"size\":0,"
         "\"mode\":\"0755\",\"mtime_ns\":\"1\",\"content\":false}\n"
         "{\"dir\":0,\"path\":\"b\",\"change\":\"added\",\"type\":\"directory\",\"size\":0,"
         "\"mode\":\"0755\",\"mtime_ns\":\"1\",\"content\":false}\n"},
        {"one of a directory that there is not",
         "{\"dir\":1,\"path\":\"a\",\"change\":\"added\",\"type\":\"directory\",\"size\":0,"
         "\"mode\":\"0755\",\"mtime_ns\":\"1\",\"content\":false}\n"},
        {"one that leads out",
         "{\"dir\":0,\"path\":\"../a\",\"change\":\"added\",\"type\":\"directory\",\"size\":0,"
         "\"mode\":\"0755\",\"mtime_ns\":\"1\",\"content\":false}\n"},
    };
    static const struct changes_options none;
    _cleanup_(ground_release) struct ground ground;
    struct changes_outcome outcome;
    _cleanup_(buf_release) struct buf before;

    if (!prepare(&ground, 1))
        return;
    tree_text(ground.lower, &before);
    for (size_t i = 0; i < ARRAY_SIZE(damages); i++) {
        struct err err = {0};
        write_in(&ground, 0, "entries", damages[i].text);
        ok(changes_apply(ground.state, run_id(0), &none, ground.arena, &outcome, &err) < 0 &&
               err.code == ERR_HOST && same_tree(ground.lower, &before),
           "%s is found before anything is applied: %s", damages[i].sentence, err.message);
    }
}

static void test_content(void)
{
    static const struct changes_options none;
    _cleanup_(ground_release) struct ground ground;
    _cleanup_(buf_release) struct buf before;
    struct changes_outcome outcome;
    struct err err = {0};

    if (!prepare(&ground, 1))
        return;
    tree_text(ground.lower, &before);
    write_in(&ground, 0, "files/0", "1234");
    ok(changes_apply(ground.state, run_id(0), &none, ground.arena, &outcome, &err) < 0 &&
           same_tree(ground.lower, &before),
       "a file of another size is not applied: %s", err.message);
}

/* ---- limits ---------------------------------------------------------------------------------- */

#define ONE_SET (5 + 512) /* the file, and about what the entry takes */

static bool sweep(struct ground *ground, const struct changes_limits *limits,
                  struct changes_swept *ret)
{
    struct err err;

    return changes_sweep(ground->state, limits, ground->arena, ret, &err) == 0;
}

static void test_sweep(void)
{
    struct changes_limits limits = changes_default_limits;
    _cleanup_(ground_release) struct ground ground;
    struct changes_swept swept = {0};
    char path[256];

    if (!prepare(&ground, 4))
        return;
    ok(sweep(&ground, NULL, &swept) && swept.n_evicted == 0 && is_left(&ground, "0123"),
       "nothing goes that is within the limits");
    limits.max_bytes = (uint64_t) 3 * ONE_SET;
    ok(sweep(&ground, &limits, &swept) && swept.n_evicted == 1 &&
           strcmp(swept.evicted[0], run_id(0)) == 0 && is_left(&ground, "123"),
       "past the size, the oldest goes, and it is said");
    write_in(&ground, 1, "applying", "\001");
    limits.max_bytes = ONE_SET;
    ok(sweep(&ground, &limits, &swept) && is_left(&ground, "1"),
       "one that is half applied stays, whatever it takes");
    (void) snprintf(path, sizeof(path), "%s/changes/tmp/0123456789abcdef/files", ground.state);
    *strrchr(path, '/') = '\0';
    ok(mkdir(path, 0700) == 0, "a wasp that keeps changes is killed");
    _cleanup_fd_ int held = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ok(flock(held, LOCK_EX) == 0 && sweep(&ground, NULL, &swept) && swept.leftovers == 0,
       "as long as it lives, what it writes stays");
    ok(flock(held, LOCK_UN) == 0 && sweep(&ground, NULL, &swept) && swept.leftovers == 1,
       "then it goes");
}

static void test_age(void)
{
    struct changes_limits limits = changes_default_limits;
    _cleanup_(ground_release) struct ground ground;
    struct changes_swept swept = {0};
    struct changes changes;

    if (!prepare(&ground, 0))
        return;
    uint64_t now_ns = clock_realtime_ns();
    limits.max_age_ns = 3600 * NS_PER_S;
    ok(keep_as(&ground, 0, now_ns - 3 * limits.max_age_ns, NULL, &changes) &&
           keep_as(&ground, 1, now_ns - limits.max_age_ns / 2, NULL, &changes) &&
           sweep(&ground, &limits, &swept) && swept.n_evicted == 1 && is_left(&ground, "1"),
       "past its age, one goes");
}

static void test_room(void)
{
    struct changes_limits limits = changes_default_limits;
    _cleanup_(ground_release) struct ground ground;
    struct changes changes;

    if (!prepare(&ground, 2))
        return;
    limits.max_bytes = ONE_SET;
    ok(keep_as(&ground, 2, ground.started_ns, &limits, &changes) && changes.n_evicted == 2 &&
           strcmp(changes.evicted[0], run_id(0)) == 0 && is_left(&ground, "2"),
       "keeping more makes room for itself, and says of what");
}

static void test_applied(void)
{
    static const struct changes_options none;
    struct changes_limits limits = changes_default_limits;
    _cleanup_(ground_release) struct ground ground;
    struct changes_swept swept = {0};
    struct changes_outcome outcome;
    struct changes changes;
    struct err err = {0};

    if (!prepare(&ground, 2))
        return;
    ok(changes_apply(ground.state, run_id(0), &none, ground.arena, &outcome, &err) == 0 &&
           outcome.done &&
           changes_load(ground.state, run_id(0), ground.arena, &changes, &err) == 0 &&
           changes.state == CHANGES_APPLIED && changes.n_applied == 1 && changes.n_entries == 0,
       "one that is applied is a record%s", err.message);
    limits.max_bytes = 0;
    ok(sweep(&ground, &limits, &swept) && is_left(&ground, "0"), "which takes no room");
    limits.max_age_ns = 0;
    ok(sweep(&ground, &limits, &swept) && is_left(&ground, ""), "but gets old");
}

int main(void)
{
    (void) umask(022); /* cannot fail */
    test_list();
    test_entries();
    test_content();
    test_sweep();
    test_age();
    test_room();
    test_applied();
    return done();
}
