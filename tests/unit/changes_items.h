/*
 * changes_items: changes of every kind, as trees, and the host after them. Each program includes it
 * once, behind tap.h.
 */
#pragma once

#include "changes_tree.h"

MAYBE_UNUSED static const struct tree_item lower_items[] = {
    {"bytes", TREE_FILE, "old\n", 0},  {"mode", TREE_FILE, "mode", 0},
    {"gone", TREE_FILE, "gone", 0},    {"dir", TREE_DIR, NULL, 0},
    {"dir/in", TREE_FILE, "in", 0},    {"dir/out", TREE_FILE, "out", 0},
    {"all", TREE_DIR, NULL, 0},        {"all/a", TREE_FILE, "a", 0},
    {"all/b", TREE_HARD, "all/a", 0},  {"all/c", TREE_DIR, NULL, 0},
    {"all/c/d", TREE_LINK, "x", 0},    {"to_file", TREE_DIR, NULL, 0},
    {"to_file/a", TREE_FILE, "a", 0},  {"to_dir", TREE_FILE, "text", 0},
    {"to_link", TREE_DIR, NULL, 0},    {"to_link/a", TREE_FILE, "a", 0},
    {"link", TREE_LINK, "bytes", 0},   {"chmod", TREE_DIR, NULL, 0},
    {"untouched", TREE_FILE, "me", 0}, {NULL, 0, NULL, 0},
};

MAYBE_UNUSED static const struct tree_item upper_items[] = {
    {"bytes", TREE_FILE, "new\n", 0},
    {"mode", TREE_FILE, "mode", 0755},
    {"gone", TREE_WHITEOUT, NULL, 0},
    {"dir", TREE_DIR, NULL, 0},
    {"dir/out", TREE_WHITEOUT, NULL, 0},
    {"dir/new", TREE_FILE, "new", 0600},
    {"all", TREE_WHITEOUT, NULL, 0},
    {"to_file", TREE_FILE, "file", 0},
    {"to_dir", TREE_DIR, NULL, 0},
    {"to_dir/sub", TREE_DIR, NULL, 0},
    {"to_dir/sub/in", TREE_FILE, "in", 0},
    {"to_link", TREE_LINK, "dir", 0},
    {"link", TREE_LINK, "dir/in", 0},
    {"chmod", TREE_DIR, NULL, 0700},
    {"new", TREE_DIR, NULL, 0},
    {"new/dir", TREE_DIR, NULL, 0700},
    {"new/dir/file", TREE_FILE, "x", 0755},
    {"new/link", TREE_LINK, "../bytes", 0},
    {NULL, 0, NULL, 0},
};

/* What the host then has. */
MAYBE_UNUSED static const struct tree_item result_items[] = {
    {"bytes", TREE_FILE, "new\n", 0},
    {"mode", TREE_FILE, "mode", 0755},
    {"dir", TREE_DIR, NULL, 0},
    {"dir/in", TREE_FILE, "in", 0},
    {"dir/new", TREE_FILE, "new", 0600},
    {"to_file", TREE_FILE, "file", 0},
    {"to_dir", TREE_DIR, NULL, 0},
    {"to_dir/sub", TREE_DIR, NULL, 0},
    {"to_dir/sub/in", TREE_FILE, "in", 0},
    {"to_link", TREE_LINK, "dir", 0},
    {"link", TREE_LINK, "dir/in", 0},
    {"chmod", TREE_DIR, NULL, 0700},
    {"untouched", TREE_FILE, "me", 0},
    {"new", TREE_DIR, NULL, 0},
    {"new/dir", TREE_DIR, NULL, 0700},
    {"new/dir/file", TREE_FILE, "x", 0755},
    {"new/link", TREE_LINK, "../bytes", 0},
    {NULL, 0, NULL, 0},
};

/* Trees are made and changes kept; true if so. */
MAYBE_UNUSED static bool prepare(struct ground *ground, const struct tree_item *lower,
                                 const struct tree_item *upper)
{
    struct changes changes;
    struct err err = {0};

    return ok(ground_init(ground, lower) && make_tree(ground->upper, upper) &&
                  keep(ground, NULL, &changes, &err) == 0 && changes.kept,
              "changes are kept%s", err.message);
}

MAYBE_UNUSED static bool is_result(struct ground *ground, const struct tree_item *items)
{
    _cleanup_(buf_release) struct buf expected;
    char path[80];

    (void) snprintf(path, sizeof(path), "%s/expected", ground->base);
    if (mkdir(path, 0755) < 0 || !make_tree(path, items))
        return false;
    tree_text(path, &expected);
    remove_tree(AT_FDCWD, path);
    return same_tree(ground->lower, &expected);
}

MAYBE_UNUSED static bool refuses(const struct changes_outcome *outcome, const char *path,
                                 enum change_refusal why)
{
    for (size_t i = 0; i < outcome->n_listed; i++)
        if (strcmp(outcome->refused[i].change.path, path) == 0)
            return outcome->refused[i].why == why;
    return false;
}

MAYBE_UNUSED static enum changes_state state_of(struct ground *ground)
{
    struct changes changes = {.state = CHANGES_STATES};
    struct err err;

    (void) changes_load(ground->state, RUN_ID, ground->arena, &changes, &err); /* then it is none */
    return changes.state;
}
