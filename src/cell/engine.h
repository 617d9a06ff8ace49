/*
 * engine: Wasmtime as wasp sets it up. The compiler and the runner must agree on every setting, so
 * there is one place. Only the files of the wasm and the compile job include this.
 */
#pragma once

#include <wasmtime.h>

#include "base/err.h"
#include "plan/plan.h"

/* What compiler and runner have in common; part of the cache key (run/cache.c). NULL and *err. */
wasm_config_t *engine_settings(const struct plan *plan, struct err *err);
/* Takes the settings. NULL and *err if they do not fit together. */
wasm_engine_t *engine_start(wasm_config_t *settings, struct err *err);
/*
 * Puts the engine's message (or trap's) into text, cut to size, control characters and all but
 * ASCII replaced.
 */
void engine_error_text(const wasmtime_error_t *error, char *text, size_t size);
void engine_trap_text(const wasm_trap_t *trap, char *text, size_t size);

/* ---- from src/engine/runtime/src/lib.rs: the runner's library only --------------------------- */

/* The guest's stack, of any size; the C API stops at 2 MiB. */
void wasp_engine_stack(wasm_config_t *settings, size_t bytes);

/*
 * Loads code that wasp-compile made from a descriptor, which it takes in every case. NULL or an
 * error.
 */
wasmtime_error_t *wasp_engine_load(const wasm_engine_t *engine, int fd,
                                   wasmtime_module_t **ret_module);

/* What a store may use at most, and how often it asked for more. */
struct wasp_engine_limits {
    uint64_t memory_bytes;
    uint64_t table_elements;
    uint64_t memory_peak_bytes;
    uint64_t memory_refused;
    uint64_t table_refused;
};

/* In force for everything the store makes from here on; limits outlives the store. */
void wasp_engine_limit(wasmtime_store_t *store, struct wasp_engine_limits *limits);

/* ---- from src/engine/compiler/src/lib.rs: the compiler's library only ------------------------ */

/*
 * Compiles without making anything executable. NULL and bytes that live until the process ends, or
 * an error.
 */
wasmtime_error_t *wasp_engine_compile(const wasm_engine_t *engine, const uint8_t *wasm, size_t len,
                                      const uint8_t **ret_code, size_t *ret_len);
