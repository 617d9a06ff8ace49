/*
 * Any bytes as what is kept of changes: refused, or entries that keep what apply relies on and are
 * written as they were read. The first byte says which kind: an entry, a record, or both sides of a
 * diff.
 */
#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "store/changes_host.h"
#include "store/changes_record.h"
#include "store/changes_rules.h"
#include "store/changes_text.h"

#define ID "01890a5d-ac96-774b-bcce-b302099a8057"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_refusal(const struct err *err)
{
    assert((err->code == ERR_REQUEST || err->code == ERR_HOST) && err->message[0]);
    assert(utf8_valid(err->message, strlen(err->message)) && !strchr(err->message, '\n'));
}

static void check_change(const struct change *change)
{
    assert(change->path[0] && change->path[0] != '/' && strlen(change->path) < CHANGES_PATH_SIZE);
    assert(strcmp(change->path, "..") != 0 && !strstr(change->path, "/../"));
    assert(change->kind < CHANGE_KINDS && change->type < CHANGE_TYPES);
    assert(change->host.there == (change->kind != CHANGE_ADDED));
    assert(!change->content || change->type == CHANGE_FILE);
    assert(!change->target == !(change->type == CHANGE_SYMLINK && change->kind != CHANGE_DELETED));
    (void) change_rule("/h", change, NULL); /* any answer, but an answer */
    if (change->target && !change_link_leads_out(change->path, change->target))
        assert(change->target[0] != '/');
}

static void try_entry(const char *text, size_t len)
{
    _cleanup_(buf_release) struct buf again = BUF_INIT((size_t) 1024 * 1024);
    struct change_line line, second;
    struct json_writer json;
    struct err err = {0};

    if (change_parse(text, len, &line, &err) < 0) {
        check_refusal(&err);
        return;
    }
    check_change(&line.change);
    json_writer_init_buf(&json, &again);
    change_write(&json, &line.change);
    assert(json_finish(&json) == 0);
    assert(change_parse(again.data, again.len, &second, &err) == 0);
    assert(strcmp(line.path, second.path) == 0 && strcmp(line.target, second.target) == 0);
    assert(changes_is_same(&line.change.host, &second.change.host, true));
}

static void try_record(const char *text, size_t len)
{
    struct arena *arena = arena_new();
    struct changes changes;
    struct err err = {0};

    if (arena && changes_parse(text, len, ID, arena, &changes, &err) < 0)
        check_refusal(&err);
    else if (arena)
        for (size_t i = 0; i < changes.n_dirs; i++)
            assert(changes.dirs[i].host[0] == '/' && changes.dirs[i].guest);
    arena_free(arena);
}

/* The lines that stay are the same on both sides. */
static void check_same(const struct diff_side *a, const struct diff_side *b)
{
    size_t i = 0;

    for (size_t j = 0; j < b->count; j++) {
        while (!b->lines[j].changed && a->lines[i].changed)
            i++;
        assert(b->lines[j].changed || a->lines[i++].id == b->lines[j].id);
    }
    for (; i < a->count; i++)
        assert(a->lines[i].changed);
}

static void try_diff(const char *text, size_t len)
{
    _cleanup_(buf_release) struct buf hunks = BUF_INIT((size_t) 64 * 1024 * 1024);
    _cleanup_(diff_release) struct diff_side a, b;
    const char *middle = len > 0 ? memchr(text, '\0', len) : NULL;
    size_t a_len = middle ? (size_t) (middle - text) : len;
    const char *rest = middle ? middle + 1 : text + len;
    size_t b_len = (size_t) (text + len - rest);
    int64_t budget = 5000;
    bool coarse;

    if (diff_texts(text, a_len, rest, b_len, &budget, &a, &b, &coarse) < 0) {
        assert(errno == EFBIG || errno == ENOMEM);
        return;
    }
    assert(changes_put_hunks(&hunks, &a, &b) == 0);
    check_same(&a, &b);
    assert((hunks.len == 0) == (a_len == b_len && memcmp(text, rest, a_len) == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const tries[])(const char *text, size_t len) = {try_entry, try_record, try_diff};

    if (size > 0)
        tries[data[0] % ARRAY_SIZE(tries)]((const char *) data + 1, size - 1);
    return 0;
}
