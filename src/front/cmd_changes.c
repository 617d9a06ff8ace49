/*
 * changes: what runs did in overlay directories: list, show, diff, apply, discard.
 */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "front/environment.h"
#include "front/page.h"
#include "front/verb.h"
#include "plan/protected.h"
#include "report/changes.h"
#include "report/verdict.h"
#include "wasp.h"

/* failed is NULL if it went well. */
static int answer(const struct err *failed, uint64_t start_ns, bool quiet)
{
    const struct wasp_report report = {.out = STDOUT_FILENO, .log = quiet ? -1 : STDERR_FILENO};

    return wasp_answer(failed, clock_monotonic_ns() - start_ns, &report);
}

static int finish_json(struct json_writer *json)
{
    struct err err;

    if (json_finish(json) == 0)
        return 0;
    (void) err_sys(&err, ERR_HOST, "cannot write to standard output"); /* always -1 */
    return page_fail(&err);
}

/* The folder may be NULL: whoever uses it says what that means. */
static int read_state_dir(struct arena *arena, const char **ret_dir, struct err *err)
{
    struct environment environment;

    if (environment_read(arena, &environment, err) < 0)
        return -1;
    *ret_dir = environment.places.state_dir;
    return 0;
}

/* The operand that all but list have. */
struct target {
    const char *run_id;
    bool quiet;
};

static const struct operand run_operand = {"RUN_ID", .at = offsetof(struct target, run_id)};

/* The members of a set but for its entries. */
static void write_set(struct json_writer *json, const struct changes *changes)
{
    changes_write(json, changes);
    json_key(json, "state");
    json_put_string(json, changes_state_name(changes->state));
    if (changes->state != CHANGES_APPLIED)
        return;
    json_key(json, "applied_at");
    json_put_string(json, changes->applied_at);
    json_key(json, "applied");
    json_put_uint(json, changes->n_applied);
    json_key(json, "left_out");
    json_put_uint(json, changes->n_left_out);
}

/* ---- list ------------------------------------------------------------------------------------ */

static const struct syntax list_syntax = {.verb = "changes list"};

static void write_list(struct json_writer *json, const struct changes_list *list)
{
    json_open_object(json);
    json_key(json, "schema");
    json_put_string(json, "wasp.changes.list/1");
    json_key(json, "changes");
    json_open_array(json);
    for (size_t i = 0; i < list->n_sets; i++) {
        json_open_object(json);
        write_set(json, &list->sets[i]);
        json_close_object(json);
    }
    json_close_array(json);
    json_key(json, "problems");
    json_open_array(json);
    for (size_t i = 0; i < list->n_problems; i++) {
        json_open_object(json);
        json_key(json, "run_id");
        json_put_string(json, list->problems[i].run_id);
        json_key(json, "error");
        json_put_string(json, list->problems[i].error);
        json_close_object(json);
    }
    json_close_array(json);
    json_close_object(json);
}

static int list(const struct call *call)
{
    uint64_t start_ns = clock_monotonic_ns();
    struct changes_list found;
    struct json_writer json;
    const char *state_dir;
    struct err err;

    if (options_parse(&list_syntax, call->words, NULL, call->arena, &err) < 0 ||
        read_state_dir(call->arena, &state_dir, &err) < 0 ||
        changes_list(state_dir, call->arena, &found, &err) < 0)
        return answer(&err, start_ns, false);
    json_writer_init_fd(&json, STDOUT_FILENO);
    write_list(&json, &found);
    return finish_json(&json);
}

static const struct verb verb_list = {
    .syntax = &list_syntax,
    .summary = "print of which runs there are changes, as JSON",
    .about = "Prints the runs whose changes are kept, the oldest first, and those that are damaged "
             "with what is wrong ('wasp schema changes').",
    .answers_with_envelope = true,
    .main = list,
};

/* ---- show ------------------------------------------------------------------------------------ */

static const struct syntax show_syntax = {
    .verb = "changes show",
    .operands = &run_operand,
    .n_operands = 1,
};

static int check_entry(const struct change *change, void *data, struct err *err)
{
    (void) change, (void) data, (void) err; /* that it could be read is all */
    return 0;
}

static int write_entry(const struct change *change, void *data, struct err *err)
{
    (void) err; /* the writer keeps its failure for json_finish */
    change_write(data, change);
    return 0;
}

/* All of it is read before anything is printed: half an object is none. */
static int load(const struct call *call, struct changes *ret, const char **ret_state_dir,
                struct err *err)
{
    struct target target = {.run_id = NULL};

    if (options_parse(&show_syntax, call->words, &target, call->arena, err) < 0 ||
        read_state_dir(call->arena, ret_state_dir, err) < 0 ||
        changes_load(*ret_state_dir, target.run_id, call->arena, ret, err) < 0)
        return -1;
    return changes_each(*ret_state_dir, target.run_id, call->arena, check_entry, NULL, err);
}

