// SPDX-License-Identifier: MIT
#include "trainer/data/picture/resize.h"

#include <math.h>

// The two pixels next to a place, and the weight of the second.
struct between {
    size_t low, high;
    float share;
};

static struct between place(size_t i, size_t from, size_t to)
{
    float at = ((float)i + 0.5f) * ((float)from / (float)to) - 0.5f, below = floorf(at);
    float last = (float)(from - 1);
    return (struct between){.low = below > 0 ? (size_t)below : 0,
        .high = (size_t)fminf(fmaxf(ceilf(at), 0), last),
        .share = at - below};
}

void picture_resize(const picture *p, size_t height, size_t width, float *out)
{
    size_t row = p->width * p->channels;
    for (size_t i = 0; i < height; i++) {
        struct between y = place(i, p->height, height);
        for (size_t j = 0; j < width; j++) {
            struct between x = place(j, p->width, width);
            for (size_t c = 0; c < p->channels; c++) {
                const uint8_t *upper = p->pixels + y.low * row + c,
                              *lower = p->pixels + y.high * row + c;
                float a = upper[x.low * p->channels], b = upper[x.high * p->channels];
                float d = lower[x.low * p->channels], f = lower[x.high * p->channels];
                float top = a + (b - a) * x.share, bottom = d + (f - d) * x.share;
                *out++ = top + (bottom - top) * y.share;
            }
        }
    }
}
