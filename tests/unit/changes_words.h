/*
 * changes_words: what is kept, as text to compare with what is expected. Each program includes this
 * header once, behind tap.h.
 */
#pragma once

#include "changes_tree.h"

/* A line for each entry: what became of it, and what stands against it. */
MAYBE_UNUSED static const char *describe(const struct changes *changes, struct arena *arena)
{
    _cleanup_(buf_release) struct buf text = BUF_INIT(TREE_MAX);

    for (size_t i = 0; i < changes->n_entries; i++) {
        const struct change *change = &changes->entries[i];
        (void) buf_printf(&text, "%s %s ", change_kind_name(change->kind), /* small */
                          change_type_name(change->type));
        (void) change_quote(&text, "", change->path); /* as above */
        if (change->kind != CHANGE_DELETED && change->type != CHANGE_SYMLINK)
            (void) buf_printf(&text, " %04o%s", change->mode, change->content ? " content" : "");
        if (change->target)
            (void) buf_printf(&text, " -> %s", change->target);
        if (change->protected_by)
            (void) buf_printf(&text, " (%s)", change->protected_by);
        if (change->refused)
            (void) buf_printf(&text, " !%s", change_refusals[change->refused].name);
        (void) buf_add_char(&text, '\n');
    }
    return arena_strdup(arena, text.data ? text.data : "");
}

MAYBE_UNUSED static bool is_described(const struct changes *changes, struct arena *arena,
                                      const char *expected)
{
    const char *text = describe(changes, arena);

    if (strcmp(text, expected) == 0)
        return true;
    printf("# expected:\n%s# is:\n%s", expected, text);
    return false;
}

MAYBE_UNUSED static void test_table(const char *sentence, const struct tree_item *lower,
                                    const struct tree_item *upper, const char *expected)
{
    _cleanup_(ground_release) struct ground ground;
    struct changes changes, loaded;
    struct err err = {0};

    if (!ok(ground_init(&ground, lower) && make_tree(ground.upper, upper), "the trees are made"))
        return;
    bool kept = keep(&ground, NULL, &changes, &err) == 0;
    ok(kept && is_described(&changes, ground.arena, expected), "%s%s", sentence, err.message);
    if (!kept || !changes.kept)
        return;
    ok(changes_load(ground.state, RUN_ID, ground.arena, &loaded, &err) == 0 &&
           is_described(&loaded, ground.arena, expected),
       "and what is kept says the same%s", err.message);
}
