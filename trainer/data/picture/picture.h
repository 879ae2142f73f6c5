// SPDX-License-Identifier: MIT
// One picture: decodes PNG or JPEG to pixels, and resizes them. Pixels are rows of `channels`
// bytes, from the upper left. If libjpeg or libpng was left out (build option), decoding is an
// error that says so.
#pragma once
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
// Bilinear, with half-pixel centres and without antialiasing, as tf.image.resize and so Keras's
// image_dataset_from_directory do. out: (height, width, channels).
void picture_resize(const picture *p, size_t height, size_t width, float *out);
