#include "run/cpu.h"

#include <string.h>

#if defined(__x86_64__)
#include <sys/platform/x86.h>

/*
 * The feature leaves as the C library read them when it started: asking the processor again would
 * cost an exit to the hypervisor each time. Of leaf 1 only ECX and EDX, EBX has the number of the
 * core in it.
 */
void cpu_features(struct cpu_features *ret_features)
{
    static const unsigned int leaves[] = {CPUID_INDEX_1, CPUID_INDEX_7, CPUID_INDEX_80000001,
                                          CPUID_INDEX_7_ECX_1};
    uint32_t *word = ret_features->words;
    memset(ret_features, 0, sizeof(*ret_features));
    *word++ = 1;
    for (size_t i = 0; i < sizeof(leaves) / sizeof(leaves[0]); i++) {
        const struct cpuid_feature *feature = __x86_get_cpuid_feature_leaf(leaves[i]);
        *word++ = feature->cpuid_array[1]; /* EBX */
        *word++ = feature->cpuid_array[2]; /* ECX */
        *word++ = feature->cpuid_array[3]; /* EDX */
    }
    ret_features->words[1] = 0;
}
#else
#include <sys/auxv.h>

void cpu_features(struct cpu_features *ret_features)
{
    memset(ret_features, 0, sizeof(*ret_features));
    ret_features->words[0] = 2;
    ret_features->words[1] = (uint32_t) getauxval(AT_HWCAP);
    ret_features->words[2] = (uint32_t) getauxval(AT_HWCAP2);
}
#endif
