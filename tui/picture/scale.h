// SPDX-License-Identifier: MIT
// Makes a decoded picture as large as it is shown.
#pragma once
#include "base/picture/picture.h"

// RGB of this size from RGBA: each new pixel is the average of those that it covers. What is
// transparent is white, as a notebook's page. 0, or -1 if there is no memory for it.
int scale_picture(const picture *rgba, size_t width, size_t height, picture *out);
