/*
 * task: a request that lies on disk: run it, judge it, show what it comes to.
 */
#include <unistd.h>

#include "base/clock.h"
#include "front/launch.h"
#include "front/manifest_file.h"
#include "wasp.h"

/*
 * What a manifest says of policies. It can only narrow; but a policy in the user's place is for the
 * owner to name, and so not for an agent's manifest.
 */
static int take_authority(struct launch *launch, const struct manifest *manifest, struct err *err)
{
    struct gate_options *gate = &launch->options.gate;

    if (launch->has_gate)
        return 0; /* it was opened with them */
    if (manifest->tier != TIER_NONE && (gate->tier == TIER_NONE || manifest->tier < gate->tier))
        gate->tier = manifest->tier;
    if (manifest->policy && gate->principal.is_agent)
        return err_set(err, ERR_DENIED, "policy: not for an agent's manifest: leave it out");
    if (manifest->policy && gate->policy)
        return err_set(err, ERR_USAGE, "the manifest names a policy, and --policy does: keep one");
    if (manifest->policy)
        gate->policy = manifest->policy;
    return 0;
}

struct choice {
    struct launch *launch;
    struct arena *arena;
};

static int choose_backend(void *data, const struct manifest *manifest, const char *language,
                          int asked, enum backend *ret_backend, struct err *err)
{
    const struct choice *choice = data;

    if (take_authority(choice->launch, manifest, err) < 0 ||
        launch_open_gate(choice->launch, choice->arena, err) < 0)
        return -1;
    return decide_backend(&choice->launch->gate.authority, language, asked, *ret_backend,
                          ret_backend, err);
}

/* The manifest's request in the place of the options' own; what only options say stays. */
static int take_manifest(struct launch *launch, struct arena *arena, struct err *err)
{
    struct run_options *options = &launch->options;
    bool no_cache = options->request.no_cache;
    struct manifest manifest;

    struct choice choice = {launch, arena};

    if (manifest_file_read(options->manifest, choose_backend, &choice, arena, &manifest,
                           &launch->signal, err) < 0 ||
        take_authority(launch, &manifest, err) < 0)
        return -1;
    if (no_cache && manifest.request.backend != BACKEND_WASM)
        return err_set(err, ERR_USAGE,
                       "--no-cache is for wasm: nothing is compiled for this "
                       "manifest, leave it out");
    options->request = manifest.request;
    options->request.no_cache = no_cache;
    options->runtime = manifest.runtime;
    if (manifest.n_grants > 0 && options->gate.n_grants == 0) {
        options->gate.grants = manifest.grants;
        options->gate.n_grants = manifest.n_grants;
    }
    return 0;
}

static int read_task(struct launch *launch, const struct syntax *syntax, const struct call *call,
                     struct err *err)
{
    /* The manifest says for which backend it is, and no option is for one alone. */
    if (launch_read(launch, syntax, BACKEND_WASM, call, err) < 0)
        return -1;
    return take_manifest(launch, call->arena, err);
}

static int run(const struct call *call)
{
    struct launch launch;
    struct err err;
    int rc = read_task(&launch, &task_run_syntax, call, &err);

    return launch_answer(&launch, call->arena, rc < 0 ? &err : NULL);
}

static int explain(const struct call *call)
{
    struct launch launch;
    struct err err;
    int rc = read_task(&launch, &task_explain_syntax, call, &err);

    launch.options.dry_run = true;
    return launch_answer(&launch, call->arena, rc < 0 ? &err : NULL);
}

static int check(const struct call *call)
{
    const struct wasp_report report = {.out = STDOUT_FILENO, .log = STDERR_FILENO};
    uint64_t start_ns = clock_monotonic_ns();
    struct launch launch;
    struct err err;
    int rc = read_task(&launch, &task_check_syntax, call, &err);

    if (rc == 0)
        rc = launch_judge(&launch, call->arena, &err);
    if (launch.signal)
        return wasp_cancel(launch.signal, &report);
    return wasp_answer(rc < 0 ? &err : NULL, clock_monotonic_ns() - start_ns, &report);
}

static const struct verb verb_task_run = {
    .syntax = &task_run_syntax,
    .summary = "run what a manifest asks for",
    .about = "Runs the request in the manifest. What it does not name is not granted. Standard "
             "output is exactly one JSON object, as with 'wasp run'.",
    .answers_with_envelope = true,
    .launches = true,
    .main = run,
};

static const struct verb verb_check = {
    .syntax = &task_check_syntax,
    .summary = "tell whether a manifest makes sense, and run nothing",
    .about = "Judges the manifest as 'task run' would, opens none of the files it names, and "
             "answers with one JSON object ('wasp schema answer').",
    .answers_with_envelope = true,
    .main = check,
};

static const struct verb verb_explain = {
    .syntax = &task_explain_syntax,
    .summary = "show what a manifest comes to, with every default filled in",
    .about = "Shows the request as 'wasp run --dry-run' does ('wasp schema plan'), and runs "
             "nothing.",
    .answers_with_envelope = true,
    .main = explain,
};

static const struct verb *const verbs[] = {&verb_task_run, &verb_check, &verb_explain, NULL};

static const struct syntax syntax = {.verb = "task"};

const struct verb verb_task = {
    .syntax = &syntax,
    .summary = "run, check or explain a request that lies on disk",
    .answers_with_envelope = true,
    .verbs = verbs,
};
