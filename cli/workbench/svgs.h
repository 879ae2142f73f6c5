// SPDX-License-Identifier: MIT
// SVGs as PNGs for the album, by rsvg-convert where it is installed: one child after the other,
// each bounded in time, size of the picture and output. It reads the SVG from a pipe, so it loads
// no other file. Owned by its caller; loop and album are borrowed.
#pragma once
#include "base/loop/loop.h"
#include "tui/picture/album.h"

typedef struct svgs svgs;
// changed: a picture is there.
svgs *svgs_new(loop *l, album *a, void (*changed)(void *arg), void *arg);
void svgs_free(svgs *s); // NULL is fine
// Width and height in pixels as the SVG's first tag has them, or its viewBox; at most 2000 each.
void svgs_size(const char *svg, size_t n, int *width, int *height);
