// SPDX-License-Identifier: MIT
#include "trainer/data/picture/resize.h"

#include <math.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

// What is accepted has all its pixels, and can be resized; values stay within those of a byte.
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    enum { SIDE = 3 };
    err e;
    picture p;
    float out[SIDE * SIDE * 4];
    size_t channels = n % 3 == 0 ? 1 : n % 3 == 1 ? 3 : 4;
    if (picture_decode(bytes, n, channels, &p, &e) < 0)
        return 0;
    if (p.channels != channels || !p.pixels)
        abort();
    picture_resize(&p, SIDE, SIDE, out);
    for (size_t i = 0; i < SIDE * SIDE * channels; i++)
        if (!(out[i] >= -0.01f && out[i] <= 255.01f))
            abort();
    picture_done(&p);
    return 0;
}
