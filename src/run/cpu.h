/*
 * cpu: what this processor can do, as far as compiled code depends on it.
 */
#pragma once

#include <stdint.h>

struct cpu_features {
    uint32_t
        words[16]; /* opaque: equal words, equal features; zero where there is nothing to say */
};

void cpu_features(struct cpu_features *ret_features);
