// SPDX-License-Identifier: MIT
#include "trainer/data/order.h"

random_state random_from(uint64_t seed, uint64_t purpose)
{
    return (random_state){random_mix(seed ^ random_mix(purpose + 0x9e3779b97f4a7c15u))};
}

void order_plain(uint32_t *order, size_t n)
{
    for (size_t i = 0; i < n; i++)
        order[i] = (uint32_t)i;
}

void order_shuffle(uint32_t *order, size_t n, uint64_t seed, uint64_t epoch)
{
    random_state r = random_from(seed, epoch);
    order_plain(order, n);
    for (size_t i = n; i > 1; i--) {
        // A multiplication maps 32 random bits to 0..i-1 (Lemire 2019); the bias is below 2^-16
        // here.
        size_t j = (size_t)(((random_next(&r) >> 32) * i) >> 32);
        uint32_t swapped = order[i - 1];
        order[i - 1] = order[j];
        order[j] = swapped;
    }
}
