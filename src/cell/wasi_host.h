/*
 * wasi_host: puts our WASI behind the imports of a module. Between engine and wasi/, which know
 * nothing of each other.
 */
#pragma once

#include "cell/engine.h"
#include "cell/wasi/wasi.h"

struct wasi_host {
    struct wasi *wasi;
    wasmtime_memory_t memory; /* the guest's, found at its first call */
    bool has_memory;
    bool trapped; /* a call ended in a trap of ours, and not by proc_exit */
};

/*
 * Makes one function for each import of the module, in order. Returns 0 and an array of *ret_count
 * that lives until the process ends, or -1 and *err (ERR_IMPORTS) with the names of what wasp does
 * not offer. host must outlive the store.
 */
int wasi_host_link(struct wasi_host *host, wasmtime_context_t *context,
                   const wasmtime_module_t *module, wasmtime_extern_t **ret_imports,
                   size_t *ret_count, struct err *err);
