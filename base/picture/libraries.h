// SPDX-License-Identifier: MIT
// Loads libpng and libjpeg (base/os/late.h). Private to this folder.
#pragma once
#include "base/err.h"

int png_late(err *e);
int jpeg_late(err *e);
