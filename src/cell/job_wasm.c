/*
 * The wasm job: load the code, link WASI, take away what loading needed, run the guest.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cell/cell.h"
#include "cell/engine.h"
#include "cell/tell.h"
#include "cell/wasi_host.h"

struct job {
    struct wasi_host host;
    struct wasp_engine_limits limits;
    wasmtime_module_t *module;
    wasmtime_store_t *store;
    wasmtime_context_t *context;
    wasmtime_extern_t *imports;
    size_t n_imports;
    uint32_t denials_told;
};

/* ---- before the guest ------------------------------------------------------------------------ */

static int load_code(struct job *job, const struct plan *plan, struct err *err)
{
    wasm_config_t *settings = engine_settings(plan, err);
    if (settings == NULL)
        return -1;
    wasp_engine_stack(settings, (size_t) plan->limits.value[LIMIT_STACK]);
    wasm_engine_t *engine = engine_start(settings, err);
    if (engine == NULL)
        return -1;
    wasmtime_error_t *error = wasp_engine_load(engine, CELL_FD_CODE, &job->module);
    if (error != NULL) {
        char text[256];
        engine_error_text(error, text, sizeof(text));
        return err_set(err, ERR_STALE_CODE, "cannot load the compiled module: %s", text);
    }
    job->store = wasmtime_store_new(engine, NULL, NULL);
    job->context = wasmtime_store_context(job->store);
    job->limits.memory_bytes = plan->limits.value[LIMIT_MEMORY];
    job->limits.table_elements = plan->limits.value[LIMIT_TABLE];
    wasp_engine_limit(job->store, &job->limits);
    return 0;
}

static void note_denial(void *data, const struct tell_denial *denial)
{
    struct job *job = data;
    if (job->denials_told++ < TELL_MAX_DENIALS)
        tell_denial(denial);
}

static int make_wasi(struct job *job, const struct cell *cell, struct err *err)
{
    const struct plan *plan = &cell->plan;
    struct wasi_preopen preopens[2 * CELL_MAX_GRANTS];
    size_t n = 0;
    for (size_t i = 0; i < plan->n_grants; i++) {
        const struct plan_grant *grant = &plan->grants[i];
        bool writable = grant->access == ACCESS_RW;
        int fd = cell->grants[i];
        preopens[n++] = (struct wasi_preopen){fd, grant->guest, writable, grant->at};
        if (!grant->also_dot)
            continue;
        int again = dup(fd);
        if (again < 0)
            return err_sys(err, ERR_HOST, "cannot grant '%s' as '.' too", grant->host);
        preopens[n++] = (struct wasi_preopen){again, ".", writable, grant->at};
    }
    struct wasi_config config = {
        .args = plan->args,
        .n_args = plan->n_args,
        .env = plan->env,
        .n_env = plan->n_env,
        .preopens = preopens,
        .n_preopens = n,
        .unprotected = plan->unprotected,
        .limits = &plan->limits,
        .deadline_ns = plan->deadline_ns,
        .has_door = plan->has_door,
        .door = CELL_FD_DOOR,
        .denied = note_denial,
        .data = job,
    };
    return wasi_new(&config, &job->host.wasi, err);
}

static int check_exports(const struct job *job, struct err *err)
{
    wasm_exporttype_vec_t exports;
    wasmtime_module_exports(job->module, &exports);
    bool has_start = false;
    for (size_t i = 0; i < exports.size; i++) {
        const wasm_name_t *name = wasm_exporttype_name(exports.data[i]);
        bool is_start = name->size == 6 && memcmp(name->data, "_start", 6) == 0;
        const wasm_externtype_t *type = wasm_exporttype_type(exports.data[i]);
        if (!is_start || wasm_externtype_kind(type) != WASM_EXTERN_FUNC)
            continue;
        const wasm_functype_t *function = wasm_externtype_as_functype_const(type);
        has_start =
            wasm_functype_params(function)->size == 0 && wasm_functype_results(function)->size == 0;
    }
    wasm_exporttype_vec_delete(&exports);
    if (has_start)
        return 0;
    (void) err_set(err, ERR_NO_START,
                   "the module exports no function `_start` without parameters and results");
    return err_hint(err,
                    "build it as a command (an executable with main), not as a library or reactor");
}

/* ---- the guest ------------------------------------------------------------------------------- */

/*
 * As the engine's trap codes are numbered; what is not listed comes from proposals that are
 * switched off.
 */
static const char *const trap_names[] = {
    [WASMTIME_TRAP_CODE_STACK_OVERFLOW] = "stack_overflow",
    [WASMTIME_TRAP_CODE_MEMORY_OUT_OF_BOUNDS] = "memory_out_of_bounds",
    [WASMTIME_TRAP_CODE_HEAP_MISALIGNED] = "heap_misaligned",
    [WASMTIME_TRAP_CODE_TABLE_OUT_OF_BOUNDS] = "table_out_of_bounds",
    [WASMTIME_TRAP_CODE_INDIRECT_CALL_TO_NULL] = "indirect_call_to_null",
    [WASMTIME_TRAP_CODE_BAD_SIGNATURE] = "bad_signature",
    [WASMTIME_TRAP_CODE_INTEGER_OVERFLOW] = "integer_overflow",
    [WASMTIME_TRAP_CODE_INTEGER_DIVISION_BY_ZERO] = "integer_division_by_zero",
    [WASMTIME_TRAP_CODE_BAD_CONVERSION_TO_INTEGER] = "bad_conversion_to_integer",
    [WASMTIME_TRAP_CODE_UNREACHABLE_CODE_REACHED] = "unreachable",
    [WASMTIME_TRAP_CODE_NULL_REFERENCE] = "null_reference",
    [WASMTIME_TRAP_CODE_UNCAUGHT_EXCEPTION] = "uncaught_exception",
};

