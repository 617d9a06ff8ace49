#include "base/digest.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/sha256_blocks.h"

/*
 * sodium_init is not called: it chooses faster variants for the CPU and opens the random device.
 * The functions used here start out with their portable variant, keep no state outside their
 * arguments and draw no random numbers.
 */
_Static_assert(sizeof(crypto_hash_sha256_state) <= sizeof(struct sha256), "state fits");
_Static_assert(_Alignof(crypto_hash_sha256_state) <= _Alignof(struct sha256), "state is aligned");
_Static_assert(sizeof(crypto_generichash_state) <= sizeof(struct mac), "state fits");
_Static_assert(_Alignof(crypto_generichash_state) <= _Alignof(struct mac), "state is aligned");
_Static_assert(DIGEST_BYTES == crypto_hash_sha256_BYTES, "a digest is a SHA-256");
_Static_assert(DIGEST_BYTES == crypto_generichash_BYTES, "a digest is a BLAKE2b-256");
_Static_assert(DIGEST_KEY_BYTES == crypto_generichash_KEYBYTES, "the recommended key length");

static crypto_hash_sha256_state *sha256_state(struct sha256 *sha)
{
    return (crypto_hash_sha256_state *) (void *) sha->state;
}

static crypto_generichash_state *mac_state(struct mac *mac)
{
    return (crypto_generichash_state *) (void *) mac->state;
}

/* The (void)s below: libsodium's hashes answer 0 for every input of a legal length. */

void sha256_init(struct sha256 *sha)
{
    (void) crypto_hash_sha256_init(sha256_state(sha));
}

/* Between whole blocks, as many as there are go past libsodium, which has no fast variant. */
static size_t add_blocks(crypto_hash_sha256_state *state, const uint8_t *bytes, size_t len)
{
    size_t n = len / SHA256_BLOCK_BYTES;
    uint64_t bits = (uint64_t) n * SHA256_BLOCK_BYTES * 8;

    if (n == 0 || state->count % (SHA256_BLOCK_BYTES * 8) != 0 ||
        !sha256_blocks(state->state, bytes, n))
        return 0;
    state->count += bits;
    return n * SHA256_BLOCK_BYTES;
}

void sha256_add(struct sha256 *sha, const void *bytes, size_t len)
{
    crypto_hash_sha256_state *state = sha256_state(sha);
    size_t begun = state->count / 8 % SHA256_BLOCK_BYTES;
    size_t first = begun > 0 ? SHA256_BLOCK_BYTES - begun : 0; /* ends the block that was begun */
    const uint8_t *at = bytes;

    if (len == 0)
        return;
    if (first > len)
        first = len;
    if (first > 0)
        (void) crypto_hash_sha256_update(state, at, first);
    first += add_blocks(state, at + first, len - first);
    if (len > first)
        (void) crypto_hash_sha256_update(state, at + first, len - first);
}

void sha256_finish(struct sha256 *sha, struct digest *ret_digest)
{
    (void) crypto_hash_sha256_final(sha256_state(sha), ret_digest->bytes);
}

void mac_init(struct mac *mac, const uint8_t key[DIGEST_KEY_BYTES])
{
    (void) crypto_generichash_init(mac_state(mac), key, DIGEST_KEY_BYTES, DIGEST_BYTES);
}

void mac_add(struct mac *mac, const void *bytes, size_t len)
{
    (void) crypto_generichash_update(mac_state(mac), bytes, len);
}

void mac_finish(struct mac *mac, struct digest *ret_digest)
{
    (void) crypto_generichash_final(mac_state(mac), ret_digest->bytes, DIGEST_BYTES);
}

bool digest_equal(const struct digest *a, const struct digest *b)
{
    return sodium_memcmp(a->bytes, b->bytes, DIGEST_BYTES) == 0;
}

void digest_hex(const struct digest *digest, char ret_hex[DIGEST_HEX])
{
    (void) sodium_bin2hex(ret_hex, DIGEST_HEX, digest->bytes, DIGEST_BYTES);
}

bool digest_from_hex(const char *hex, struct digest *ret_digest)
{
    struct digest digest;
    size_t len = 0;

    if (strlen(hex) != DIGEST_HEX - 1 ||
        sodium_hex2bin(digest.bytes, DIGEST_BYTES, hex, DIGEST_HEX - 1, NULL, &len, NULL) != 0 ||
        len != DIGEST_BYTES)
        return false;
    *ret_digest = digest;
    return true;
}

void random_bytes(void *bytes, size_t len)
{
    unsigned char *at = bytes;

    while (len > 0) {
        ssize_t n = getrandom(at, len, 0);
        if (n < 0 && errno == EINTR)
            continue;
        /*
         * Only a kernel older than the ones we start on refuses; keys made of nothing would be
         * worse.
         */
        if (n <= 0)
            abort();
        at += n;
        len -= (size_t) n;
    }
}

void wipe_bytes(void *bytes, size_t len)
{
    explicit_bzero(bytes, len);
}
