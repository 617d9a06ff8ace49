#include "base/sha256_blocks.h"

#if defined(__x86_64__) && defined(__GLIBC__)

#include <immintrin.h>
#include <sys/platform/x86.h>

#define WITH_SHA __attribute__((target("sha,sse4.1")))

/* FIPS 180-4, 4.2.2. */
static const uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

/* The four words of the schedule that follow those 16, of which `w0` are the oldest. */
static WITH_SHA __m128i next_words(__m128i w0, __m128i w1, __m128i w2, __m128i w3)
{
    __m128i sum = _mm_add_epi32(_mm_sha256msg1_epu32(w0, w1), _mm_alignr_epi8(w3, w2, 4));

    return _mm_sha256msg2_epu32(sum, w3);
}

/* The instructions want the words a, b, e, f together, and c, d, g, h. */
static WITH_SHA void take_block(__m128i *abef, __m128i *cdgh, const uint8_t *bytes)
{
    const __m128i to_big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    __m128i words[4], before_abef = *abef, before_cdgh = *cdgh;

    for (int i = 0; i < 4; i++)
        words[i] = _mm_shuffle_epi8(
            _mm_loadu_si128((const __m128i *) (const void *) (bytes + i * 16)), to_big_endian);
    for (int i = 0; i < 16; i++) { /* four rounds each */
        __m128i added = _mm_add_epi32(
            words[i & 3], _mm_loadu_si128((const __m128i *) (const void *) (constants + i * 4)));
        *cdgh = _mm_sha256rnds2_epu32(*cdgh, *abef, added);
        *abef = _mm_sha256rnds2_epu32(*abef, *cdgh, _mm_shuffle_epi32(added, 0x0e));
        if (i < 12)
            words[i & 3] = next_words(words[i & 3], words[(i + 1) & 3], words[(i + 2) & 3],
                                      words[(i + 3) & 3]);
    }
    *abef = _mm_add_epi32(*abef, before_abef);
    *cdgh = _mm_add_epi32(*cdgh, before_cdgh);
}

static WITH_SHA void take_blocks(uint32_t s[8], const uint8_t *bytes, size_t n_blocks)
{
    __m128i abef = _mm_set_epi32((int) s[0], (int) s[1], (int) s[4], (int) s[5]);
    __m128i cdgh = _mm_set_epi32((int) s[2], (int) s[3], (int) s[6], (int) s[7]);

    for (; n_blocks > 0; n_blocks--, bytes += SHA256_BLOCK_BYTES)
        take_block(&abef, &cdgh, bytes);
    s[0] = (uint32_t) _mm_extract_epi32(abef, 3);
    s[1] = (uint32_t) _mm_extract_epi32(abef, 2);
    s[2] = (uint32_t) _mm_extract_epi32(cdgh, 3);
    s[3] = (uint32_t) _mm_extract_epi32(cdgh, 2);
    s[4] = (uint32_t) _mm_extract_epi32(abef, 1);
    s[5] = (uint32_t) _mm_extract_epi32(abef, 0);
    s[6] = (uint32_t) _mm_extract_epi32(cdgh, 1);
    s[7] = (uint32_t) _mm_extract_epi32(cdgh, 0);
}

/* What glibc knows already: asking the processor is slow in a virtual machine. */
bool sha256_blocks(uint32_t state[8], const uint8_t *bytes, size_t n_blocks)
{
    if (!CPU_FEATURE_ACTIVE(SHA) || !CPU_FEATURE_ACTIVE(SSE4_1))
        return false;
    take_blocks(state, bytes, n_blocks);
    return true;
}

#else

bool sha256_blocks(uint32_t state[8], const uint8_t *bytes, size_t n_blocks)
{
    (void) state, (void) bytes, (void) n_blocks; /* another processor */
    return false;
}

#endif
