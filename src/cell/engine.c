#include "cell/engine.h"

/* The text comes from the engine and may quote the module: nothing but printable ASCII leaves here.
 */
static void copy_text(const wasm_byte_vec_t *message, char *text, size_t size)
{
    size_t len = 0;
    for (size_t i = 0; i < message->size && len + 1 < size; i++) {
        char c = message->data[i];
        if (c == '\0')
            break;
        if (c == '\n' || c == '\t')
            c = ' ';
        if (c == ' ' && len > 0 && text[len - 1] == ' ')
            continue;
        text[len++] = c >= 0x20 && c < 0x7f ? c : '?';
    }
    text[len] = '\0';
}

void engine_error_text(const wasmtime_error_t *error, char *text, size_t size)
{
    wasm_byte_vec_t message;
    wasmtime_error_message(error, &message);
    copy_text(&message, text, size);
    wasm_byte_vec_delete(&message);
}

void engine_trap_text(const wasm_trap_t *trap, char *text, size_t size)
{
    wasm_byte_vec_t message;
    wasm_trap_message(trap, &message);
    copy_text(&message, text, size);
    wasm_byte_vec_delete(&message);
}

wasm_engine_t *engine_new(const struct plan *plan, struct err *err)
{
    wasm_config_t *config = wasm_config_new();
    wasmtime_config_consume_fuel_set(config, plan->use_fuel);
    wasmtime_config_max_wasm_stack_set(config, (size_t) plan->limits.value[LIMIT_STACK]);
    if (plan->pulley) {
        wasmtime_error_t *error = wasmtime_config_target_set(config, "pulley64");
        if (error != NULL) {
            char text[256];
            engine_error_text(error, text, sizeof(text));
            (void) err_set(err, ERR_BACKEND, "the engine has no interpreter: %s", text);
            wasmtime_error_delete(error);
            wasm_config_delete(config);
            return NULL;
        }
    }
    wasm_engine_t *engine = wasm_engine_new_with_config(config);
    if (engine == NULL)
        (void) err_set(err, ERR_BACKEND, "the engine does not start with these settings");
    return engine;
}
