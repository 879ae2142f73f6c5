// SPDX-License-Identifier: MIT
// bf16: the upper half of a float. Plain values.
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

// Rounded to the nearest, to even in between; nan stays nan.
static inline __attribute__((always_inline)) uint16_t bf16_of(float a)
{
    uint32_t bits;
    memcpy(&bits, &a, sizeof bits);
    uint32_t rounded = bits + 0x7fff + (bits >> 16 & 1);
    bool nan = (bits & 0x7fffffff) > 0x7f800000;
    return (uint16_t)((nan ? bits | 0x400000 : rounded) >> 16);
}

static inline __attribute__((always_inline)) float bf16_value(uint16_t a)
{
    uint32_t bits = (uint32_t)a << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
