/*
 * The changes as a diff in git's form: what git apply and patch make of it is what apply would, for
 * all that such a diff can say.
 */
#include <errno.h>
#include <inttypes.h>
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
    bool too_large;    /* text is then not it */
    const char *mode;  /* as git has it: whether it is executable, and what it is */
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
static int put_note(struct diffing *diffing, const char *path, const char *text)
{
    struct buf *part = &diffing->part;

    if (buf_add_string(part, "# ") < 0 || change_quote(part, "", path) < 0)
        return -1;
    return buf_printf(part, " %s\n", text);
}

static int put_notes(struct diffing *diffing, const struct change *change,
                     const struct change_host *now)
{
    bool is_directory = change->type == CHANGE_DIRECTORY;
    char text[96];

    (void) snprintf(text, sizeof(text), "is %s %s %s", is_directory ? "a directory that was" : "a", /* fits */
                    is_directory ? "" : change_type_name(change->type),
                    is_directory ? change_kind_name(change->kind) : "and cannot be shown");
    if ((is_directory || change->type > CHANGE_SYMLINK) && put_note(diffing, change->path, text) < 0)
        return -1;
    if (change->refused &&
        put_note(diffing, change->path, change_refusals[change->refused].text) < 0)
        return -1;
    if (change->protected_by) {
        (void) snprintf(text, sizeof(text), "is protected by the rule %s", change->protected_by);
        if (put_note(diffing, change->path, text) < 0)
            return -1;
    }
    if (!change->refused && !is_directory && !changes_is_same(now, &change->host, true))
        return put_note(diffing, change->path, change_refusals[REFUSAL_CHANGED].text);
    return 0;
}
