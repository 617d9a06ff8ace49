/*
 * The changes as a diff in git's form: what git apply and patch make of it is what apply would, for
 * all that such a diff can say.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "store/changes_host.h"
#include "store/changes_set.h"
#include "store/changes_text.h"

#define MAX_PART_BYTES (4 * DIFF_MAX_BYTES) /* of one file: both sides and what is around them */
#define STEPS_A_FILE INT64_C(8000000)       /* some 50 ms */
#define STEPS_IN_ALL INT64_C(200000000)

/* One side of a file: nothing, or text. */
struct side {
    bool there;
    bool too_large;   /* text is then not it */
    const char *mode; /* as git has it: whether it is executable, and what it is */
    struct buf text;
};

struct diffing {
    const struct changes_set *set;
    const struct changes *changes;
    struct changes_hosts *hosts;
    struct changes_text *out;
    int64_t steps; /* left of STEPS_IN_ALL */
    struct buf part;
};

/* ---- reading --------------------------------------------------------------------------------- */

static const char *git_mode(enum change_type type, uint32_t mode)
{
    if (type == CHANGE_SYMLINK)
        return "120000";
    return mode & 0100 ? "100755" : "100644";
}

/* A file of any size: what is too large is not read. */
static int read_text(int fd, struct side *side, struct err *err)
{
    struct stat st;
    char *room;

    if (fstat(fd, &st) < 0 || lseek(fd, 0, SEEK_SET) < 0)
        return err_sys(err, ERR_HOST, "cannot read a changed file");
    side->too_large = st.st_size > DIFF_MAX_BYTES;
    if (side->too_large || st.st_size == 0)
        return 0;
    if (buf_reserve(&side->text, (size_t) st.st_size, &room) < 0)
        return err_no_memory(err);
    ssize_t n = fd_read_full(fd, room, (size_t) st.st_size);
    if (n < 0)
        return err_sys(err, ERR_HOST, "cannot read a changed file");
    buf_commit(&side->text, (size_t) n);
    return 0;
}

static int set_text(struct side *side, const char *text, struct err *err)
{
    return buf_add_string(&side->text, text) < 0 ? err_no_memory(err) : 0;
}

/* What the host has now; if it is neither file nor symlink, nothing. */
static int read_host(struct diffing *diffing, const struct change *change, struct side *side,
                     struct change_host *ret_now, struct err *err)
{
    char target[CHANGES_PATH_SIZE];
    const char *name;
    int parent;

    *ret_now = (struct change_host){.there = false};
    if (changes_hosts_enter(diffing->hosts, change, &parent, &name) < 0 ||
        changes_look(parent, name, ret_now) < 0 || !ret_now->there)
        return 0;
    side->mode = git_mode(ret_now->type, ret_now->mode);
    if (ret_now->type == CHANGE_SYMLINK && changes_read_link(parent, name, target) == 0) {
        side->there = true;
        return set_text(side, target, err);
    }
    if (ret_now->type != CHANGE_FILE)
        return 0;
    _cleanup_fd_ int fd = changes_open_file(parent, name);
    if (fd < 0)
        return err_sys(err, ERR_HOST, "cannot read '%s' in '%s'", change->path,
                       diffing->changes->dirs[change->dir].host);
    side->there = true;
    return read_text(fd, side, err);
}

/* What apply would put there. */
static int read_kept(const struct diffing *diffing, const struct change *change,
                     const struct side *host, struct side *side, struct err *err)
{
    if (change->kind == CHANGE_DELETED || change->type > CHANGE_SYMLINK ||
        change->type == CHANGE_DIRECTORY)
        return 0;
    side->there = true;
    side->mode = git_mode(change->type, change->mode);
    if (change->type == CHANGE_SYMLINK)
        return set_text(side, change->target, err);
    if (!change->content) { /* only its mode changed */
        side->too_large = host->too_large;
        return buf_add(&side->text, host->text.data, host->text.len) < 0 ? err_no_memory(err) : 0;
    }
    _cleanup_fd_ int fd = changes_set_content(diffing->set, change, err);
    return fd < 0 ? -1 : read_text(fd, side, err);
}

/* ---- writing --------------------------------------------------------------------------------- */

/* 0, or -1 as buf_add; so are those below. */
__attribute__((format(printf, 3, 4))) static int put_note(struct buf *part, const char *path,
                                                          const char *format, ...)
{
    char text[160];
    va_list args;

    va_start(args, format);
    (void) vsnprintf(text, sizeof(text), format, args); /* words of ours: they fit */
    va_end(args);
    if (buf_add_string(part, "# ") < 0 || change_quote(part, "", path) < 0)
        return -1;
    return buf_printf(part, " %s\n", text);
}

