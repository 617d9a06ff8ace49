/* Any bytes as a manifest: refused with a key's path, or a request that keeps its promises. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/utf8.h"
#include "plan/manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_new();
    struct manifest manifest;
    struct err err = {0};

    if (!arena)
        return 0;
    if (manifest_parse((const char *) data, size, "base", NULL, NULL, arena, &manifest, &err) < 0) {
        assert((err.code == ERR_REQUEST || err.code == ERR_DENIED) && err.message[0]);
        assert(utf8_valid(err.message, strlen(err.message)) && !strchr(err.message, '\n'));
    } else {
        const struct request *request = &manifest.request;
        assert(!request->args[request->n_args] && !request->env[request->n_env]);
        assert((manifest.kind == MANIFEST_SAMPLE) == (manifest.sample != NULL));
        assert((manifest.kind == MANIFEST_WASM_RUN) == (request->module != NULL));
        assert((manifest.kind == MANIFEST_NATIVE_RUN) == (request->program != NULL));
        assert((manifest.kind == MANIFEST_CODE) == (request->source && request->language));
        assert((manifest.runtime != NULL) ==
               (manifest.kind == MANIFEST_CODE && request->backend == BACKEND_WASM));
        for (size_t i = 0; i < request->n_dirs; i++)
            assert(request->dirs[i].host[0] && request->dirs[i].guest[0]);
    }
    arena_free(arena);
    return 0;
}