static int show(const struct call *call)
{
    uint64_t start_ns = clock_monotonic_ns();
    struct json_writer json;
    const char *state_dir;
    struct changes changes;
    struct err err;

    if (load(call, &changes, &state_dir, &err) < 0)
        return answer(&err, start_ns, false);
    json_writer_init_fd(&json, STDOUT_FILENO);
    json_open_object(&json);
    write_set(&json, &changes);
    json_key(&json, "entries");
    json_open_array(&json);
    int rc = changes_each(state_dir, changes.run_id, call->arena, write_entry, &json, &err);
    json_close_array(&json);
    json_close_object(&json);
    int status = finish_json(&json);
    return rc < 0 ? page_fail(&err) : status;
}

static const struct verb verb_show = {
    .syntax = &show_syntax,
    .summary = "print what a run changed, as JSON",
    .about = "Prints each file and directory that the run added, changed or deleted, with what "
             "apply would refuse ('wasp schema changes').",
    .answers_with_envelope = true,
    .main = show,
};

/* ---- diff ------------------------------------------------------------------------------------ */

static const struct syntax diff_syntax = {
    .verb = "changes diff",
    .operands = &run_operand,
    .n_operands = 1,
};

static int diff(const struct call *call)
{
    struct changes_text text = {.fd = STDOUT_FILENO, .escape = isatty(STDOUT_FILENO)};
    struct target target = {.run_id = NULL};
    const char *state_dir;
    struct err err;

    if (options_parse(&diff_syntax, call->words, &target, call->arena, &err) < 0 ||
        read_state_dir(call->arena, &state_dir, &err) < 0 ||
        changes_diff(state_dir, target.run_id, &text, call->arena, &err) < 0)
        return page_fail(&err);
    return 0;
}

static const struct verb verb_diff = {
    .syntax = &diff_syntax,
    .summary = "print what a run changed, as a unified diff",
    .about = "Prints the changes as 'git apply' and 'patch -p1' take them, against what is on the "
             "host now. Lines with '#' say what a diff cannot: directories, modes, what apply "
             "would refuse. On a terminal, bytes that it would obey are shown escaped.",
    .main = diff,
};

/* ---- apply ----------------------------------------------------------------------------------- */

struct apply_options {
    struct target target;
    bool skip_refused;
    const char **unprotected; /* NULL-terminated, or NULL */
    size_t n_unprotected;
};

static int take_unprotected(void *target, struct arena *arena, const char *word, struct err *err)
{
    struct apply_options *options = target;
    size_t n = options->n_unprotected;

    if (!protected_is_rule(word))
        return err_set(err, ERR_USAGE,
                       "--unprotect: '%s' is no protected name: the refusal names the rule", word);
    const char **names = arena_array(arena, n + 2, sizeof(*names));
    if (!names)
        return err_no_memory(err);
    if (n > 0)
        memcpy(names, options->unprotected, n * sizeof(*names));
    names[n] = word;
    options->unprotected = names;
    options->n_unprotected = n + 1;
    return 0;
}

static const struct option apply_rows[] = {
    {"--unprotect", "NAME", "apply changes of that protected name, too", .kind = OPTION_TAKE,
     .take = take_unprotected, .repeatable = true},
    {"--skip-refused", NULL, "leave out what is refused, and apply the rest", .kind = OPTION_FLAG,
     .at = offsetof(struct apply_options, skip_refused)},
    {"--quiet", NULL, "no line on stderr when it fails", .kind = OPTION_FLAG,
     .at = offsetof(struct apply_options, target.quiet)},
};

static const struct operand apply_operand = {"RUN_ID",
                                             .at = offsetof(struct apply_options, target.run_id)};

static const struct syntax apply_syntax = {
    .verb = "changes apply",
    .options = apply_rows,
    .n_options = ARRAY_SIZE(apply_rows),
    .operands = &apply_operand,
    .n_operands = 1,
};

/* Signals are held while the answer is to come: one that waits cancels what has not begun. */
static bool is_cancelled(void *data)
{
    sigset_t pending;

    (void) data; /* there is nothing to know */
    return sigpending(&pending) == 0 &&
           (sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1 ||
            sigismember(&pending, SIGHUP) == 1);
}

static int run_apply(const struct call *call, struct apply_options *options,
                     struct changes_outcome *ret_outcome, struct err *err)
{
    const char *state_dir;

    if (options_parse(&apply_syntax, call->words, options, call->arena, err) < 0 ||
        read_state_dir(call->arena, &state_dir, err) < 0)
        return -1;
    const struct changes_options how = {
        .unprotected = options->unprotected,
        .skip_refused = options->skip_refused,
        .is_cancelled = is_cancelled,
    };
    return changes_apply(state_dir, options->target.run_id, &how, call->arena, ret_outcome, err);
}

