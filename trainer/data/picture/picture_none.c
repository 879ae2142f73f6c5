// SPDX-License-Identifier: MIT
// In place of picture.c where libjpeg or libpng is missing.
#include "trainer/data/picture/picture.h"

#include <stdlib.h>

void picture_done(picture *p)
{
    free(p->pixels);
    *p = (picture){0};
}

int picture_decode(const void *bytes, size_t n, size_t channels, picture *out, err *e)
{
    *out = (picture){0};
    return err_set(e, ERR_USAGE,
        "this build of firesteel reads no pictures (Debian: apt install libjpeg-dev libpng-dev, "
        "then build it again)");
}
