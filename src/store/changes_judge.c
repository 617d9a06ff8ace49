#include "store/changes_judge.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "store/changes_rules.h"

/* ---- entries around it ----------------------------------------------------------------------- */

void changes_above_set(struct changes_above *above, const struct change *change)
{
    above->there = true;
    above->dir = change->dir;
    memcpy(above->path, change->path, strlen(change->path) + 1); /* it was read into as much */
}

static bool lies_in(const char *path, const char *directory)
{
    size_t len = strlen(directory);

    return strncmp(path, directory, len) == 0 && path[len] == '/';
}

bool changes_above_has(const struct changes_above *above, const struct change *change)
{
    return above->there && above->dir == change->dir && lies_in(change->path, above->path);
}

/* A directory that has to be made. */
static bool makes_directory(const struct change *change)
{
    return change->kind != CHANGE_DELETED && change->type == CHANGE_DIRECTORY &&
           !(change->host.there && change->host.type == CHANGE_DIRECTORY);
}

/* A directory of the host that has to go, as a whole or for something else of its name. */
static bool removes_directory(const struct change *change)
{
    return change->host.there && change->host.type == CHANGE_DIRECTORY &&
           (change->kind == CHANGE_DELETED || change->type != CHANGE_DIRECTORY);
}

/* ---- what is on the host --------------------------------------------------------------------- */

static bool is_same_inode(const struct change_host *a, const struct change_host *b)
{
    return a->there && b->there && a->type == b->type && a->dev == b->dev && a->ino == b->ino;
}

static int fail(const struct changes_judge *judge, const struct change *change, struct err *err)
{
    return err_sys(err, ERR_HOST, "cannot look at '%s' in '%s'", change->path,
                   judge->changes->dirs[change->dir].host);
}

/* Bytes are compared only where the size is right. */
static int has_content(const struct changes_judge *judge, const struct change *change,
                       const struct change_host *now, int parent, const char *name, bool *ret_has,
                       struct err *err)
{
    *ret_has = false;
    if (now->size != change->size)
        return 0;
    _cleanup_fd_ int kept = changes_set_content(judge->set, change, err);
    if (kept < 0)
        return -1;
    _cleanup_fd_ int host = changes_open_file(parent, name);
    if (host < 0)
        return 0; /* not to be read, so not ours */
    return changes_compare(kept, host, ret_has) < 0 ? fail(judge, change, err) : 0;
}

/* Whether what is there is what apply would put there. */
static int is_wanted(const struct changes_judge *judge, const struct change *change,
                     const struct change_host *now, int parent, const char *name, bool *ret_is,
                     struct err *err)
{
    char target[CHANGES_PATH_SIZE];

    *ret_is = false;
    if (!now->there || now->type != change->type)
        return 0;
    if (change->type == CHANGE_SYMLINK) {
        *ret_is =
            changes_read_link(parent, name, target) == 0 && strcmp(target, change->target) == 0;
        return 0;
    }
    if (now->mode != change->mode)
        return 0;
    if (change->content)
        return has_content(judge, change, now, parent, name, ret_is, err);
    *ret_is = change->type == CHANGE_DIRECTORY ||
              (is_same_inode(now, &change->host) && now->size == change->host.size &&
               now->mtime_ns == change->host.mtime_ns);
    return 0;
}

/* A state that only an apply that was cut off leaves. */
static bool is_half_done(const struct change *change, const struct change_host *now)
{
    if (makes_directory(change))
        return !now->there || now->type == CHANGE_DIRECTORY;
    if (removes_directory(change))
        return is_same_inode(now, &change->host) || (!now->there && change->kind == CHANGE_CHANGED);
    return false;
}

/* Whether the host's is the one that the guest saw. */
static bool is_untouched(const struct changes_judge *judge, const struct change *change,
                         const struct change_host *now)
{
    bool is_directory = change->type == CHANGE_DIRECTORY && change->kind == CHANGE_CHANGED;

    if (is_directory && change->host.type == CHANGE_DIRECTORY) /* others may be at work in it */
        return is_same_inode(now, &change->host) && now->mode == change->host.mode;
    return changes_is_same(now, &change->host, judge->before == NULL);
}

static int judge_there(const struct changes_judge *judge, const struct change *change, int parent,
                       const char *name, struct changes_judgement *ret, struct err *err)
{
    struct change_host now;
    bool wanted;

    if (changes_look(parent, name, &now) < 0) {
        if (errno != EXDEV)
            return fail(judge, change, err);
        *ret = (struct changes_judgement){VERDICT_REFUSED, REFUSAL_MOUNT, NULL};
        return 0;
    }
    if (is_untouched(judge, change, &now)) /* of what was added: it is not there */
        return 0;
    if (change->kind == CHANGE_DELETED)
        wanted = !now.there;
    else if (is_wanted(judge, change, &now, parent, name, &wanted, err) < 0)
        return -1;
    if (wanted)
        ret->verdict = VERDICT_ALREADY;
    else if (!judge->before || !is_half_done(change, &now))
        *ret = (struct changes_judgement){VERDICT_REFUSED, REFUSAL_CHANGED, NULL};
    return 0;
}

