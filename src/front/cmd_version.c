/*
 * version: which wasp, and which engine it was built with.
 */
#include "base/cleanup.h"
#include "base/json.h"
#include "front/page.h"
#include "front/verb.h"

struct version_options {
    bool json;
};

static const struct option options[] = {
    {"--json", NULL, "print it as JSON", .kind = OPTION_FLAG,
     .at = offsetof(struct version_options, json)},
};

static const struct syntax syntax = {
    .verb = "version",
    .options = options,
    .n_options = ARRAY_SIZE(options),
};

static void add_json(struct buf *into)
{
    struct json_writer json;

    json_writer_init_buf(&json, into);
    json_open_object(&json);
    json_key(&json, "schema");
    json_put_string(&json, "wasp.version/1");
    json_key(&json, "version");
    json_put_string(&json, WASP_VERSION);
    json_key(&json, "engine");
    json_put_string(&json, "wasmtime " WASP_ENGINE_VERSION);
    json_close_object(&json);
    (void) json_finish(&json); /* a page takes far more than this */
}

static int version(const struct call *call)
{
    _cleanup_(page_release) struct page page = PAGE_INIT;
    struct version_options wanted = {0};
    struct err err;

    if (options_parse(&syntax, call->words, &wanted, call->arena, &err) < 0)
        return page_fail(&err);
    if (wanted.json)
        add_json(&page.text);
    else
        page_add(&page, "wasp %s (wasmtime %s)\n", WASP_VERSION, WASP_ENGINE_VERSION);
    return page_print(&page);
}

const struct verb verb_version = {
    .syntax = &syntax,
    .summary = "print the version",
    .main = version,
};
