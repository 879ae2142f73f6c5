// SPDX-License-Identifier: MIT
// In place of picture.c where libjpeg or libpng is missing.
#include "base/picture/picture.h"

#include <stdlib.h>

void picture_done(picture *p)
{
    free(p->pixels);
    *p = (picture){0};
}

static int no_pictures(err *e)
{
    return err_set(e, ERR_USAGE,
        "this build of firesteel reads no pictures (Debian: apt install libjpeg-dev libpng-dev, "
        "then build it again)");
}

int picture_decode(const void *bytes, size_t n, size_t channels, picture *out, err *e)
{
    *out = (picture){0};
    return no_pictures(e);
}

int picture_size(const void *bytes, size_t n, size_t *height, size_t *width, err *e)
{
    *height = *width = 0;
    return no_pictures(e);
}

int picture_png(const picture *p, size_t x, size_t y, size_t width, size_t height, buf *out, err *e)
{
    return no_pictures(e);
}
