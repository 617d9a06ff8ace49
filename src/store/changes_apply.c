/*
 * Apply: judge all, then act in passes over all entries. Nothing that the host had is touched
 * before every new byte is on its disk; a pass that is cut off is done again by the next apply.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "store/changes_act.h"
#include "store/changes_judge.h"
#include "store/changes_set.h"

struct applying {
    const struct changes_options *options;
    struct arena *arena;
    struct changes_set set;
    struct changes changes;
    struct changes_hosts hosts;
    struct changes_entries entries;
    uint8_t *judged;      /* by number, as changes_judgement_pack has it */
    uint8_t *before;      /* the same of an apply that was interrupted; or NULL */
    uint64_t n_surprises; /* refused now, and not by an apply that was interrupted */
    struct changes_outcome outcome;
};

static void applying_release(struct applying *applying)
{
    changes_entries_release(&applying->entries);
    changes_hosts_release(&applying->hosts);
    changes_set_release(&applying->set);
    free(applying->judged);
    free(applying->before);
}

/* As long as nothing that the host had is touched. */
static int check_cancelled(const struct applying *applying, struct err *err)
{
    const struct changes_options *options = applying->options;

    if (!options->is_cancelled || !options->is_cancelled(options->data))
        return 0;
    return err_set(err, ERR_HOST, "cancelled: nothing more was changed");
}

/* ---- judging --------------------------------------------------------------------------------- */

static int note_refused(struct applying *applying, const struct change *change,
                        const struct changes_judgement *judgement, struct err *err)
{
    struct changes_outcome *outcome = &applying->outcome;

    outcome->n_refused++;
    applying->n_surprises +=
        !applying->before || applying->before[change->number] < VERDICT_REFUSED;
    if (outcome->n_listed == CHANGES_LISTED)
        return 0;
    if (!outcome->refused)
        outcome->refused = arena_array(applying->arena, CHANGES_LISTED, sizeof(*outcome->refused));
    if (!outcome->refused)
        return err_no_memory(err);
    struct changes_refused *refused = &outcome->refused[outcome->n_listed++];
    refused->why = judgement->why;
    refused->rule = judgement->rule; /* a row of a table */
    return change_copy(change, applying->arena, &refused->change, err);
}

static int note(struct applying *applying, const struct change *change,
                const struct changes_judgement *judgement, struct err *err)
{
    applying->judged[change->number] = changes_judgement_pack(judgement);
    switch (judgement->verdict) {
    case VERDICT_DO:
        applying->outcome.n_applied++;
        return 0;
    case VERDICT_ALREADY:
        applying->outcome.n_already++;
        return 0;
    case VERDICT_REFUSED:
        break;
    }
    return note_refused(applying, change, judgement, err);
}

static int judge_all(struct applying *applying, struct err *err)
{
    struct changes_judge judge = {
        .set = &applying->set,
        .changes = &applying->changes,
        .hosts = &applying->hosts,
        .unprotected = applying->options->unprotected,
        .before = applying->before,
    };
    struct changes_judgement judgement;
    const struct change *change;

    applying->judged = calloc(changes_total(&applying->changes) + 1, 1);
    if (!applying->judged)
        return err_no_memory(err);
    for (;;) {
        if (changes_entries_next(&applying->entries, &change, err) < 0)
            return -1;
        if (!change)
            return 0;
        if (check_cancelled(applying, err) < 0 ||
            changes_judge(&judge, change, &judgement, err) < 0 ||
            note(applying, change, &judgement, err) < 0)
            return -1;
    }
}

/* ---- acting ---------------------------------------------------------------------------------- */

/* The place is forgotten: another pass may have put something else there. */
static int run_pass(struct applying *applying, changes_act *act, bool cancellable, struct err *err)
{
    struct changes_acting acting = {
        .set = &applying->set,
        .changes = &applying->changes,
        .hosts = &applying->hosts,
        .resumed = applying->outcome.resumed,
        .skip_refused = applying->options->skip_refused,
    };
    const struct change *change;

    changes_place_forget(&applying->hosts.place);
    if (changes_entries_rewind(&applying->entries, err) < 0)
        return -1;
    for (;;) {
        if (changes_entries_next(&applying->entries, &change, err) < 0)
            return -1;
        if (!change)
            break;
        if (applying->judged[change->number] != VERDICT_DO)
            continue;
        if ((cancellable && check_cancelled(applying, err) < 0) || act(&acting, change, err) < 0)
            return -1;
    }
    applying->outcome.n_applied -= acting.n_left;
    applying->outcome.n_refused += acting.n_left;
    return 0;
}

static int sync_hosts(struct applying *applying, struct err *err)
{
    for (size_t i = 0; i < applying->hosts.count; i++)
        if (syncfs(applying->hosts.fds[i]) < 0)
            return err_sys(err, ERR_HOST, "cannot write '%s' to the disk",
                           applying->changes.dirs[i].host);
    return 0;
}