/* What a diff has no words for. */
static int put_type(struct buf *part, const struct change *change)
{
    const char *type = change_type_name(change->type);

    if (change->type == CHANGE_DIRECTORY && change->kind == CHANGE_CHANGED &&
        change->host.type == CHANGE_DIRECTORY)
        return put_note(part, change->path, "is a directory and gets the mode %04o", change->mode);
    if (change->type == CHANGE_DIRECTORY)
        return put_note(part, change->path, "is a directory, %s",
                        change->kind == CHANGE_DELETED ? "deleted" : "added");
    if (change->type > CHANGE_SYMLINK)
        return put_note(part, change->path, "is a %s", type);
    bool both = change->kind == CHANGE_CHANGED && change->type == CHANGE_FILE &&
                change->host.type == CHANGE_FILE;
    if (both && ((change->mode ^ change->host.mode) & 0677))
        return put_note(part, change->path, "gets the mode %04o, and had %04o", change->mode,
                        change->host.mode);
    return 0;
}

static int put_notes(struct buf *part, const struct change *change, const struct change_host *now)
{
    bool touched = change->type != CHANGE_DIRECTORY && !changes_is_same(now, &change->host, true);
    enum change_refusal refused = change->refused ? change->refused
                                  : touched       ? REFUSAL_CHANGED
                                                  : REFUSAL_NONE;

    if (put_type(part, change) < 0)
        return -1;
    if (refused && put_note(part, change->path, "%s: refused", change_refusals[refused].text) < 0)
        return -1;
    return change->protected_by
               ? put_note(part, change->path, "is protected by the rule %s", change->protected_by)
               : 0;
}

/* One of the lines that name both sides; an absent one is /dev/null. */
static int put_names(struct buf *part, const char *before, const struct side *a,
                     const char *between, const struct side *b, const char *behind,
                     const char *path)
{
    if (buf_add_string(part, before) < 0 ||
        (a->there ? change_quote(part, "a/", path) : buf_add_string(part, "/dev/null")) < 0 ||
        buf_add_string(part, between) < 0 ||
        (b->there ? change_quote(part, "b/", path) : buf_add_string(part, "/dev/null")) < 0)
        return -1;
    return buf_add_string(part, behind);
}

static int put_modes(struct buf *part, const struct side *a, const struct side *b)
{
    if (!a->there)
        return buf_printf(part, "new file mode %s\n", b->mode);
    if (!b->there)
        return buf_printf(part, "deleted file mode %s\n", a->mode);
    if (strcmp(a->mode, b->mode) == 0)
        return 0;
    return buf_printf(part, "old mode %s\nnew mode %s\n", a->mode, b->mode);
}

static bool is_binary(const struct side *side)
{
    return side->too_large ||
           (side->text.len > 0 && memchr(side->text.data, '\0', side->text.len) != NULL);
}

static bool is_same_text(const struct side *a, const struct side *b)
{
    return !a->too_large && !b->too_large && a->text.len == b->text.len &&
           (a->text.len == 0 || memcmp(a->text.data, b->text.data, a->text.len) == 0);
}

/* A patch program stops here, as it should. Notes come behind: this must follow the modes. */
static int put_unshown(struct buf *part, const char *path, const struct side *a,
                       const struct side *b, const char *why)
{
    if (put_names(part, "Binary files ", a, " and ", b, " differ\n", path) < 0)
        return -1;
    return why ? put_note(part, path, "%s", why) : 0;
}

static int put_lines(struct diffing *diffing, const char *path, const struct side *a,
                     const struct side *b)
{
    _cleanup_(diff_release) struct diff_side old, new;
    int64_t budget = diffing->steps < STEPS_A_FILE ? diffing->steps : STEPS_A_FILE;
    int64_t given = budget;
    bool coarse = false;
    int rc = diff_texts(a->text.data, a->text.len, b->text.data, b->text.len, &budget, &old, &new,
                        &coarse);

    diffing->steps -= given - budget;
    if (rc < 0 && errno == EFBIG)
        return put_unshown(&diffing->part, path, a, b, "has too many lines to compare");
    if (rc < 0 || put_names(&diffing->part, "--- ", a, "\n+++ ", b, "\n", path) < 0 ||
        changes_put_hunks(&diffing->part, &old, &new) < 0)
        return -1;
    return coarse ? put_note(&diffing->part, path,
                             "differs too much to find the smallest diff: some lines are shown as "
                             "replaced that are the same")
                  : 0;
}

