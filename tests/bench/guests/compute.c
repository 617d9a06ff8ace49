/* Computes and calls nobody: integers, floating point and memory, about a second in all. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HASH_ROUNDS 300000000U
#define MATRIX 800
#define SIEVE 8000000U
#define SIEVE_ROUNDS 10

static uint64_t hash(void)
{
    uint64_t x = 0x9e3779b97f4a7c15;
    for (uint32_t i = 0; i < HASH_ROUNDS; i++) {
        x ^= x >> 27;
        x *= 0xd6e8feb86659fd93;
        x += i;
    }
    return x;
}

static double multiply_matrices(void)
{
    static double a[MATRIX][MATRIX], b[MATRIX][MATRIX], c[MATRIX][MATRIX];
    for (int i = 0; i < MATRIX; i++)
        for (int j = 0; j < MATRIX; j++) {
            a[i][j] = i + j;
            b[i][j] = i - j;
        }
    for (int i = 0; i < MATRIX; i++)
        for (int k = 0; k < MATRIX; k++)
            for (int j = 0; j < MATRIX; j++)
                c[i][j] += a[i][k] * b[k][j];
    return c[MATRIX / 2][MATRIX / 3];
}

static unsigned count_primes(void)
{
    unsigned count = 0;
    char *composite = malloc(SIEVE);
    if (composite == NULL)
        return 0;
    memset(composite, 0, SIEVE);
    for (uint32_t i = 2; i < SIEVE; i++) {
        if (composite[i])
            continue;
        count++;
        for (uint64_t j = (uint64_t) i * i; j < SIEVE; j += i)
            composite[j] = 1;
    }
    free(composite);
    return count;
}

int main(void)
{
    unsigned primes = 0;
    for (int i = 0; i < SIEVE_ROUNDS; i++)
        primes += count_primes();
    printf("%llx %g %u\n", (unsigned long long) hash(), multiply_matrices(), primes);
    return primes != 0 ? 0 : 1;
}
