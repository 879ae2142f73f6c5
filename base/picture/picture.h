// SPDX-License-Identifier: MIT
// One picture: decodes PNG or JPEG to pixels, and writes PNG. Pixels are rows of `channels` bytes,
// from the upper left. libpng and libjpeg are loaded when they are first needed; if they were left
// out (build option) or are not installed, that is an error which says so.
#pragma once
#include "base/buf.h"
#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

enum { PICTURE_SIDE_MAX = 65500, PICTURE_BYTES_MAX = 1 << 28 };

typedef struct picture {
    size_t height, width, channels;
    uint8_t *pixels; // owned
} picture;

// The first bytes decide the format. channels: 1 gray (0.299 R + 0.587 G + 0.114 B), 3 RGB (alpha
// is dropped), 4 RGBA. Call picture_done afterwards.
int picture_decode(const void *bytes, size_t n, size_t channels, picture *out, err *e);
void picture_done(picture *p);
// Height and width as the header has them; nothing is decoded.
int picture_size(const void *bytes, size_t n, size_t *height, size_t *width, err *e);
// Appends a PNG of the part of a picture with 3 channels that begins at (x, y).
int picture_png(
    const picture *p, size_t x, size_t y, size_t width, size_t height, buf *out, err *e);
