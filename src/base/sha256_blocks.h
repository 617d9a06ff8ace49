/*
 * sha256_blocks: SHA-256 by the processor's own instructions, which take a sixth of the time.
 * digest.c uses it where it is there.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHA256_BLOCK_BYTES 64

/*
 * Takes whole blocks into the eight words of the state. False, and nothing is done, if this
 * processor cannot.
 */
bool sha256_blocks(uint32_t state[8], const uint8_t *bytes, size_t n_blocks);
