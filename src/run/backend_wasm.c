/*
 * WebAssembly: a module as compiled code in wasp-cell-wasm.
 */
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "run/backend.h"
#include "run/compile.h"

/* ---- the code -------------------------------------------------------------------------------- */

static void note_cache_error(struct job *job, const struct err *err)
{
    struct result *result = job->result;
    size_t len = strnlen(err->message, sizeof(result->cache_error) - 1);
    memcpy(result->cache_error, err->message, len);
    result->cache_error[len] = '\0';
}

static int check_pin(const struct job *job, struct err *err)
{
    struct digest pin;
    char hex[DIGEST_HEX];
    const char *wanted = job->request->module_sha256;
    if (wanted == NULL)
        return 0;
    if (digest_from_hex(wanted, &pin) && digest_equal(&pin, &job->wasm.module.digest))
        return 0;
    digest_hex(&job->wasm.module.digest, hex);
    (void) err_set(err, ERR_PIN, "the module's SHA-256 is %s, pinned is %s", hex, wanted);
    return err_hint(err, "if this is the module you want, pin this digest (a runtime: add it again "
                         "with --replace)");
}

static int identify_module(struct job *job, struct err *err)
{
    struct err cache_err;
    if (!job->request->no_cache) {
        if (cache_open(job->places, &job->wasm.cache, &cache_err) < 0)
            note_cache_error(job, &cache_err);
        (void) cache_sweep(&job->wasm.cache); /* how many went is of interest to `wasp gc` alone */
    }
    if (module_digest(&job->wasm.module, &job->wasm.cache, err) < 0)
        return -1;
    job->result->has_module = true;
    job->result->module_sha256 = job->wasm.module.digest;
    job_mark(job, "module");
    return check_pin(job, err);
}

static int compile(struct job *job, struct err *err)
{
    struct err cache_err;
    if (compile_module(job->request, job->places, &job->grants, &job->wasm.module, job->observer,
                       job->arena, &job->wasm.code, &job->result->compile_ns, &job->signal,
                       err) < 0)
        return -1;
    if (cache_keep(&job->wasm.cache, &job->wasm.key, job->wasm.code, &cache_err) < 0)
        note_cache_error(job, &cache_err);
    job->result->module_cached = false;
    job_mark(job, "compile");
    return 0;
}

static int find_code(struct job *job, struct err *err)
{
    struct cache_settings settings = {
        .use_fuel = job->request->limits.value[LIMIT_FUEL] != UNITS_UNLIMITED,
        .pulley = job->request->pulley,
    };
    cache_key(&job->wasm.module.digest, &settings, &job->wasm.key);
    job->wasm.code = cache_find(&job->wasm.cache, &job->wasm.key);
    job->result->module_cached = job->wasm.code >= 0;
    job_mark(job, "cache");
    return job->wasm.code >= 0 ? 0 : compile(job, err);
}

/*
 * Code that passed every check but does not load here (another CPU behind the same features):
 * compile anew, once.
 */
static int run_again_if_stale(struct job *job, struct err *err)
{
    struct result *result = job->result;
    if (result->err.code != ERR_STALE_CODE || !result->module_cached || result->started)
        return 0; /* once guest code may have run, there is no second time */
    cache_forget(&job->wasm.cache, &job->wasm.key);
    memset(&result->err, 0, sizeof(result->err));
    (void) close(take_fd(&job->wasm.code)); /* only read from */
    if (compile(job, err) < 0 || job_start_cell(job, err) < 0)
        return -1;
    return job_run_cell(job, err);
}

static int check(struct job *job, struct err *err)
{
    job->result->use_fuel = job->request->limits.value[LIMIT_FUEL] != UNITS_UNLIMITED;
    return module_open(job->request, &job->wasm.module, err);
}

static int prepare(struct job *job, struct err *err)
{
    if (identify_module(job, err) < 0 ||
        grants_open(&job->grants, job->request, job->places, job->arena, err) < 0)
        return -1;
    job_mark(job, "grants");
    return find_code(job, err);
}

static void fill_plan(struct job *job, struct plan *plan, struct child_load *load)
{
    const struct request *request = job->request;

    plan->args[0] = request->argv0 ? request->argv0 : request->module;
    plan->use_fuel = job->result->use_fuel;
    plan->pulley = request->pulley;
    plan->env = request->env;
    plan->n_env = request->n_env;
    load->code = job->wasm.code;
}

static void end(struct job *job)
{
    /* whatever keeps a module from starting is told in the words that callers look for */
    if (job->result->reason == REASON_NOT_STARTED)
        (void) err_prefix(&job->result->err, "failed to load wasm module `%s`",
                          job->request->module);
    cleanup_fd(&job->wasm.code);
    module_release(&job->wasm.module);
    cache_release(&job->wasm.cache);
}

const struct backend_row backend_wasm = {
    .name = "wasm",
    .program = "wasp-cell-wasm",
    .job = JOB_WASM,
    .check = check,
    .prepare = prepare,
    .plan = fill_plan,
    .finish = run_again_if_stale,
    .end = end,
};
