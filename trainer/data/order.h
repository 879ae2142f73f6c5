// SPDX-License-Identifier: MIT
// Random numbers that are the same on every machine, and the order of an epoch's rows made from
// them.
// A generator is a plain value; nothing is owned.
#pragma once
#include <stddef.h>
#include <stdint.h>

// SplitMix64 (Steele, Lea, Flood 2014): 64 good bits in each step, from any seed.
typedef struct random_state {
    uint64_t at;
} random_state;

static inline uint64_t random_mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline uint64_t random_next(random_state *r)
{
    return random_mix(r->at += 0x9e3779b97f4a7c15u);
}

// A number in [0, 1), 24 bits.
static inline float random_unit(random_state *r)
{
    return (float)(random_next(r) >> 40) * 0x1p-24f;
}

// A generator for one purpose (an epoch, a layer) of a seed; generators for different purposes are
// independent.
random_state random_from(uint64_t seed, uint64_t purpose);
// order[0..n) becomes 0..n-1, shuffled (Fisher and Yates) by seed and epoch.
void order_shuffle(uint32_t *order, size_t n, uint64_t seed, uint64_t epoch);
// 0..n-1 in their order.
void order_plain(uint32_t *order, size_t n);
