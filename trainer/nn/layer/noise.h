// SPDX-License-Identifier: MIT
// Dropout's factors: a pure function of step, layer, row and column, so it does not matter which
// thread computes which of them.
#pragma once
#include "trainer/data/order.h"

typedef struct noise {
    uint64_t seed, limit;
    float kept;
} noise;

static inline noise noise_new(uint64_t seed, float rate)
{
    return (noise){seed, (uint64_t)((double)rate * 0x1p32), 1 / (1 - rate)};
}

// The factor of row r and column c: 0 with probability rate, else 1/(1-rate).
static inline float noise_at(noise n, size_t r, size_t c)
{
    uint64_t z = random_mix(n.seed + ((r << 24) + c) * 0x9e3779b97f4a7c15u);
    return (z >> 32) < n.limit ? 0 : n.kept;
}
