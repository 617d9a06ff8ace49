#include "cell/engine.h"

#include <string.h>

/* A backtrace comes before the cause, and would fill the line: the cause is what is told. */
static const char *find_cause(const char *text, const char *end)
{
    static const char heading[] = "Caused by:";
    const char *found = memmem(text, (size_t) (end - text), heading, sizeof(heading) - 1);
    if (found == NULL)
        return text;
    found += sizeof(heading) - 1;
    while (found < end && (*found == ' ' || *found == '\n'))
        found++;
    return found;
}

/* The text comes from the engine and may quote the module: only printable ASCII leaves here. */
static void copy_text(const wasm_byte_vec_t *message, char *text, size_t size)
{
    const char *end = message->data + message->size;
    size_t len = 0;
    for (const char *at = find_cause(message->data, end); at < end && len + 1 < size; at++) {
        char c = *at;
        if (c == '\0')
            break;
        if (c == '\n' || c == '\t')
            c = ' ';
        if (c == ' ' && len > 0 && text[len - 1] == ' ')
            continue;
        text[len++] = c >= 0x20 && c < 0x7f ? c : '?';
    }
    while (len > 0 && text[len - 1] == ' ')
        len--;
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

wasm_config_t *engine_settings(const struct plan *plan, struct err *err)
{
    wasm_config_t *settings = wasm_config_new();
    wasmtime_config_consume_fuel_set(settings, plan->use_fuel);
    if (!plan->pulley)
        return settings;
    wasmtime_error_t *error = wasmtime_config_target_set(settings, "pulley64");
    if (error == NULL)
        return settings;
    char text[256];
    engine_error_text(error, text, sizeof(text));
    (void) err_set(err, ERR_BACKEND, "the engine has no interpreter: %s", text);
    wasmtime_error_delete(error);
    wasm_config_delete(settings);
    return NULL;
}

wasm_engine_t *engine_start(wasm_config_t *settings, struct err *err)
{
    wasm_engine_t *engine = settings == NULL ? NULL : wasm_engine_new_with_config(settings);
    if (settings != NULL && engine == NULL)
        (void) err_set(err, ERR_BACKEND, "the engine does not start with these settings");
    return engine;
}
