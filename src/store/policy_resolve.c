#include "store/policy_resolve.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/program.h"
#include "plan/match.h"
#include "plan/plan.h"
#include "plan/words.h"

/* ---- paths ----------------------------------------------------------------------------------- */

#define MAX_LEVELS 64

/*
 * The way down to the path that was looked at last. Rules that follow each other share most of it,
 * and each step is a system call.
 */
struct walk {
    char path[PATH_MAX];
    size_t n_levels;
    struct level {
        size_t end;       /* of its name in `path` */
        bool is_absent;   /* or cannot be seen; so is all beneath it */
        const char *base; /* where the last link above, or itself, leads; NULL: there is none */
        size_t rest;      /* what in `path` comes behind that */
    } levels[MAX_LEVELS];
};

/* What the kernel calls it; NULL if it is not there or cannot be told, or memory is exhausted. */
static const char *follow(const char *path, struct arena *arena)
{
    char link[32], real[PATH_MAX];
    _cleanup_fd_ int fd = open(path, O_PATH | O_CLOEXEC);

    if (fd < 0)
        return NULL;
    (void) snprintf(link, sizeof(link), "/proc/self/fd/%d", fd); /* fits */
    ssize_t len = readlink(link, real, sizeof(real));
    if (len <= 0 || len == sizeof(real) || real[0] != '/')
        return NULL;
    return arena_strndup(arena, real, len == 1 ? 0 : (size_t) len); /* "" for the root */
}

/* How many steps of the last way lead to this path, too. */
static size_t shared_levels(const struct walk *walk, const char *path)
{
    size_t n = 0, from = 0;

    while (n < walk->n_levels) {
        size_t end = walk->levels[n].end;
        if (memcmp(walk->path + from, path + from, end - from) != 0 ||
            (path[end] != '/' && path[end] != '\0'))
            break;
        from = end;
        n++;
    }
    return n;
}

/* One step down, to what is called so; walk->path ends there. */
static struct level step(const struct level *above, const char *path, size_t end,
                         struct arena *arena)
{
    struct level level = {.end = end};
    char link[1];

    if (above) {
        level = *above;
        level.end = end;
    }
    if (level.is_absent)
        return level;
    if (readlink(path, link, sizeof(link)) < 0) {
        level.is_absent = errno != EINVAL; /* it is there, and no link */
        return level;
    }
    level.base = follow(path, arena);
    level.rest = end;
    level.is_absent = !level.base;
    return level;
}

/* *ret_real stays NULL if it is no other than the path itself. A way that is too long is none. */
static int resolve(struct walk *walk, const char *path, struct arena *arena, const char **ret_real,
                   struct err *err)
{
    size_t len = strlen(path), n = 0;

    if (len >= sizeof(walk->path) || len == 1)
        return 0;
    /* What lies behind a name that is longer than all of this path is not compared. */
    while (walk->n_levels > 0 && walk->levels[walk->n_levels - 1].end > len)
        walk->n_levels--;
    n = shared_levels(walk, path);
    memcpy(walk->path, path, len + 1);
    size_t end = n ? walk->levels[n - 1].end : 0;
    while (end < len && n < MAX_LEVELS) {
        end += 1 + strcspn(path + end + 1, "/");
        walk->path[end] = '\0';
        walk->levels[n] = step(n ? &walk->levels[n - 1] : NULL, walk->path, end, arena);
        n++;
        walk->path[end] = path[end];
    }
    walk->n_levels = n;
    const struct level *last = &walk->levels[n - 1];
    if (!last->base)
        return 0;
    const char *real = arena_printf(arena, "%s%s", last->base, path + last->rest);
    if (!real)
        return err_no_memory(err);
    *ret_real = real[0] ? real : "/";
    return 0;
}

