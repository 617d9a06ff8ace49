/* Verbs that have verbs of their own, and the options that several have in common. */
#include "front/verb.h"

#include <string.h>

#include "base/cleanup.h"
#include "front/completion.h"
#include "front/help.h"
#include "front/run_options.h"
#include "tap.h"

static const struct verb *const all[] = {&verb_run,  &verb_exec,    &verb_code, &verb_sample,
                                         &verb_task, &verb_runtime, NULL};

static void test_follow(void)
{
    static const struct {
        const struct verb *from;
        const char *words[4];
        const char *leads_to; /* NULL: nowhere */
        size_t left;
        const char *says;
    } rows[] = {
        {&verb_run, {"x", NULL}, "run", 1, ""},
        {&verb_sample, {"list", NULL}, "sample list", 0, ""},
        {&verb_sample, {"build", "a", "b", NULL}, "sample build", 2, ""},
        {&verb_task, {"explain", "--manifest", NULL}, "task explain", 1, ""},
        {&verb_sample, {NULL}, NULL, 0, "'sample' needs one of its verbs"},
        {&verb_sample, {"lst", NULL}, NULL, 1, "sample: unknown verb 'lst'"},
        {&verb_sample, {"sample build", NULL}, NULL, 1, "unknown verb"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const char *const *words = rows[i].words;
        struct err err = {0};
        size_t left = 0;
        const struct verb *verb = verb_follow(rows[i].from, &words, &err);
        while (words[left])
            left++;
        if (rows[i].leads_to)
            ok(verb && strcmp(verb->syntax->verb, rows[i].leads_to) == 0 && left == rows[i].left,
               "the words lead to '%s'", rows[i].leads_to);
        else
            ok(!verb && err.code == ERR_USAGE && strstr(err.message, rows[i].says) && err.hint[0],
               "bad words are refused: %s; %s", err.message, err.hint);
    }
}

/* Whatever prints one JSON object promises it for all of its verbs. */
static void test_promise(void)
{
    for (size_t i = 0; all[i]; i++) {
        bool kept = all[i]->answers_with_envelope && !all[i]->main == !!all[i]->verbs;
        for (size_t j = 0; all[i]->verbs && all[i]->verbs[j]; j++) {
            const struct verb *own = all[i]->verbs[j];
            size_t len = strlen(all[i]->syntax->verb);
            kept = kept && own->answers_with_envelope && own->main && own->summary &&
                   strncmp(own->syntax->verb, all[i]->syntax->verb, len) == 0 &&
                   own->syntax->verb[len] == ' ';
        }
        ok(kept, "'%s' answers with one JSON object, whatever its words", all[i]->syntax->verb);
    }
}

static void test_sample_run(struct arena *arena)
{
    static const char *const words[] = {"--allow-dir", "data",     "--workspace", "ws",
                                        "env-report",  "--memory", "1MiB",        NULL};
    static const char *const bad[][6] = {
        {"env-report", NULL},
        {"--workspace", "ws", NULL},
        {"nope", "--workspace", "ws", NULL},
        {"env-report", "--workspace", "ws", "--workspace", "ws", NULL},
        {"env-report", "--workspace", "", NULL},
        {"env-report", "--workspace", "ws", "--allow-dir", "x::.", NULL},
    };
    struct run_options options;
    struct err err = {0};

    run_options_init(&options, BACKEND_WASM);
    ok(options_parse(&sample_run_syntax, words, &options, arena, &err) == 0,
       "a sample takes what a run takes%s", err.message);
    const struct request *request = &options.request;
    ok(request->n_dirs == 2 && strcmp(request->dirs[1].host, "ws") == 0 &&
           strcmp(request->dirs[1].guest, ".") == 0 && request->dirs[1].access == ACCESS_RW &&
           !request->dirs[0].also_dot,
       "the workspace is '.', wherever its option stands");
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        run_options_init(&options, BACKEND_WASM);
        ok(options_parse(&sample_run_syntax, bad[i], &options, arena, &err) < 0 &&
               err_kind(err.code)->exit_status == 2,
           "bad words are refused: %s", err.message);
    }
}

