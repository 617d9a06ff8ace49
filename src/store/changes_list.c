/*
 * Looking at what is kept, and removing it: on demand, or past the limits.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/folder.h"
#include "store/changes_act.h"
#include "store/changes_host.h"
#include "store/changes_set.h"

const struct changes_limits changes_default_limits = {
    .max_bytes = UINT64_C(4) << 30,
    .max_entries = 250000,
    .max_age_ns = UINT64_C(30) * 24 * 3600 * NS_PER_S,
};

/* ---- one ------------------------------------------------------------------------------------- */

static int load_entries(const struct changes_set *set, struct arena *arena, struct changes *changes,
                        struct err *err)
{
    _cleanup_(changes_entries_release) struct changes_entries entries = {.fd = -1};
    const struct change *change;

    changes->entries = arena_array(arena, CHANGES_LISTED, sizeof(*changes->entries));
    if (!changes->entries)
        return err_no_memory(err);
    if (changes_entries_open(set, changes, &entries, err) < 0)
        return -1;
    while (changes->n_entries < CHANGES_LISTED) {
        if (changes_entries_next(&entries, &change, err) < 0)
            return -1;
        if (!change)
            return 0;
        if (change_copy(change, arena, &changes->entries[changes->n_entries], err) < 0)
            return -1;
        changes->n_entries++;
    }
    return 0;
}

int changes_load(const char *state_dir, const char *run_id, struct arena *arena,
                 struct changes *ret, struct err *err)
{
    _cleanup_(changes_store_release) struct changes_store store = CHANGES_STORE_NONE;
    _cleanup_(changes_set_release) struct changes_set set = CHANGES_SET_NONE;
    struct changes changes;

    if (changes_store_open(state_dir, &store, err) < 0 ||
        changes_set_open(&store, run_id, 0, &set, err) < 0 ||
        changes_set_read(&set, arena, &changes, err) < 0)
        return -1;
    if (changes.state != CHANGES_APPLIED && load_entries(&set, arena, &changes, err) < 0)
        return -1;
    *ret = changes;
    return 0;
}

int changes_each(const char *state_dir, const char *run_id, struct arena *arena,
                 int (*each)(const struct change *change, void *data, struct err *err), void *data,
                 struct err *err)
{
    _cleanup_(changes_store_release) struct changes_store store = CHANGES_STORE_NONE;
    _cleanup_(changes_set_release) struct changes_set set = CHANGES_SET_NONE;
    _cleanup_(changes_entries_release) struct changes_entries entries = {.fd = -1};
    const struct change *change;
    struct changes changes;

    if (changes_store_open(state_dir, &store, err) < 0 ||
        changes_set_open(&store, run_id, 0, &set, err) < 0 ||
        changes_set_read(&set, arena, &changes, err) < 0)
        return -1;
    if (changes.state == CHANGES_APPLIED)
        return 0;
    if (changes_entries_open(&set, &changes, &entries, err) < 0)
        return -1;
    for (;;) {
        if (changes_entries_next(&entries, &change, err) < 0)
            return -1;
        if (!change)
            return 0;
        if (each(change, data, err) != 0)
            return -1;
    }
}

/* ---- all ------------------------------------------------------------------------------------- */

/* Run ids; other names are not ours, and none of our business. */
static int list_names(const struct changes_store *store, struct arena *arena,
                      struct folder_names *ret_names, struct err *err)
{
    struct folder_names names;
    size_t count = 0;
    struct err ignored;

    if (folder_list(store->folder, "", arena, &names) < 0)
        return err_sys(err, ERR_HOST, "cannot read the folder '%s/changes'", store->state_dir);
    for (size_t i = 0; i < names.count; i++)
        if (changes_check_run_id(names.items[i], &ignored) == 0)
            names.items[count++] = names.items[i];
    *ret_names = (struct folder_names){.items = names.items, .count = count};
    return 0;
}

/* As a set or, if it cannot be one, as a problem. What went away meanwhile is neither. */
static int add_to_list(const struct changes_store *store, const char *run_id, struct arena *arena,
                       struct changes_list *list, struct err *err)
{
    _cleanup_(changes_set_release) struct changes_set set = CHANGES_SET_NONE;
    struct err why;

    if (changes_set_open(store, run_id, 0, &set, &why) == 0 &&
        changes_set_read(&set, arena, &list->sets[list->n_sets], &why) == 0) {
        list->n_sets++;
        return 0;
    }
    if (why.code == ERR_NOT_FOUND)
        return 0;
    const char *error = arena_strdup(arena, why.message);
    if (!error)
        return err_no_memory(err);
    list->problems[list->n_problems++] = (struct changes_problem){run_id, error};
    return 0;
}

static int list_all(const struct changes_store *store, struct arena *arena,
                    struct changes_list *ret_list, struct err *err)
{
    struct changes_list list = {.n_sets = 0};
    struct folder_names names;

    if (list_names(store, arena, &names, err) < 0)
        return -1;
    list.sets = arena_array(arena, names.count + 1, sizeof(*list.sets));
    list.problems = arena_array(arena, names.count + 1, sizeof(*list.problems));
    if (!list.sets || !list.problems)
        return err_no_memory(err);
    for (size_t i = 0; i < names.count; i++)
        if (add_to_list(store, names.items[i], arena, &list, err) < 0)
            return -1;
    *ret_list = list;
    return 0;
}

int changes_list(const char *state_dir, struct arena *arena, struct changes_list *ret_list,
                 struct err *err)
{
    _cleanup_(changes_store_release) struct changes_store store = CHANGES_STORE_NONE;

