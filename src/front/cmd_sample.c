/*
 * sample: guests that come with the command: which there are, as a file, run.
 */
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "front/launch.h"
#include "front/page.h"
#include "front/samples.h"
#include "wasp.h"

static const struct wasp_report plain_report = {.out = STDOUT_FILENO, .log = STDERR_FILENO};

/* ---- list ------------------------------------------------------------------------------------ */

static const struct syntax list_syntax = {.verb = "sample list"};

static void write_sample(struct json_writer *json, const struct sample *sample)
{
    char hex[DIGEST_HEX];

    digest_hex(sample->digest, hex);
    json_open_object(json);
    json_key(json, "name");
    json_put_string(json, sample->name);
    json_key(json, "description");
    json_put_string(json, sample->description);
    json_key(json, "needs");
    json_put_string(json, sample->needs);
    json_key(json, "sha256");
    json_put_string(json, hex);
    json_key(json, "bytes");
    json_put_uint(json, sample->len);
    json_close_object(json);
}

static int list(const struct call *call)
{
    struct json_writer json;
    struct err err;

    if (options_parse(&list_syntax, call->words, NULL, call->arena, &err) < 0)
        return wasp_answer(&err, 0, &plain_report);
    json_writer_init_fd(&json, STDOUT_FILENO);
    json_open_object(&json);
    json_key(&json, "samples");
    json_open_array(&json);
    for (size_t i = 0; sample_names[i]; i++)
        write_sample(&json, &samples[i]);
    json_close_array(&json);
    json_key(&json, "schema");
    json_put_string(&json, "wasp.samples/1");
    json_close_object(&json);
    if (json_finish(&json) == 0)
        return 0;
    (void) err_sys(&err, ERR_HOST, "cannot write to standard output"); /* always -1 */
    return page_fail(&err);
}

static const struct verb verb_list = {
    .syntax = &list_syntax,
    .summary = "print the samples, as JSON",
    .answers_with_envelope = true,
    .main = list,
};

/* ---- build ----------------------------------------------------------------------------------- */

struct build_options {
    const char *name, *out;
    bool no_clobber, quiet;
};

static const struct option build_rows[] = {
    {"--no-clobber", NULL, "refuse to replace what is there", .kind = OPTION_FLAG,
     .at = offsetof(struct build_options, no_clobber)},
    {"--quiet", NULL, "no line on stderr when it fails", .kind = OPTION_FLAG,
     .at = offsetof(struct build_options, quiet)},
};

static const struct operand build_operands[] = {
    {"NAME", .at = offsetof(struct build_options, name), .choices = sample_names},
    {"OUT.wasm", .at = offsetof(struct build_options, out), .values = VALUES_FILE},
};

static const struct syntax build_syntax = {
    .verb = "sample build",
    .options = build_rows,
    .n_options = ARRAY_SIZE(build_rows),
    .operands = build_operands,
    .n_operands = ARRAY_SIZE(build_operands),
};

static int write_module(const struct build_options *options, struct err *err)
{
    const struct sample *sample = sample_find(options->name, err);

    if (!sample)
        return -1;
    return file_replace(options->out, sample->bytes, sample->len, options->no_clobber, err);
}

static int build(const struct call *call)
{
    struct build_options options = {.name = NULL};
    uint64_t start_ns = clock_monotonic_ns();
    struct err err;
    int rc = options_parse(&build_syntax, call->words, &options, call->arena, &err);
    struct wasp_report report = plain_report;

    if (options.quiet)
        report.log = -1;
    if (rc == 0)
        rc = write_module(&options, &err);
    return wasp_answer(rc < 0 ? &err : NULL, clock_monotonic_ns() - start_ns, &report);
}

static const struct verb verb_build = {
    .syntax = &build_syntax,
    .summary = "write a sample's module to a file",
    .about = "Writes the module whole or not at all: whoever looks finds the old file or the new "
             "one. A symlink is replaced, not followed. Answers with one JSON object ('wasp schema "
             "answer').",
    .answers_with_envelope = true,
    .main = build,
};

/* ---- run ------------------------------------------------------------------------------------- */

static int run(const struct call *call)
{
    struct launch launch;
    struct err err;
    int rc = launch_read(&launch, &sample_run_syntax, BACKEND_WASM, call, &err);

    if (rc == 0) {
        struct request *request = &launch.options.request;
        const struct sample *sample = sample_find(request->module, &err);
        if (sample)
            sample_put(sample, request);
        else
            rc = -1;
    }
    return launch_answer(&launch, call->arena, rc < 0 ? &err : NULL);
}

static const struct verb verb_sample_run = {
    .syntax = &sample_run_syntax,
    .summary = "run a sample in a workspace",
    .about = "Runs the sample as 'wasp run' runs the module that 'wasp sample build' writes, with "
             "the workspace granted for reading and writing, as '.'.",
    .answers_with_envelope = true,
    .launches = true,
    .main = run,
};

static const struct verb *const verbs[] = {&verb_list, &verb_build, &verb_sample_run, NULL};

static const struct syntax syntax = {.verb = "sample"};

const struct verb verb_sample = {
    .syntax = &syntax,
    .summary = "list, build or run the guests that come with wasp",
    .answers_with_envelope = true,
    .verbs = verbs,
};
