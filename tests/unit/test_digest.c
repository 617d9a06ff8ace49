#include "tap.h"

#include <string.h>

#include "base/digest.h"
#include "base/sha256_blocks.h"

/* FIPS 180-2, appendix B. */
static const struct {
    const char *text, *hex;
} sha256_rows[] = {
    {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
    {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
};

static void test_sha256(void)
{
    char hex[DIGEST_HEX];
    struct digest digest;
    struct sha256 sha;

    for (size_t i = 0; i < sizeof(sha256_rows) / sizeof(sha256_rows[0]); i++) {
        const char *text = sha256_rows[i].text;
        sha256_init(&sha);
        for (size_t at = 0; at < strlen(text); at++)
            sha256_add(&sha, text + at, 1);
        sha256_finish(&sha, &digest);
        digest_hex(&digest, hex);
        ok(strcmp(hex, sha256_rows[i].hex) == 0, "SHA-256 of '%s', byte by byte, is %s", text,
           sha256_rows[i].hex);
    }
}

/* In whole blocks or across them: the fast way and the portable one agree. */
static void test_blocks(void)
{
    static const size_t pieces[] = {1, 3, 63, 64, 65, 127, 128, 200, 1000};
    uint8_t bytes[1000];
    struct digest by_one, digest;
    struct sha256 sha;
    bool same = true;

    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t) (i * 7 + i / 256);
    for (size_t len = 0; len <= sizeof(bytes); len += len < 200 ? 1 : 97) {
        sha256_init(&sha);
        for (size_t i = 0; i < len; i++)
            sha256_add(&sha, bytes + i, 1);
        sha256_finish(&sha, &by_one);
        for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
            sha256_init(&sha);
            for (size_t at = 0; at < len; at += pieces[i])
                sha256_add(&sha, bytes + at, len - at < pieces[i] ? len - at : pieces[i]);
            sha256_finish(&sha, &digest);
            same = same && digest_equal(&digest, &by_one);
        }
    }
    ok(same, "SHA-256 does not depend on the pieces in which the bytes come");
    uint32_t state[8] = {0};
    if (!sha256_blocks(state, bytes, 1))
        skip("this processor has no instructions for SHA-256");
    else
        ok(state[0] != 0, "the processor's own instructions are used");
}

static void mac_of(const uint8_t *key, const char *text, struct digest *ret_digest)
{
    struct mac mac;

    mac_init(&mac, key);
    mac_add(&mac, text, strlen(text));
    mac_finish(&mac, ret_digest);
}

static void test_mac(void)
{
    uint8_t key[DIGEST_KEY_BYTES];
    struct digest first, again, other;
    char hex[DIGEST_HEX];

    for (size_t i = 0; i < sizeof(key); i++)
        key[i] = (uint8_t) i;
    mac_of(key, "abc", &first);
    mac_of(key, "abc", &again);
    ok(digest_equal(&first, &again), "the same key and text give the same MAC");
    mac_of(key, "abd", &other);
    ok(!digest_equal(&first, &other), "another text gives another MAC");
    key[31] ^= 1;
    mac_of(key, "abc", &other);
    ok(!digest_equal(&first, &other), "another key gives another MAC");
    digest_hex(&first, hex);
    /* python3: hashlib.blake2b(b"abc", key=bytes(range(32)), digest_size=32) */
    ok(strcmp(hex, "d63a32d3e44738d7907f964316c241adaba0abfeabc32349677578a15a203f7f") == 0,
       "the MAC is keyed BLAKE2b-256");
}

static void test_hex(void)
{
    static const char good[] = "00112233445566778899aabbccddeeffABCDEFabcdef00000000000000000001";
    static const struct {
        const char *hex, *sentence;
    } refused[] = {
        {"", "no digits are no digest"},
        {"00112233445566778899aabbccddeeffABCDEFabcdef0000000000000000000",
         "63 digits are no digest"},
        {"00112233445566778899aabbccddeeffABCDEFabcdef000000000000000000011",
         "65 digits are no digest"},
        {"00112233445566778899aabbccddeeffABCDEFabcdef0000000000000000000g", "g is no hex digit"},
        {" 0112233445566778899aabbccddeeffABCDEFabcdef00000000000000000001",
         "a blank is no hex digit"},
        {"0x112233445566778899aabbccddeeffABCDEFabcdef00000000000000000001", "x is no hex digit"},
    };
    struct digest digest, untouched;
    char hex[DIGEST_HEX];

    ok(digest_from_hex(good, &digest) && digest.bytes[1] == 0x11 && digest.bytes[31] == 1,
       "64 hex digits in either case are a digest");
    digest_hex(&digest, hex);
    ok(strcasecmp(hex, good) == 0, "and read the same when printed");
    untouched = digest;
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
        ok(!digest_from_hex(refused[i].hex, &digest) && digest_equal(&digest, &untouched), "%s",
           refused[i].sentence);
}

static void test_random(void)
{
    uint8_t a[1000] = {0}, b[1000] = {0}, none[1000] = {0};

    random_bytes(a, sizeof(a));
    random_bytes(b, sizeof(b));
    ok(memcmp(a, b, sizeof(a)) != 0 && memcmp(a + 900, none, 100) != 0,
       "random bytes differ and reach the end");
    wipe_bytes(a, sizeof(a));
    ok(memcmp(a, none, sizeof(a)) == 0, "wiped bytes are gone");
}

int main(void)
{
    test_sha256();
    test_blocks();
    test_mac();
    test_hex();
    test_random();
    return done();
}
