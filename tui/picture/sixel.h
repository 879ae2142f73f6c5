// SPDX-License-Identifier: MIT
// Pictures as DEC's sixels (VT330/VT340 Programmer Reference Manual, chapter 14): bands of six
// rows, in each band the columns of one colour after the other.
#pragma once
#include "base/buf.h"
#include "base/picture/picture.h"

enum { SIXEL_COLORS = 256 };

// A picture with few colours; owns its pixels.
typedef struct sixel {
    size_t width, height;
    uint8_t *pixels; // the colour's number
    uint8_t palette[SIXEL_COLORS][3];
    size_t colors;
} sixel;
// From RGB. Keeps the colours if there are at most `colors` of them (2 to 256), else chooses those
// that differ least (median cut).
int sixel_init(sixel *s, const picture *rgb, size_t colors);
void sixel_done(sixel *s);

// Appends the part that begins at (x, y), clipped: "ESC P … ESC \". All its pixels are set.
void sixel_write(const sixel *s, size_t x, size_t y, size_t width, size_t height, buf *out);