/* From here on the next apply finishes what this one judged. */
static int begin(struct applying *applying, struct err *err)
{
    if (applying->outcome.resumed)
        return 0;
    return changes_set_write(&applying->set, CHANGES_APPLYING_FILE, applying->judged,
                             changes_total(&applying->changes), err);
}

static int resume(struct applying *applying, struct err *err)
{
    _cleanup_(buf_release) struct buf judged = BUF_INIT(changes_total(&applying->changes));

    applying->outcome.resumed = true;
    if (changes_set_load(&applying->set, CHANGES_APPLYING_FILE, &judged, err) < 0)
        return -1;
    if (judged.len != judged.max || judged.len == 0)
        return err_set(err, ERR_HOST, "the changes of run '%s' are damaged: '%s' has another size",
                       applying->set.run_id, CHANGES_APPLYING_FILE);
    applying->before = (uint8_t *) judged.data;
    judged.data = NULL;
    return 0;
}

/* If it was not begun before, too, the host is then as it was. */
static void take_back(struct applying *applying)
{
    changes_place_forget(&applying->hosts.place);
    changes_undo(&applying->set, &applying->changes, &applying->hosts, applying->judged);
    if (!applying->outcome.resumed)
        (void) unlinkat(applying->set.dir, CHANGES_APPLYING_FILE, 0); /* or the next one resumes */
}

static int act(struct applying *applying, struct err *err)
{
    static changes_act *const passes[] = {changes_act_commit, changes_act_late, changes_act_remove,
                                          changes_act_modes};

    if (run_pass(applying, changes_act_stage, true, err) < 0 || sync_hosts(applying, err) < 0) {
        take_back(applying);
        return -1;
    }
    int rc = 0;
    for (size_t i = 0; i < ARRAY_SIZE(passes) && rc == 0; i++)
        rc = run_pass(applying, passes[i], false, err);
    if (rc == 0 && sync_hosts(applying, err) == 0)
        return 0;
    return err_hint(err, "some of it is applied: 'wasp changes apply %s' goes on",
                    applying->set.run_id);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int finish(struct applying *applying, struct err *err)
{
    _cleanup_(buf_release) struct buf text = BUF_INIT(4096);
    struct changes *changes = &applying->changes;
    struct json_writer json;

    clock_format(clock_realtime_ns(), changes->applied_at);
    changes->n_applied = applying->outcome.n_applied + applying->outcome.n_already;
    changes->n_left_out = applying->outcome.n_refused;
    json_writer_init_buf(&json, &text);
    changes_write_applied(&json, changes);
    if (json_finish(&json) < 0)
        return err_no_memory(err);
    if (changes_set_write(&applying->set, CHANGES_APPLIED_FILE, text.data, text.len, err) < 0)
        return err_hint(err,
                        "all of it is applied, but that is not on record: 'wasp changes apply "
                        "%s' puts it there",
                        applying->set.run_id);
    changes_set_trim(&applying->set);
    applying->outcome.done = true;
    return 0;
}

/* Who asks again, for want of an answer, gets it. */
static int answer_again(struct applying *applying)
{
    changes_set_trim(&applying->set);
    applying->outcome.done = true;
    applying->outcome.n_already = applying->changes.n_applied;
    applying->outcome.n_refused = applying->changes.n_left_out;
    return 0;
}

static int apply(struct applying *applying, struct err *err)
{
    const struct changes_outcome *outcome = &applying->outcome;

    if (applying->changes.state == CHANGES_APPLIED)
        return answer_again(applying);
    if (applying->changes.state == CHANGES_APPLYING && resume(applying, err) < 0)
        return -1;
    if (changes_hosts_open(&applying->changes, &applying->hosts, err) < 0 ||
        changes_entries_open(&applying->set, &applying->changes, &applying->entries, err) < 0 ||
        judge_all(applying, err) < 0)
        return -1;
    if (applying->n_surprises > 0 && !applying->options->skip_refused)
        return 0;
    if (outcome->n_applied > 0 && (begin(applying, err) < 0 || act(applying, err) < 0))
        return -1;
    return finish(applying, err);
}

int changes_apply(const char *state_dir, const char *run_id, const struct changes_options *options,
                  struct arena *arena, struct changes_outcome *ret_outcome, struct err *err)
{
    _cleanup_(changes_store_release) struct changes_store store = CHANGES_STORE_NONE;
    _cleanup_(applying_release) struct applying applying = {
        .options = options,
        .arena = arena,
        .set = CHANGES_SET_NONE,
        .entries.fd = -1,
    };

    if (changes_store_open(state_dir, &store, err) < 0 ||
        changes_set_open(&store, run_id, LOCK_EX, &applying.set, err) < 0 ||
        changes_set_read(&applying.set, arena, &applying.changes, err) < 0)
        return -1;
    if (apply(&applying, err) < 0)
        return -1;
    *ret_outcome = applying.outcome;
    return 0;
}
