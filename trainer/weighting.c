// SPDX-License-Identifier: MIT
#include "trainer/weighting.h"

#include <math.h>

static double class_of(const tensor *y, size_t row)
{
    size_t width = tensor_row_size(y), best = 0;
    if (width == 1)
        return tensor_at(y, row);
    for (size_t j = 1; j < width; j++)
        if (tensor_at(y, row * width + j) > tensor_at(y, row * width + best))
            best = j;
    return (double)best;
}

tensor *class_weights(const tensor *y, const double *weight, size_t n, err *e)
{
    size_t rows = tensor_rows(y);
    if (!y->dims || !tensor_row_size(y)) {
        err_set(e, ERR_USAGE, "class_weight needs targets that are classes");
        return NULL;
    }
    tensor *out = tensor_new(TENSOR_F32, 1, &rows, e);
    for (size_t i = 0; out && i < rows; i++) {
        double class = class_of(y, i);
        if (!(class >= 0 && class == floor(class))) {
            err_set(
                e, ERR_USAGE, "class_weight is for classes, but row %zu of y holds %g", i, class);
            tensor_free(out);
            return NULL;
        }
        ((float *)out->data)[i] = class < (double)n ? (float)weight[(size_t) class] : 1;
    }
    return out;
}