static void test_task(struct arena *arena)
{
    static const char *const words[] = {"--manifest=m.json", "--no-cache", "--events", "fd:3",
                                        NULL};
    static const char *const none[] = {"--quiet", NULL};
    static const char *const extra[] = {"--manifest", "-", "--env", "A=b", NULL};
    struct run_options options;
    struct err err = {0};

    run_options_init(&options, BACKEND_WASM);
    ok(options_parse(&task_run_syntax, words, &options, arena, &err) == 0 &&
           strcmp(options.manifest, "m.json") == 0 && strcmp(options.events, "fd:3") == 0 &&
           options.request.no_cache,
       "a task takes a manifest and how to tell%s", err.message);
    run_options_init(&options, BACKEND_WASM);
    ok(options_parse(&task_run_syntax, none, &options, arena, &err) < 0 && options.quiet &&
           strstr(err.message, "--manifest"),
       "the manifest must be given: %s", err.message);
    ok(options_parse(&task_run_syntax, extra, &options, arena, &err) < 0 &&
           strstr(err.message, "--env"),
       "what belongs in the manifest is refused beside it: %s", err.message);
}

/* How often a text stands in the page. */
static size_t count(const struct page *page, const char *text)
{
    size_t n = 0;

    for (const char *at = page->text.data; at && (at = strstr(at, text)); at++)
        n++;
    return n;
}

static void test_help(void)
{
    _cleanup_(page_release) struct page overview = PAGE_INIT, group = PAGE_INIT, man = PAGE_INIT;
    _cleanup_(page_release) struct page exec = PAGE_INIT, code = PAGE_INIT;

    help_add_overview(&overview, all);
    ok(count(&overview, "  wasp sample ") == 1 && count(&overview, "sample build") == 0,
       "the overview names a verb, not those of its own");
    help_add_verb(&group, &verb_sample);
    ok(count(&group, "wasp sample run --workspace DIR [OPTIONS] NAME [-- ARGS]") == 1 &&
           count(&group, "\n  build ") == 1,
       "a verb's help shows its own verbs, and what they need");
    help_add_verb(&exec, &verb_exec);
    ok(count(&exec, "usage: wasp exec [OPTIONS] -- PROGRAM ARGS\n") == 1 &&
           count(&exec, "\n  --processes N\n") == 1 && count(&exec, "--fuel") == 0,
       "what must follow '--' is not in brackets, and limits are those there are");
    help_add_verb(&code, &verb_code);
    ok(count(&code, "usage: wasp code --lang LANGUAGE [OPTIONS] [FILE|-] [-- ARGS]\n") == 1 &&
           count(&code, "\n  -c SOURCE\n") == 1,
       "an option of one letter is there as it is typed");
    help_add_man(&man, all);
    ok(count(&man, ".SS wasp sample build") == 1 && count(&man, ".SS wasp task run") == 1 &&
           count(&man, ".SS wasp sample\n") == 0,
       "the man page has a section for each that can be called");
}

static void test_completion(void)
{
    static void (*const shells[])(struct page *, const struct verb *const *) = {
        completion_add_bash, completion_add_zsh, completion_add_fish};

    for (size_t i = 0; i < ARRAY_SIZE(shells); i++) {
        _cleanup_(page_release) struct page page = PAGE_INIT;
        shells[i](&page, all);
        ok(count(&page, "sample build") > 0 && count(&page, "task explain") > 0 &&
               count(&page, "hostile-tour") > 0,
           "completion script %zu knows verbs of verbs, and the samples", i);
        ok(count(&page, "python javascript bash") > 0 && count(&page, "never ask auto") > 0,
           "and languages and other choices");
    }
}

int main(void)
{
    struct arena *arena = arena_new();

    if (!arena)
        return 1;
    test_follow();
    test_promise();
    test_sample_run(arena);
    test_task(arena);
    test_help();
    test_completion();
    arena_free(arena);
    return done();
}
