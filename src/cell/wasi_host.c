#include "cell/wasi_host.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"

#define MAX_PARAMS 9 /* path_open */

/* One import: what the engine hands back to us at each call. */
struct binding {
    struct wasi_host *host;
    const struct wasi_function *function;
    size_t n_params;
};

static bool find_memory(struct wasi_host *host, wasmtime_caller_t *caller)
{
    wasmtime_extern_t item;
    if (!wasmtime_caller_export_get(caller, "memory", 6, &item))
        return false;
    if (item.kind != WASMTIME_EXTERN_MEMORY) {
        wasmtime_extern_delete(&item);
        return false;
    }
    host->memory = item.of.memory;
    host->has_memory = true;
    return true;
}

static wasm_trap_t *make_trap(const char *text)
{
    return wasmtime_trap_new(text, strlen(text));
}

static wasm_trap_t *call_wasi(void *env, wasmtime_caller_t *caller, wasmtime_val_raw_t *values,
                              size_t n_values)
{
    const struct binding *binding = env;
    struct wasi_host *host = binding->host;
    (void) n_values; /* the engine checked the type: it is n_params and one result */
    if (!host->has_memory && !find_memory(host, caller)) {
        host->trapped = true;
        return make_trap("the module calls WASI but exports no memory");
    }

    /* asked for anew at each call: memory may have moved or grown since the last one */
    wasmtime_context_t *context = wasmtime_caller_context(caller);
    struct wasi_memory memory = {
        .base = wasmtime_memory_data(context, &host->memory),
        .size = wasmtime_memory_data_size(context, &host->memory),
    };
    uint64_t args[MAX_PARAMS];
    for (size_t i = 0; i < binding->n_params; i++)
        args[i] = (uint64_t) values[i].i64;
    uint32_t answer = binding->function->call(host->wasi, &memory, args);
    if (answer == WASI_STOP)
        return make_trap("the guest called proc_exit");
    values[0].i32 = (int32_t) answer;
    return NULL;
}

static wasm_valtype_t *make_type(char letter)
{
    return wasm_valtype_new(letter == 'I' ? WASM_I64 : WASM_I32);
}

static wasm_functype_t *make_signature(const struct wasi_function *function)
{
    wasm_valtype_t *types[MAX_PARAMS];
    size_t n = strlen(function->params);
    for (size_t i = 0; i < n; i++)
        types[i] = make_type(function->params[i]);
    wasm_valtype_vec_t params, results;
    wasm_valtype_vec_new(&params, n, types);
    wasm_valtype_t *result = function->has_result ? make_type('i') : NULL;
    wasm_valtype_vec_new(&results, function->has_result ? 1 : 0, &result);
    return wasm_functype_new(&params, &results);
}

static void bind_function(struct binding *binding, wasmtime_context_t *context,
                          wasmtime_extern_t *ret_import)
{
    wasm_functype_t *signature = make_signature(binding->function);
    ret_import->kind = WASMTIME_EXTERN_FUNC;
    wasmtime_func_new_unchecked(context, signature, call_wasi, binding, NULL, &ret_import->of.func);
    wasm_functype_delete(signature);
}

static bool types_match(const wasm_valtype_vec_t *types, const char *letters)
{
    for (size_t i = 0; i < types->size; i++)
        if (letters[i] == '\0' ||
            wasm_valtype_kind(types->data[i]) != (letters[i] == 'I' ? WASM_I64 : WASM_I32))
            return false;
    return letters[types->size] == '\0';
}

/* Our function for this import, or NULL: a name or a type that is not ours. */
static const struct wasi_function *find_function(const wasm_importtype_t *import,
                                                 const char *module, const char *name)
{
    const wasm_externtype_t *type = wasm_importtype_type(import);
    const struct wasi_function *function = wasi_find(module, name);
    if (function == NULL || wasm_externtype_kind(type) != WASM_EXTERN_FUNC)
        return NULL;
    const wasm_functype_t *signature = wasm_externtype_as_functype_const(type);
    if (!types_match(wasm_functype_params(signature), function->params) ||
        !types_match(wasm_functype_results(signature), function->has_result ? "i" : ""))
        return NULL;
    return function;
}

/*
 * A name out of the module as a C string in text; what does not fit or holds a NUL cannot be one of
 * ours.
 */
static const char *copy_name(const wasm_name_t *name, char *text, size_t size)
{
    size_t len = name->size < size - 1 ? name->size : size - 1;
    for (size_t i = 0; i < len; i++)
        text[i] = name->data[i] >= 0x20 && name->data[i] < 0x7f ? name->data[i] : '?';
    text[len] = '\0';
    return text;
}

static int refuse_imports(const struct buf *unknown, size_t count, struct err *err)
{
    (void) err_set(
        err, ERR_IMPORTS,
        "the module imports %zu thing%s that wasp does not offer, or not with that type: %s", count,
        count == 1 ? "" : "s", unknown->data);
    return err_hint(
        err, "wasp offers the functions of wasi_snapshot_preview1 and wasi_unstable, and fs_read, "
             "fs_write, exec_run and answer of `wasp`; build the module for wasm32-wasi (WASI "
             "preview 1)");
}

int wasi_host_link(struct wasi_host *host, wasmtime_context_t *context,
                   const wasmtime_module_t *module, wasmtime_extern_t **ret_imports,
                   size_t *ret_count, struct err *err)
{
    wasm_importtype_vec_t types;
    wasmtime_module_imports(module, &types);
    wasmtime_extern_t *imports = calloc(types.size + 1, sizeof(*imports));
    struct binding *bindings = calloc(types.size + 1, sizeof(*bindings));
    _cleanup_(buf_release) struct buf unknown = BUF_INIT(512);
    size_t n_unknown = 0;
    if (imports == NULL || bindings == NULL)
        return err_set(err, ERR_BACKEND, "no memory to link %zu imports", types.size);

    for (size_t i = 0; i < types.size; i++) {
        char module_name[64], name[64];
        const wasm_importtype_t *type = types.data[i];
        copy_name(wasm_importtype_module(type), module_name, sizeof(module_name));
        copy_name(wasm_importtype_name(type), name, sizeof(name));
        const struct wasi_function *function = find_function(type, module_name, name);
        if (function == NULL) {
            /* the list is cut when it is full; the count is not */
            (void) buf_printf(&unknown, "%s%s.%s", n_unknown == 0 ? "" : ", ", module_name, name);
            n_unknown++;
            continue;
        }
        bindings[i] = (struct binding){host, function, strlen(function->params)};
        bind_function(&bindings[i], context, &imports[i]);
    }
    *ret_count = types.size;
    wasm_importtype_vec_delete(&types);
    if (n_unknown > 0)
        return refuse_imports(&unknown, n_unknown, err);
    *ret_imports = imports;
    return 0;
}
