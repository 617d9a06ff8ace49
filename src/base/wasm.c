#include "base/wasm.h"

#include <string.h>

#define MAGIC "\0asm"
/* The third and fourth byte of the version say what it is: 0 a module, 1 a component. */
#define LAYER_AT 6

int wasm_check_header(const uint8_t header[WASM_HEADER_BYTES], struct err *err)
{
    if (memcmp(header, MAGIC, 4) != 0) {
        (void) err_set(err, ERR_MALFORMED, "not a wasm module: the first bytes are not \\0asm");
        if (header[0] == '(')
            return err_hint(err, "text (.wat) must be assembled first, for instance with wat2wasm");
        return err_hint(err, "compile the program for WASI preview 1 (wasm32-wasi); docs/guests.md "
                             "shows how");
    }
    if (header[LAYER_AT] != 0) {
        (void) err_set(err, ERR_COMPONENT, "this is a wasm component, wasp runs core modules");
        return err_hint(err, "build for WASI preview 1 (target wasm32-wasi or wasm32-wasip1)");
    }
    return 0;
}
