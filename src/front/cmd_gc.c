/*
 * gc: removes what nobody uses any more: what a killed run left, what no runtime names. Runs and
 * changes of runtimes do the same; this is for those who do not want to wait.
 */
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "front/environment.h"
#include "front/page.h"
#include "front/verb.h"
#include "store/changes.h"
#include "store/runtimes.h"

struct gc_options {
    bool json;
};

static const struct option options[] = {
    {"--json", NULL, "print the answer as JSON", .kind = OPTION_FLAG,
     .at = offsetof(struct gc_options, json)},
};

static const struct syntax syntax = {
    .verb = "gc",
    .options = options,
    .n_options = ARRAY_SIZE(options),
};

static int print_json(int removed)
{
    struct json_writer json;
    struct err err;

    json_writer_init_fd(&json, STDOUT_FILENO);
    json_open_object(&json);
    json_key(&json, "schema");
    json_put_string(&json, "wasp.gc/1");
    json_key(&json, "removed");
    json_put_int(&json, removed);
    json_close_object(&json);
    if (json_finish(&json) < 0) {
        (void) err_sys(&err, ERR_HOST, "cannot write to standard output"); /* always -1 */
        return page_fail(&err);
    }
    return 0;
}

/* How many things went, or -1 and *err. */
static int sweep(struct arena *arena, struct err *err)
{
    _cleanup_(runtimes_release) struct runtimes runtimes = RUNTIMES_NONE;
    struct environment environment;

    if (environment_read(arena, &environment, err) < 0 ||
        runtimes_open(environment.places.state_dir, arena, &runtimes, err) < 0)
        return -1;
    int of_runs = run_sweep(&environment.places, err);
    int of_runtimes = of_runs < 0 ? -1 : runtimes_sweep(&runtimes, arena, err);
    struct changes_swept swept;
    if (of_runtimes < 0 ||
        changes_sweep(environment.places.state_dir, NULL, arena, &swept, err) < 0)
        return -1;
    return of_runs + of_runtimes + (int) (swept.leftovers + swept.n_evicted);
}

static int gc(const struct call *call)
{
    _cleanup_(page_release) struct page page = PAGE_INIT;
    struct gc_options wanted = {0};
    struct err err;

    if (options_parse(&syntax, call->words, &wanted, call->arena, &err) < 0)
        return page_fail(&err);
    int removed = sweep(call->arena, &err);
    if (removed < 0)
        return page_fail(&err);
    if (wanted.json)
        return print_json(removed);
    page_add(&page, "removed %d leftover%s\n", removed, removed == 1 ? "" : "s");
    return page_print(&page);
}

const struct verb verb_gc = {
    .syntax = &syntax,
    .summary = "remove what nobody uses any more",
    .about =
        "Removes temporary files and cgroups that were left behind because wasp itself was killed, "
        "compiled code beyond the cache's size, modules that no runtime names, and changes of "
        "overlay directories that are too old or too many. Nothing that is in use goes.",
    .main = gc,
};
