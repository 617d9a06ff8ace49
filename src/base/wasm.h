/*
 * wasm: what the first bytes of a module say.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"

#define WASM_HEADER_BYTES 8

/* 0 if they are those of a core module, else -1 and *err: ERR_MALFORMED or ERR_COMPONENT. */
int wasm_check_header(const uint8_t header[WASM_HEADER_BYTES], struct err *err);