/* The first reason; the JSON has them all. */
static void say_refused(const struct changes_outcome *outcome, struct err *err)
{
    const struct changes_refused *first = &outcome->refused[0];

    (void) err_set(err, ERR_DENIED, "nothing is applied: '%s' %s%s", first->change.path, /* -1 */
                   change_refusals[first->why].text, outcome->n_refused > 1 ? ", and so on" : "");
    if (first->why == REFUSAL_PROTECTED)
        (void) err_hint(err, "--unprotect %s applies it, --skip-refused the rest", first->rule);
    else
        (void) err_hint(err, "--skip-refused applies the rest");
}

static int write_outcome(const char *run_id, const struct changes_outcome *outcome,
                         const struct err *refused, const char *line)
{
    struct json_writer json;

    json_writer_init_fd(&json, STDOUT_FILENO);
    json_open_object(&json);
    json_key(&json, "schema");
    json_put_string(&json, "wasp.changes.outcome/1");
    json_key(&json, "run_id");
    json_put_string(&json, run_id);
    json_key(&json, "status");
    json_put_string(&json, refused ? "error" : "success");
    json_key(&json, "error");
    json_put_string(&json, line);
    changes_outcome_write(&json, outcome);
    json_close_object(&json);
    int status = finish_json(&json);
    return status != 0 || !refused ? status : err_kind(refused->code)->exit_status;
}

static int apply(const struct call *call)
{
    _cleanup_(buf_release) struct buf line = BUF_INIT(2 * sizeof(struct err));
    struct apply_options options = {.skip_refused = false};
    uint64_t start_ns = clock_monotonic_ns();
    struct changes_outcome outcome;
    struct err err;

    if (run_apply(call, &options, &outcome, &err) < 0)
        return answer(&err, start_ns, options.target.quiet);
    if (outcome.done)
        return write_outcome(options.target.run_id, &outcome, NULL, NULL);
    say_refused(&outcome, &err);
    const char *text = verdict_line(&err, &line) < 0 ? err.message : line.data;
    wasp_say(options.target.quiet ? -1 : STDERR_FILENO, text);
    return write_outcome(options.target.run_id, &outcome, &err, text);
}

static const struct verb verb_apply = {
    .syntax = &apply_syntax,
    .summary = "do on the host what a run did in its overlay",
    .about =
        "Judges all changes first. Devices, fifos, sockets, setuid files, symlinks that lead out, "
        "protected names and files that were changed on the host since the run began are refused, "
        "and with one of them nothing is applied (status 77), unless --skip-refused is given. "
        "What is new is written in full before anything of the host's is replaced; what is deleted "
        "goes last. If it is interrupted, the next apply finishes it as it was begun. Then the "
        "kept copy is removed, what was left out included. Prints one JSON object ('wasp schema "
        "changes').",
    .answers_with_envelope = true,
    .main = apply,
};

/* ---- discard --------------------------------------------------------------------------------- */

static const struct option discard_rows[] = {
    {"--quiet", NULL, "no line on stderr when it fails", .kind = OPTION_FLAG,
     .at = offsetof(struct target, quiet)},
};

static const struct syntax discard_syntax = {
    .verb = "changes discard",
    .options = discard_rows,
    .n_options = ARRAY_SIZE(discard_rows),
    .operands = &run_operand,
    .n_operands = 1,
};

static int discard(const struct call *call)
{
    struct target target = {.run_id = NULL};
    uint64_t start_ns = clock_monotonic_ns();
    enum changes_state was;
    const char *state_dir;
    struct err err;
    int rc = options_parse(&discard_syntax, call->words, &target, call->arena, &err);

    if (rc == 0)
        rc = read_state_dir(call->arena, &state_dir, &err);
    if (rc == 0)
        rc = changes_discard(state_dir, target.run_id, call->arena, &was, &err);
    if (rc == 0 && was == CHANGES_APPLYING)
        wasp_say(target.quiet ? -1 : STDERR_FILENO,
                 "they were half applied: what is on the host stays there");
    return answer(rc < 0 ? &err : NULL, start_ns, target.quiet);
}

static const struct verb verb_discard = {
    .syntax = &discard_syntax,
    .summary = "remove the changes of a run",
    .about = "Removes what is kept of a run's changes, and what an apply that was interrupted left "
             "on the host under names of its own. Answers with one JSON object ('wasp schema "
             "answer').",
    .answers_with_envelope = true,
    .main = discard,
};

static const struct verb *const verbs[] = {&verb_list,  &verb_show,    &verb_diff,
                                           &verb_apply, &verb_discard, NULL};

static const struct syntax syntax = {.verb = "changes"};

const struct verb verb_changes = {
    .syntax = &syntax,
    .summary = "see, apply or discard what runs did in overlay directories",
    .answers_with_envelope = true,
    .verbs = verbs,
};
