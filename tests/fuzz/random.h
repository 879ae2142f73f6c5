// SPDX-License-Identifier: MIT
// Numbers that look random but are the same every time: SplitMix64.
// https://prng.di.unimi.it/splitmix64.c
#pragma once
#include <stddef.h>
#include <stdint.h>

static inline uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline uint64_t random_below(uint64_t *state, uint64_t n)
{
    return random_next(state) % n;
}

// A state that depends on every byte.
static inline uint64_t random_of(const uint8_t *bytes, size_t n)
{
    uint64_t state = n;
    for (size_t i = 0; i < n; i++)
        state = random_next(&state) ^ bytes[i];
    return state;
}
