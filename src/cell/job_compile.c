/*
 * The compile job: a module in, native code out. It reads one sealed memfd and writes one pipe.
 */
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/wasm.h"
#include "cell/cell.h"
#include "cell/engine.h"
#include "cell/tell.h"

static int map_module(const uint8_t **ret_bytes, size_t *ret_len, struct err *err)
{
    struct stat st;
    if (fstat(CELL_FD_CODE, &st) < 0)
        return err_sys(err, ERR_BACKEND, "cannot stat the module");
    if (st.st_size < WASM_HEADER_BYTES)
        return err_set(err, ERR_MALFORMED, "%lld bytes are no wasm module", (long long) st.st_size);
    void *bytes = mmap(NULL, (size_t) st.st_size, PROT_READ, MAP_PRIVATE, CELL_FD_CODE, 0);
    if (bytes == MAP_FAILED)
        return err_sys(err, ERR_BACKEND, "cannot map the module");
    *ret_bytes = bytes;
    *ret_len = (size_t) st.st_size;
    return 0;
}

const bool cell_is_native = false;

int cell_job(struct cell *cell, struct err *err)
{
    const uint8_t *bytes, *code;
    size_t len, code_len;
    if (map_module(&bytes, &len, err) < 0 || wasm_check_header(bytes, err) < 0)
        return err_step(err, "compile");
    wasm_engine_t *engine = engine_start(engine_settings(&cell->plan, err), err);
    if (engine == NULL)
        return err_step(err, "compile");

    tell_ready(cell->walls, cell->landlock_abi);
    wasmtime_error_t *error = wasp_engine_compile(engine, bytes, len, &code, &code_len);
    if (error != NULL) {
        char text[384];
        engine_error_text(error, text, sizeof(text));
        (void) err_set(err, ERR_MALFORMED, "not a valid wasm module: %s", text);
        return err_step(err, "compile");
    }
    if (fd_write_all(CELL_FD_STDOUT, code, code_len) < 0) {
        (void) err_sys(err, ERR_BACKEND, "cannot hand over the code");
        return err_step(err, "compile");
    }
    struct tell_done done = {.kind = DONE_RETURNED};
    tell_done(&done);
    return 0;
}
