// SPDX-License-Identifier: MIT
// Resizes pictures as the framework does whose models are trained on them.
#pragma once
#include "base/picture/picture.h"

// Bilinear, with half-pixel centres and without antialiasing, as tf.image.resize and so Keras's
// image_dataset_from_directory do. out: (height, width, channels).
void picture_resize(const picture *p, size_t height, size_t width, float *out);
