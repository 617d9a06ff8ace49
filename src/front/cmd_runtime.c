/*
 * runtime: interpreters by name: add, list, remove, run.
 */
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/wasm.h"
#include "front/launch.h"
#include "front/page.h"
#include "run/module.h"
#include "store/runtimes.h"
#include "wasp.h"

static int open_runtimes(struct arena *arena, struct runtimes *ret_runtimes, struct err *err)
{
    struct environment environment;

    if (environment_read(arena, &environment, err) < 0)
        return -1;
    return runtimes_open(environment.places.state_dir, arena, ret_runtimes, err);
}

/* failed is NULL if it went well. */
static int answer(const struct err *failed, uint64_t start_ns, bool quiet)
{
    const struct wasp_report report = {.out = STDOUT_FILENO, .log = quiet ? -1 : STDERR_FILENO};

    return wasp_answer(failed, clock_monotonic_ns() - start_ns, &report);
}

/* ---- add ------------------------------------------------------------------------------------- */

struct add_options {
    struct runtime runtime;
    const char *module;
    bool replace, quiet;
};

/* Opened here, not kept open: a run opens it again. */
static int check_directory(const char *path, struct err *err)
{
    _cleanup_fd_ int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

    return fd < 0 ? err_sys(err, ERR_REQUEST, "cannot open the directory '%s'", path) : 0;
}

static int take_dir(void *target, struct arena *arena, const char *word, struct err *err)
{
    struct add_options *options = target;
    struct request *given = &options->runtime.given;
    char base[PATH_MAX];

    if (!getcwd(base, sizeof(base)))
        return err_sys(err, ERR_HOST, "cannot tell the working directory");
    if (runtime_give_dir(&options->runtime, arena, base, word, err) < 0)
        return err_prefix(err, "--dir");
    return check_directory(given->dirs[given->n_dirs - 1].host, err);
}

static int take_entry_arg(void *target, struct arena *arena, const char *word, struct err *err)
{
    struct add_options *options = target;

    return runtime_give_arg(&options->runtime, arena, word, err);
}

static const struct option add_rows[] = {
    {"--dir", "HOST::GUEST",
     "a directory that every run of it finds as GUEST, read-only: its library, for instance",
     .kind = OPTION_TAKE, .take = take_dir, .values = VALUES_DIRECTORY, .repeatable = true},
    {"--entry-args", "ARG", "an argument that stands before those of a run; one each time",
     .kind = OPTION_TAKE, .take = take_entry_arg, .repeatable = true},
    {"--replace", NULL, "take the place of what has that name", .kind = OPTION_FLAG,
     .at = offsetof(struct add_options, replace)},
    {"--quiet", NULL, "no line on stderr when it fails", .kind = OPTION_FLAG,
     .at = offsetof(struct add_options, quiet)},
};

static const struct operand add_operands[] = {
    {"NAME", .at = offsetof(struct add_options, runtime.name)},
    {"MODULE.wasm", .at = offsetof(struct add_options, module), .values = VALUES_FILE},
};

static const struct syntax add_syntax = {
    .verb = "runtime add",
    .options = add_rows,
    .n_options = ARRAY_SIZE(add_rows),
    .operands = add_operands,
    .n_operands = ARRAY_SIZE(add_operands),
};

/* A run would refuse it too, but who adds a module wants to know now. */
static int check_header(const struct module *module, struct err *err)
{
    uint8_t header[WASM_HEADER_BYTES];
    ssize_t n = pread(module->bytes, header, sizeof(header), 0);

    if (n != (ssize_t) sizeof(header))
        return err_set(err, ERR_MALFORMED, "%zd bytes are no wasm module", n);
    return wasm_check_header(header, err);
}

/* Reads it, once: what is checked and hashed is what will be kept. */
static int read_module(const char *path, struct module *ret_module, struct err *err)
{
    const struct request request = {.module = path};
    const struct cache none = {.code = -1, .memo = -1, .temp = -1};

    if (module_open(&request, ret_module, err) < 0 || module_digest(ret_module, &none, err) < 0 ||
        check_header(ret_module, err) < 0)
        return err_prefix(err, "failed to load wasm module `%s`", path);
    return 0;
}

static int add_runtime(struct add_options *options, struct arena *arena, struct err *err)
{
    _cleanup_(runtimes_release) struct runtimes runtimes = RUNTIMES_NONE;
    _cleanup_(module_release) struct module module = {.file = -1, .bytes = -1};

    if (runtime_check_name(options->runtime.name, err) < 0 ||
        open_runtimes(arena, &runtimes, err) < 0 || read_module(options->module, &module, err) < 0)
        return -1;
    return runtimes_add(&runtimes, &options->runtime, module.bytes, &module.digest,
                        options->replace, arena, err);
}

static int add(const struct call *call)
{
    struct add_options options = {.module = NULL};
    uint64_t start_ns = clock_monotonic_ns();
    struct err err;

    runtime_init(&options.runtime);
    int rc = options_parse(&add_syntax, call->words, &options, call->arena, &err);
    if (rc == 0)
        rc = add_runtime(&options, call->arena, &err);
    return answer(rc < 0 ? &err : NULL, start_ns, options.quiet);
}