static int put_file(struct diffing *diffing, const struct change *change, const struct side *a,
                    const struct side *b)
{
    const struct side both = {.there = true};
    struct buf *part = &diffing->part;

    if (!a->there && !b->there)
        return 0;
    if (put_names(part, "diff --git ", &both, " ", &both, "\n", change->path) < 0 ||
        put_modes(part, a, b) < 0)
        return -1;
    if (is_same_text(a, b))
        return 0;
    if (is_binary(a) || is_binary(b))
        return put_unshown(part, change->path, a, b,
                           a->too_large || b->too_large ? "is too large to compare" : NULL);
    return put_lines(diffing, change->path, a, b);
}

/* What becomes something else goes first, then comes. */
static int put_change(struct diffing *diffing, const struct change *change, const struct side *a,
                      const struct side *b)
{
    const struct side none = {.there = false};
    bool other = a->there && b->there &&
                 (strcmp(a->mode, "120000") == 0) != (strcmp(b->mode, "120000") == 0);

    if (!other)
        return put_file(diffing, change, a, b);
    return put_file(diffing, change, a, &none) < 0 ? -1 : put_file(diffing, change, &none, b);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void side_release(struct side *side)
{
    buf_release(&side->text);
}

static int diff_entry(struct diffing *diffing, const struct change *change, struct err *err)
{
    _cleanup_(side_release) struct side a = {.text = BUF_INIT(DIFF_MAX_BYTES)};
    _cleanup_(side_release) struct side b = {.text = BUF_INIT(DIFF_MAX_BYTES)};
    struct change_host now;

    buf_release(&diffing->part);
    if (read_host(diffing, change, &a, &now, err) < 0 ||
        read_kept(diffing, change, &a, &b, err) < 0)
        return -1;
    if (put_notes(&diffing->part, change, &now) < 0 || put_change(diffing, change, &a, &b) < 0)
        return err_no_memory(err);
    return changes_text_put(diffing->out, diffing->part.data, diffing->part.len, err);
}

/* With several directories, paths alone do not say which one they are in. */
static int name_directory(struct diffing *diffing, uint64_t dir, struct err *err)
{
    buf_release(&diffing->part);
    if (diffing->changes->n_dirs < 2)
        return 0;
    if (put_note(&diffing->part, diffing->changes->dirs[dir].host,
                 "is the directory from here on") < 0)
        return err_no_memory(err);
    return changes_text_put(diffing->out, diffing->part.data, diffing->part.len, err);
}

static int diff_all(struct diffing *diffing, struct changes_entries *entries, struct err *err)
{
    uint64_t dir = UINT64_MAX;
    const struct change *change;

    for (;;) {
        if (changes_entries_next(entries, &change, err) < 0)
            return -1;
        if (!change || diffing->out->cut)
            return 0;
        if (change->dir != dir && name_directory(diffing, change->dir, err) < 0)
            return -1;
        dir = change->dir;
        if (diff_entry(diffing, change, err) < 0)
            return -1;
    }
}

static int refuse_applied(const struct changes *changes, struct err *err)
{
    return err_set(err, ERR_REQUEST, "the changes of run '%s' were applied at %s, and are gone",
                   changes->run_id, changes->applied_at);
}

int changes_diff(const char *state_dir, const char *run_id, struct changes_text *text,
                 struct arena *arena, struct err *err)
{
    _cleanup_(changes_store_release) struct changes_store store = CHANGES_STORE_NONE;
    _cleanup_(changes_set_release) struct changes_set set = CHANGES_SET_NONE;
    _cleanup_(changes_hosts_release) struct changes_hosts hosts = {.count = 0};
    _cleanup_(changes_entries_release) struct changes_entries entries = {.fd = -1};
    struct changes changes;

    if (changes_store_open(state_dir, &store, err) < 0 ||
        changes_set_open(&store, run_id, LOCK_SH, &set, err) < 0 ||
        changes_set_read(&set, arena, &changes, err) < 0)
        return -1;
    if (changes.state == CHANGES_APPLIED)
        return refuse_applied(&changes, err);
    if (changes_hosts_open(&changes, &hosts, err) < 0 ||
        changes_entries_open(&set, &changes, &entries, err) < 0)
        return -1;
    struct diffing diffing = {
        .set = &set,
        .changes = &changes,
        .hosts = &hosts,
        .out = text,
        .steps = STEPS_IN_ALL,
        .part = BUF_INIT(MAX_PART_BYTES),
    };
    int rc = diff_all(&diffing, &entries, err);
    buf_release(&diffing.part);
    return rc;
}