    if (changes_store_open(state_dir, &store, err) < 0)
        return -1;
    return list_all(&store, arena, ret_list, err);
}

/* ---- removing -------------------------------------------------------------------------------- */

/* Of an interrupted apply. A damaged record does not say what there is. */
static void clean_host(const struct changes_set *set, struct arena *arena)
{
    _cleanup_(changes_hosts_release) struct changes_hosts hosts = {.count = 0};
    struct changes changes;
    struct err ignored;

    if (changes_set_read(set, arena, &changes, &ignored) == 0 &&
        changes_hosts_open(&changes, &hosts, &ignored) == 0)
        changes_undo(set, &changes, &hosts, NULL);
}

int changes_discard(const char *state_dir, const char *run_id, struct arena *arena,
                    enum changes_state *ret_was, struct err *err)
{
    _cleanup_(changes_store_release) struct changes_store store = CHANGES_STORE_NONE;
    _cleanup_(changes_set_release) struct changes_set set = CHANGES_SET_NONE;

    if (changes_store_open(state_dir, &store, err) < 0 ||
        changes_set_open(&store, run_id, LOCK_EX, &set, err) < 0)
        return -1;
    enum changes_state was = changes_set_state(&set);
    if (was == CHANGES_APPLYING)
        clean_host(&set, arena);
    _cleanup_(changes_unlock) int locked = changes_store_lock(&store, err);
    if (locked < 0 || changes_set_remove(&store, &set, err) < 0)
        return -1;
    *ret_was = was;
    return 0;
}

/* A half written or half removed one is locked by who is at it. */
static size_t sweep_leftovers(const struct changes_store *store, struct arena *arena)
{
    struct folder_names names = {.count = 0};
    size_t removed = 0;

    (void) folder_list(store->temp, "", arena, &names); /* then there is nothing to remove */
    for (size_t i = 0; i < names.count; i++) {
        const char *name = names.items[i];
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
            continue;
        _cleanup_fd_ int fd =
            openat(store->temp, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 &&
            changes_remove_tree(store->temp, name) == 0)
            removed++;
    }
    return removed;
}

/* About: files, and for each entry what it takes in the record and in folders. */
static uint64_t kept_bytes(const struct changes *set)
{
    return set->state == CHANGES_APPLIED ? 0 : set->bytes + 512 * changes_total(set);
}

/* What a wasp that was killed in the last moment left. */
static void trim_applied(const struct changes_store *store, const struct changes *applied)
{
    _cleanup_(changes_set_release) struct changes_set set = CHANGES_SET_NONE;
    struct err ignored;

    if (applied->state == CHANGES_APPLIED &&
        changes_set_open(store, applied->run_id, LOCK_EX, &set, &ignored) == 0)
        changes_set_trim(&set);
}

/* True if it went: not if it is half applied, or somebody is at it. */
static bool evict_one(const struct changes_store *store, const struct changes *victim)
{
    _cleanup_(changes_set_release) struct changes_set set = CHANGES_SET_NONE;
    struct err ignored;

    return victim->state != CHANGES_APPLYING &&
           changes_set_open(store, victim->run_id, LOCK_EX, &set, &ignored) == 0 &&
           changes_set_state(&set) != CHANGES_APPLYING &&
           changes_set_remove(store, &set, &ignored) == 0;
}

int changes_evict(const struct changes_store *store, const struct changes_limits *limits,
                  const char *except, struct arena *arena, const char ***ret_evicted,
                  size_t *ret_n_evicted, struct err *err)
{
    uint64_t now_ns = clock_realtime_ns(), bytes = 0;
    struct changes_list list;

    if (list_all(store, arena, &list, err) < 0)
        return -1;
    const char **evicted = arena_array(arena, list.n_sets + 1, sizeof(*evicted));
    if (!evicted)
        return err_no_memory(err);
    for (size_t i = 0; i < list.n_sets; i++) {
        bytes += kept_bytes(&list.sets[i]);
        trim_applied(store, &list.sets[i]);
    }
    *ret_evicted = evicted;
    *ret_n_evicted = 0;
    for (size_t i = 0; i < list.n_sets; i++) {
        const struct changes *set = &list.sets[i];
        bool is_old = set->started_ns < now_ns && now_ns - set->started_ns > limits->max_age_ns;
        bool is_too_much = bytes > limits->max_bytes && kept_bytes(set) > 0;
        if ((!is_old && !is_too_much) || (except && strcmp(set->run_id, except) == 0) ||
            !evict_one(store, set))
            continue;
        bytes -= kept_bytes(set);
        evicted[(*ret_n_evicted)++] = set->run_id;
    }
    return 0;
}

int changes_sweep(const char *state_dir, const struct changes_limits *limits, struct arena *arena,
                  struct changes_swept *ret_swept, struct err *err)
{
    _cleanup_(changes_store_release) struct changes_store store = CHANGES_STORE_NONE;
    struct changes_swept swept = {0};

    if (changes_store_open(state_dir, &store, err) < 0)
        return -1;
    _cleanup_(changes_unlock) int locked = changes_store_lock(&store, err);
    if (locked < 0)
        return -1;
    swept.leftovers = sweep_leftovers(&store, arena);
    if (changes_evict(&store, limits ? limits : &changes_default_limits, NULL, arena,
                      &swept.evicted, &swept.n_evicted, err) < 0)
        return -1;
    *ret_swept = swept;
    return 0;
}
