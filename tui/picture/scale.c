// SPDX-License-Identifier: MIT
#include "tui/picture/scale.h"

#include "base/mem.h"

enum { FINE = 256 }; // parts of a pixel

// The pixels [from, to) of one row or column that new pixel i covers, in parts of a pixel.
struct span {
    uint64_t from, to;
};

static struct span span_of(size_t i, size_t was, size_t now)
{
    uint64_t from = (uint64_t)i * was * FINE / now, to = (uint64_t)(i + 1) * was * FINE / now;
    return (struct span){from, to > from ? to : from + 1};
}

// How much of pixel k lies in the span.
static uint64_t share(struct span s, uint64_t k)
{
    uint64_t from = k * FINE > s.from ? k * FINE : s.from;
    uint64_t to = (k + 1) * FINE < s.to ? (k + 1) * FINE : s.to;
    return to - from;
}

static void average(const picture *p, struct span across, struct span down, uint8_t out[3])
{
    uint64_t sums[3] = {0}, all = 0;
    for (uint64_t y = down.from / FINE; y * FINE < down.to && y < p->height; y++)
        for (uint64_t x = across.from / FINE; x * FINE < across.to && x < p->width; x++) {
            const uint8_t *rgba = p->pixels + (y * p->width + x) * 4;
            uint64_t part = share(down, y) * share(across, x), alpha = rgba[3];
            for (int c = 0; c < 3; c++)
                sums[c] += part * (rgba[c] * alpha + 255 * (255 - alpha));
            all += part * 255;
        }
    for (int c = 0; c < 3; c++)
        out[c] = (uint8_t)((sums[c] + all / 2) / (all ? all : 1));
}

int scale_picture(const picture *rgba, size_t width, size_t height, picture *out)
{
    *out = (picture){height, width, 3, mem_try_array(width * height, 3)};
    if (!out->pixels)
        return -1;
    for (size_t y = 0; y < height; y++) {
        struct span down = span_of(y, rgba->height, height);
        for (size_t x = 0; x < width; x++)
            average(rgba, span_of(x, rgba->width, width), down, out->pixels + (y * width + x) * 3);
    }
    return 0;
}