static const struct verb verb_add = {
    .syntax = &add_syntax,
    .summary = "keep a module under a name",
    .about = "Keeps a copy of the module, an interpreter as a rule, and its digest, so that "
             "'wasp runtime run NAME' runs these bytes or none. Answers with one JSON object "
             "('wasp schema answer').",
    .answers_with_envelope = true,
    .main = add,
};

/* ---- list ------------------------------------------------------------------------------------ */

static const struct syntax list_syntax = {.verb = "runtime list"};

static void write_list(struct json_writer *json, const struct runtime_list *list)
{
    json_open_object(json);
    json_key(json, "runtimes");
    json_open_array(json);
    for (size_t i = 0; i < list->n_runtimes; i++)
        runtime_write(json, &list->runtimes[i]);
    json_close_array(json);
    json_key(json, "problems");
    json_open_array(json);
    for (size_t i = 0; i < list->n_problems; i++) {
        json_open_object(json);
        json_key(json, "name");
        json_put_string(json, list->problems[i].name);
        json_key(json, "error");
        json_put_string(json, list->problems[i].error);
        json_close_object(json);
    }
    json_close_array(json);
    json_key(json, "schema");
    json_put_string(json, "wasp.runtimes/1");
    json_close_object(json);
}

static int read_list(const struct call *call, struct runtime_list *ret_list, struct err *err)
{
    _cleanup_(runtimes_release) struct runtimes runtimes = RUNTIMES_NONE;

    if (options_parse(&list_syntax, call->words, NULL, call->arena, err) < 0 ||
        open_runtimes(call->arena, &runtimes, err) < 0)
        return -1;
    return runtimes_list(&runtimes, call->arena, ret_list, err);
}

static int list(const struct call *call)
{
    uint64_t start_ns = clock_monotonic_ns();
    struct runtime_list found;
    struct json_writer json;
    struct err err;

    if (read_list(call, &found, &err) < 0)
        return answer(&err, start_ns, false);
    json_writer_init_fd(&json, STDOUT_FILENO);
    write_list(&json, &found);
    if (json_finish(&json) == 0)
        return 0;
    (void) err_sys(&err, ERR_HOST, "cannot write to standard output"); /* always -1 */
    return page_fail(&err);
}

static const struct verb verb_list = {
    .syntax = &list_syntax,
    .summary = "print the runtimes there are, as JSON",
    .about =
        "Prints the runtimes ('wasp schema runtimes'), and those that are damaged with what is "
        "wrong.",
    .answers_with_envelope = true,
    .main = list,
};

/* ---- rm -------------------------------------------------------------------------------------- */

struct rm_options {
    const char *name;
    bool quiet;
};

static const struct option rm_rows[] = {
    {"--quiet", NULL, "no line on stderr when it fails", .kind = OPTION_FLAG,
     .at = offsetof(struct rm_options, quiet)},
};

static const struct operand rm_operand = {"NAME", .at = offsetof(struct rm_options, name)};

static const struct syntax rm_syntax = {
    .verb = "runtime rm",
    .options = rm_rows,
    .n_options = ARRAY_SIZE(rm_rows),
    .operands = &rm_operand,
    .n_operands = 1,
};

static int remove_runtime(const char *name, struct arena *arena, struct err *err)
{
    _cleanup_(runtimes_release) struct runtimes runtimes = RUNTIMES_NONE;

    if (open_runtimes(arena, &runtimes, err) < 0)
        return -1;
    return runtimes_remove(&runtimes, name, arena, err);
}

static int rm(const struct call *call)
{
    struct rm_options options = {.name = NULL};
    uint64_t start_ns = clock_monotonic_ns();
    struct err err;
    int rc = options_parse(&rm_syntax, call->words, &options, call->arena, &err);

    if (rc == 0)
        rc = remove_runtime(options.name, call->arena, &err);
    return answer(rc < 0 ? &err : NULL, start_ns, options.quiet);
}

static const struct verb verb_rm = {
    .syntax = &rm_syntax,
    .summary = "forget a name",
    .about = "Removes the name, and the copy of the module unless another name has the same. A run "
             "that has begun goes on. Answers with one JSON object ('wasp schema answer').",
    .answers_with_envelope = true,
    .main = rm,
};

/* ---- run ------------------------------------------------------------------------------------- */

static int run(const struct call *call)
{
    struct launch launch;
    struct err err;
    int rc = launch_read(&launch, &runtime_run_syntax, BACKEND_WASM, call, &err);

    return launch_answer(&launch, call->arena, rc < 0 ? &err : NULL);
}

static const struct verb verb_runtime_run = {
    .syntax = &runtime_run_syntax,
    .summary = "run one, as 'wasp run' runs a module",
    .about = "Runs the runtime's module as 'wasp run' would, if it is the one that was added. It "
             "finds its own directories, read-only, and its own arguments before the ones given "
             "here; all else is granted as with 'wasp run'.",
    .answers_with_envelope = true,
    .launches = true,
    .main = run,
};

static const struct verb *const verbs[] = {&verb_add, &verb_list, &verb_rm, &verb_runtime_run,
                                           NULL};

static const struct syntax syntax = {.verb = "runtime"};

const struct verb verb_runtime = {
    .syntax = &syntax,
    .summary = "keep interpreters under a name, and run them",
    .answers_with_envelope = true,
    .verbs = verbs,
};
