/*
 * gc: removes what a killed run may have left. The next run does the same; this is for those who do
 * not want to wait.
 */
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "front/environment.h"
#include "front/page.h"
#include "front/verb.h"

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

static int gc(const struct call *call)
{
    _cleanup_(page_release) struct page page = PAGE_INIT;
    struct gc_options wanted = {0};
    struct environment environment;
    struct err err;

    if (options_parse(&syntax, call->words, &wanted, call->arena, &err) < 0 ||
        environment_read(call->arena, &environment, &err) < 0)
        return page_fail(&err);
    int removed = run_sweep(&environment.places, &err);
    if (removed < 0)
        return page_fail(&err);
    if (wanted.json)
        return print_json(removed);
    page_add(&page, "removed %d leftover%s\n", removed, removed == 1 ? "" : "s");
    return page_print(&page);
}

const struct verb verb_gc = {
    .syntax = &syntax,
    .summary = "remove what a killed run may have left",
    .about = "Removes temporary files that a run left behind because wasp itself was killed. Every "
             "run does so "
             "too; nothing that is in use goes.",
    .main = gc,
};