/* Another rule, which allows writing, lies above. */
static bool is_writable(const struct policy *policy, const char *path)
{
    const struct rules *rules = &policy->rules[SECTION_FILESYSTEM][VERDICT_ALLOW];

    for (size_t i = 0; i < rules->count; i++) {
        const char *above = rules->items[i].writes ? rules->items[i].path : NULL;
        size_t len = above ? strlen(above) : 0;
        if (above && strncmp(above, path, len) == 0 && path[len] == '/')
            return true;
    }
    return false;
}

static int resolve_list(const struct policy *policy, struct rules *rules, struct walk *walk,
                        struct arena *arena, struct err *err)
{
    for (struct rule *rule = rules->items; rule < rules->items + rules->count; rule++) {
        if (!rule->path)
            continue;
        if (resolve(walk, rule->path, arena, &rule->real, err) < 0)
            return -1;
        if (rule->real && rule->verdict == VERDICT_ALLOW && is_writable(policy, rule->path))
            rule->real = NULL;
    }
    return 0;
}

int policy_resolve_paths(struct policy *policy, struct arena *arena, struct err *err)
{
    struct walk walk = {.n_levels = 0};

    for (int verdict = 0; verdict < VERDICTS; verdict++)
        if (resolve_list(policy, &policy->rules[SECTION_FILESYSTEM][verdict], &walk, arena, err) <
                0 ||
            resolve_list(policy, &policy->rules[SECTION_CODE][verdict], &walk, arena, err) < 0)
            return -1;
    return 0;
}

/* ---- programs -------------------------------------------------------------------------------- */

/* Where a native guest's own is looked for. */
static bool find_program(const char *program, struct file_id *ret_id)
{
    char path[PATH_MAX];
    struct stat st;

    if (!program_find(program, CELL_PATH, path, &st))
        return false;
    *ret_id = (struct file_id){.dev = st.st_dev, .ino = st.st_ino};
    return true;
}

/* Where an example is: exec.LIST[RULE].KEY[EXAMPLE]. */
static void test_example(struct problems *problems, const struct rule *rule,
                         const struct place *place, const char *text, bool should)
{
    const char *const *words;
    size_t n_words;
    struct file_id id;
    struct err err;

    if (words_split(text, problems->arena, &words, &n_words, &err) < 0) {
        (void) problem_add(problems, rule->line, place, "%s", err.message);
        return;
    }
    bool is_known = find_program(words[0], &id);
    if (match_program(rule, is_known ? &id : NULL, words + 1, n_words - 1) != should)
        (void) problem_add(problems, rule->line, place,
                           should ? "'%.128s' is not matched by this rule: correct one of them"
                                  : "'%.128s' is matched by this rule: correct one of them",
                           text);
}

static void test_examples(struct problems *problems, const struct rule *rule,
                          const struct place *place)
{
    const struct {
        const char *key;
        const char *const *texts;
        bool should;
    } lists[] = {{"match", rule->examples->match, true},
                 {"no_match", rule->examples->no_match, false}};

    for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
        const struct place list = {.up = place, .key = lists[i].key};
        for (size_t j = 0; lists[i].texts[j]; j++) {
            const struct place here = {.up = &list, .index = j};
            test_example(problems, rule, &here, lists[i].texts[j], lists[i].should);
        }
    }
}

int policy_resolve_programs(struct policy *policy, struct problems *problems, struct err *err)
{
    const struct place root = {.up = NULL}, section = {.up = &root, .key = "exec"};

    for (int verdict = 0; verdict < VERDICTS; verdict++) {
        const struct rules *rules = &policy->rules[SECTION_EXEC][verdict];
        const struct place list = {.up = &section, .key = verdict_names[verdict]};
        for (size_t i = 0; i < rules->count; i++) {
            struct rule *rule = &rules->items[i];
            const struct place here = {.up = &list, .index = i};
            rule->has_program_id = rule->program && find_program(rule->program, &rule->program_id);
            if (rule->examples && (rule->has_program_id || rule->is_any))
                test_examples(problems, rule, &here);
        }
    }
    return problems->no_memory ? err_no_memory(err) : 0;
}
