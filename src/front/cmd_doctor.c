/*
 * doctor: what works on this machine, what does not, and what to do about it.
 */
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "front/environment.h"
#include "front/page.h"
#include "front/verb.h"
#include "report/doctor.h"

struct doctor_options {
    bool json;
};

static const struct option options[] = {
    {"--json", NULL, "print it as JSON", .kind = OPTION_FLAG,
     .at = offsetof(struct doctor_options, json)},
};

static const struct syntax syntax = {
    .verb = "doctor",
    .options = options,
    .n_options = ARRAY_SIZE(options),
};

static void add_json(const struct checkup *checkup, struct page *page)
{
    struct json_writer json;

    json_writer_init_buf(&json, &page->text);
    doctor_write_json(checkup, &json);
    page->failed = json_finish(&json) < 0;
}

/* A directory that people are likely to grant. */
static const char *home(void)
{
    const char *path = getenv("HOME");

    return path && path[0] == '/' ? path : NULL;
}

static int doctor(const struct call *call)
{
    _cleanup_(page_release) struct page page = PAGE_INIT;
    struct doctor_options wanted = {0};
    struct environment environment;
    struct err err;

    if (options_parse(&syntax, call->words, &wanted, call->arena, &err) < 0 ||
        environment_read(call->arena, &environment, &err) < 0)
        return page_fail(&err);
    struct checkup *checkup = arena_alloc(call->arena, sizeof(*checkup));
    if (!checkup) {
        (void) err_no_memory(&err); /* always -1 */
        return page_fail(&err);
    }
    if (probe_all(&environment.places, home(), checkup, &err) < 0)
        return page_fail(&err);
    if (wanted.json)
        add_json(checkup, &page);
    else
        page.failed = doctor_write_text(checkup, &page.text) < 0;
    int failed = page_print(&page);
    return failed ? failed : doctor_exit_status(checkup);
}

const struct verb verb_doctor = {
    .syntax = &syntax,
    .summary = "try what this machine lets wasp do, and say what to do about the rest",
    .about =
        "Tries each wall and each convenience in a child of its own and changes nothing. A row "
        "is ok, missing (what needs it is refused), degraded (wasp does without), unknown (it "
        "could not be tried) or not-needed; a problem comes with its remedy. Then it says what "
        "can be used: modules and programs with full walls or on the landlock rung, overlays, "
        "terminals and so on. Exit status: 0 if modules and programs run with full walls, 1 if "
        "something is missing for that but something can be run, 125 if nothing can.",
    .main = doctor,
};