/* The directory it lies in cannot be entered; errno says why. */
static int judge_unreached(const struct changes_judge *judge, const struct change *change,
                           struct changes_judgement *ret, struct err *err)
{
    bool is_link = errno == ELOOP;

    if (errno == EXDEV) {
        *ret = (struct changes_judgement){VERDICT_REFUSED, REFUSAL_MOUNT, NULL};
        return 0;
    }
    if (errno != ENOENT && errno != ENOTDIR && errno != ELOOP)
        return fail(judge, change, err);
    if (changes_above_has(&judge->coming, change))
        return 0;
    /* Nothing is beneath a directory that is gone; behind a symlink there may be, unless it is
       ours. */
    if (change->kind == CHANGE_DELETED && (!is_link || judge->before))
        ret->verdict = VERDICT_ALREADY;
    else
        *ret = (struct changes_judgement){VERDICT_REFUSED, REFUSAL_CHANGED, NULL};
    return 0;
}

/* ---- the verdict ----------------------------------------------------------------------------- */

static enum change_refusal judge_alone(const struct changes_judge *judge,
                                       const struct change *change, const char **ret_rule)
{
    enum change_refusal flaw =
        change->refused ? change->refused : change_flaw(change, change->mode);

    if (flaw)
        return flaw;
    if (!judge->before) /* rules that were named then need not be named again */
        *ret_rule = change_rule(judge->changes->dirs[change->dir].host, change, judge->unprotected);
    if (*ret_rule)
        return REFUSAL_PROTECTED;
    if (changes_above_has(&judge->refused, change))
        return REFUSAL_ABOVE;
    /* What lies in it came just before it. */
    bool something_stays = judge->staying.there && judge->staying.dir == change->dir &&
                           lies_in(judge->staying.path, change->path);
    return removes_directory(change) && something_stays ? REFUSAL_BELOW : REFUSAL_NONE;
}

/* For those that follow. Of directories in directories the outermost is remembered. */
static void remember(struct changes_judge *judge, const struct change *change,
                     enum changes_verdict verdict)
{
    bool goes = change->kind == CHANGE_DELETED || removes_directory(change);

    if (verdict == VERDICT_DO && makes_directory(change) &&
        !changes_above_has(&judge->coming, change))
        changes_above_set(&judge->coming, change);
    if (verdict == VERDICT_REFUSED && makes_directory(change) &&
        !changes_above_has(&judge->refused, change))
        changes_above_set(&judge->refused, change);
    if (verdict == VERDICT_REFUSED && goes)
        changes_above_set(&judge->staying, change);
}

/* Behind the verdicts come the reasons to refuse. */
#define PACKED_REFUSALS 16

uint8_t changes_judgement_pack(const struct changes_judgement *judgement)
{
    if (judgement->verdict != VERDICT_REFUSED)
        return (uint8_t) judgement->verdict;
    return (uint8_t) (PACKED_REFUSALS + judgement->why);
}

static enum change_refusal refused_before(const struct changes_judge *judge,
                                          const struct change *change)
{
    uint8_t packed = judge->before ? judge->before[change->number] : 0;

    if (packed < VERDICT_REFUSED)
        return REFUSAL_NONE;
    /* A byte that is none of ours refuses, too. */
    return packed > PACKED_REFUSALS && packed < PACKED_REFUSALS + REFUSALS
               ? (enum change_refusal)(packed - PACKED_REFUSALS)
               : REFUSAL_CHANGED;
}

int changes_judge(struct changes_judge *judge, const struct change *change,
                  struct changes_judgement *ret, struct err *err)
{
    const char *name;
    int parent, rc = 0;

    *ret = (struct changes_judgement){VERDICT_DO, REFUSAL_NONE, NULL};
    ret->why = refused_before(judge, change);
    if (!ret->why)
        ret->why = judge_alone(judge, change, &ret->rule);
    if (ret->why)
        ret->verdict = VERDICT_REFUSED;
    else if (!judge->before && changes_above_has(&judge->coming, change))
        rc = 0; /* what is not there has nothing in it */
    else if (changes_hosts_enter(judge->hosts, change, &parent, &name) < 0)
        rc = judge_unreached(judge, change, ret, err);
    else
        rc = judge_there(judge, change, parent, name, ret, err);
    if (rc == 0)
        remember(judge, change, ret->verdict);
    return rc;
}
