/*
 * digest: SHA-256, keyed MACs, random bytes and hex. The only file that knows libsodium.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DIGEST_BYTES 32
#define DIGEST_HEX (2 * DIGEST_BYTES + 1)
#define DIGEST_KEY_BYTES 32

struct digest {
    uint8_t bytes[DIGEST_BYTES];
};

/* Incremental SHA-256; the state is opaque, its size is checked in digest.c. */
struct sha256 {
    _Alignas(8) uint8_t state[128];
};
void sha256_init(struct sha256 *sha);
void sha256_add(struct sha256 *sha, const void *bytes, size_t len);
void sha256_finish(struct sha256 *sha, struct digest *ret_digest);

/* Incremental keyed BLAKE2b-256. */
struct mac {
    _Alignas(64) uint8_t state[384];
};
void mac_init(struct mac *mac, const uint8_t key[DIGEST_KEY_BYTES]);
void mac_add(struct mac *mac, const void *bytes, size_t len);
void mac_finish(struct mac *mac, struct digest *ret_digest);

/* In constant time. */
bool digest_equal(const struct digest *a, const struct digest *b);
void digest_hex(const struct digest *digest, char ret_hex[DIGEST_HEX]);
/* Exactly 64 hex digits, either case; false otherwise. */
bool digest_from_hex(const char *hex, struct digest *ret_digest);
/* From the kernel; does not fail. */
void random_bytes(void *bytes, size_t len);
/* Overwrites memory in a way the compiler keeps. */
void wipe_bytes(void *bytes, size_t len);