/* A trap that a function of ours raised; the engine hands it back as an error. */
static void describe_host_trap(const wasmtime_error_t *error, struct tell_done *done)
{
    done->kind = DONE_TRAPPED;
    strncpy(done->trap_code, "host", sizeof(done->trap_code) - 1);
    engine_error_text(error, done->trap_message, sizeof(done->trap_message));
}

static void describe_trap(const wasm_trap_t *trap, struct tell_done *done)
{
    wasmtime_trap_code_t code;
    const char *name = "host";
    done->kind = DONE_TRAPPED;
    if (wasmtime_trap_code(trap, &code)) {
        if (code == WASMTIME_TRAP_CODE_OUT_OF_FUEL)
            done->kind = DONE_FUEL;
        name =
            code < ARRAY_SIZE(trap_names) && trap_names[code] != NULL ? trap_names[code] : "trap";
    }
    strncpy(done->trap_code, name, sizeof(done->trap_code) - 1);
    engine_trap_text(trap, done->trap_message, sizeof(done->trap_message));
}

static void add_usage(struct job *job, const struct plan *plan, struct tell_done *done)
{
    const struct wasi_counters *counters = wasi_counters(job->host.wasi);
    done->limits_hit = counters->limits_hit;
    if (job->limits.memory_refused > 0)
        done->limits_hit |= HIT_MEMORY;
    if (job->limits.table_refused > 0)
        done->limits_hit |= HIT_TABLE;
    done->denials = counters->denials;
    done->bytes_written = counters->bytes_written;
    done->files_made = counters->files_made;
    done->memory_peak_bytes = job->limits.memory_peak_bytes;
    uint64_t left = 0;
    if (plan->use_fuel && wasmtime_context_get_fuel(job->context, &left) == NULL)
        done->fuel_used = plan->limits.value[LIMIT_FUEL] - left;
}

static int refuse_start(enum err_code code, const char *what, const char *unit, uint64_t limit,
                        struct err *err)
{
    (void) err_set(err, code, "the module needs more %s to start than the limit of %llu %s", what,
                   (unsigned long long) limit, unit);
    return err_hint(err, "raise --%s", what);
}

/* The instance could not be made: by the limiter, or by the host's memory. */
static int explain_no_instance(const struct job *job, const wasmtime_error_t *error,
                               struct err *err)
{
    char text[256];
    engine_error_text(error, text, sizeof(text));
    if (job->limits.memory_refused > 0 && job->limits.memory_peak_bytes == 0)
        return refuse_start(ERR_NEEDS_MEMORY, "memory", "bytes", job->limits.memory_bytes, err);
    if (job->limits.table_refused > 0)
        return refuse_start(ERR_NEEDS_TABLE, "table", "elements", job->limits.table_elements, err);
    return err_set(err, ERR_MALFORMED, "the module cannot be instantiated: %s", text);
}

/* Instantiation runs the module's start function, so it is guest code already. */
static int run_guest(struct job *job, struct tell_done *done, struct err *err)
{
    wasm_trap_t *trap = NULL;
    wasmtime_instance_t instance;
    wasmtime_extern_t start;
    bool is_made = false;
    wasmtime_error_t *error = wasmtime_instance_new(job->context, job->module, job->imports,
                                                    job->n_imports, &instance, &trap);
    if (error == NULL && trap == NULL) {
        is_made = wasmtime_instance_export_get(job->context, &instance, "_start", 6, &start);
        if (!is_made)
            return err_set(err, ERR_NO_START, "the export `_start` went away");
        wasmtime_val_raw_t none = {.i64 = 0};
        error = wasmtime_func_call_unchecked(job->context, &start.of.func, &none, 1, &trap);
    }
    if (wasi_exited(job->host.wasi, &done->exit_code))
        done->kind = DONE_EXITED;
    else if (trap != NULL)
        describe_trap(trap, done);
    else if (error != NULL && (is_made || job->host.trapped))
        describe_host_trap(error, done);
    else if (error != NULL)
        return explain_no_instance(job, error, err);
    else
        done->kind = DONE_RETURNED;
    return 0;
}

const bool cell_is_native = false;

int cell_job(struct cell *cell, struct err *err)
{
    const struct plan *plan = &cell->plan;
    struct job job = {.module = NULL};
    if (load_code(&job, plan, err) < 0 || check_exports(&job, err) < 0 ||
        make_wasi(&job, cell, err) < 0 ||
        wasi_host_link(&job.host, job.context, job.module, &job.imports, &job.n_imports, err) < 0)
        return err_step(err, "load");
    if (plan->use_fuel) {
        wasmtime_error_t *error =
            wasmtime_context_set_fuel(job.context, plan->limits.value[LIMIT_FUEL]);
        if (error != NULL) {
            (void) err_set(err, ERR_BACKEND, "cannot set the fuel");
            return err_step(err, "load");
        }
    }
    /* from here on the guest decides what happens */
    if (cell_shed_loading(cell, err) < 0)
        return -1;

    tell_ready(cell->walls, cell->landlock_abi);
    struct tell_done done = {.kind = 0};
    if (run_guest(&job, &done, err) < 0)
        return err_step(err, "start");
    add_usage(&job, plan, &done);
    tell_done(&done);
    return 0;
}
