/*
 * code: source text in a walled cell; one JSON object back.
 */
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "front/input.h"
#include "front/launch.h"

/* By policy where the words do not say; never a weaker one than a policy names. */
static int choose_backend(struct launch *launch, struct arena *arena, enum backend *ret_backend,
                          struct err *err)
{
    const struct run_options *options = &launch->options;
    int asked = options->backend ? choice_find(request_backend_names, options->backend) : -1;

    if (launch_open_gate(launch, arena, err) < 0)
        return -1;
    return decide_backend(&launch->gate.authority, options->request.language, asked, BACKEND_NATIVE,
                          ret_backend, err);
}

/*
 * The backend decides what the other words mean, and may stand behind them. Options are read to the
 * end whatever is wrong with them, so that the first reading tells it; what is wrong for one
 * backend only is told by the reading for the one that is taken.
 */
static int read_words(struct launch *launch, const struct call *call, struct err *err)
{
    enum backend backend;
    struct err chosen;
    int rc = launch_read(launch, &code_syntax, BACKEND_NATIVE, call, err);

    if (!launch->options.request.language || !launch->environment.places.system_dir)
        return rc; /* no word, or no environment, to choose by */
    if (choose_backend(launch, call->arena, &backend, &chosen) < 0) {
        if (rc == 0)
            *err = chosen;
        return -1;
    }
    if (backend == BACKEND_WASM)
        return launch_read_again(launch, &code_wasm_syntax, BACKEND_WASM, call, err);
    if (rc == 0 && launch->options.runtime)
        return err_set(err, ERR_USAGE,
                       "--runtime is for '--backend wasm': add that, or leave it out");
    return rc;
}

static int read_source_file(struct launch *launch, struct arena *arena, struct err *err)
{
    /* One byte more than is taken: then it is refused for its size. */
    _cleanup_(buf_release) struct buf text = BUF_INIT(SOURCE_MAX_BYTES + 1);
    struct run_options *options = &launch->options;

    if (input_read(options->source_file, "source", &text, &launch->signal, err) < 0) {
        if (err->errnum == ENOENT)
            err->code = ERR_NOT_FOUND; /* as a module that is not there */
        return -1;
    }
    return request_set_source(&options->request, arena, text.data ? text.data : "", text.len, err);
}

static int read_source(struct launch *launch, struct arena *arena, struct err *err)
{
    struct run_options *options = &launch->options;
    struct request *request = &options->request;

    if (!options->source == !options->source_file) {
        (void) err_set(err, ERR_USAGE, "%s",
                       options->source ? "the source is given twice, with -c and as a file"
                                       : "no source is given"); /* -1, as below */
        return err_hint(err, "write one of: -c SOURCE, a FILE, or '-' for standard input");
    }
    if (options->source)
        return request_set_source(request, arena, options->source, strlen(options->source), err);
    if (strcmp(options->source_file, "-") == 0 && request->stdin_kind == STDIN_INHERIT)
        return err_set(err, ERR_USAGE,
                       "standard input cannot be the source and what the guest "
                       "reads: give one of them as a file");
    /* it is read with the owner's rights, before any policy is asked */
    if (options->gate.principal.is_agent && strcmp(options->source_file, "-") != 0) {
        (void) err_set(
            err, ERR_DENIED,
            "an agent cannot have a file of the owner's read as source"); /* -1, as above */
        return err_hint(err, "give the source itself, with -c or on standard input ('-')");
    }
    return read_source_file(launch, arena, err);
}

static int read_code(struct launch *launch, const struct call *call, struct err *err)
{
    if (read_words(launch, call, err) < 0 || read_source(launch, call->arena, err) < 0)
        return -1;
    if (launch->options.request.backend == BACKEND_WASM && !launch->options.runtime)
        launch->options.runtime = launch->options.request.language;
    return 0;
}

static int run(const struct call *call)
{
    struct launch launch;
    struct err err;
    int rc = read_code(&launch, call, &err);

    return launch_answer(&launch, call->arena, rc < 0 ? &err : NULL);
}

const struct verb verb_code = {
    .syntax = &code_syntax,
    .summary = "run source text: python, javascript or bash",
    .about = "Runs source text behind the same walls as 'wasp exec', by the interpreter that lies "
             "on the cell's own PATH, which is told to read nothing of its own accord. The source "
             "is given with -c, as a FILE of at most 1 MiB, or on standard input ('-'); the guest "
             "finds it as a file of its own and the ARGS as its arguments. Answers as 'wasp run' "
             "does.",
    .answers_with_envelope = true,
    .launches = true,
    .main = run,
};
