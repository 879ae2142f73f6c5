// SPDX-License-Identifier: MIT
#include "trainer/nn/blame.h"

#include "trainer/nn/internal.h"

#include <math.h>

// The first number in the batch's rows that is not finite; false when all are.
static bool find_in(const tensor *t, const batch *b, uint32_t *row, double *value)
{
    size_t width = t ? tensor_row_size(t) : 0;
    for (size_t r = 0; width && t->type == TENSOR_F32 && r < b->n; r++)
        for (size_t k = 0; k < width; k++) {
            *row = b->rows[r];
            *value = tensor_at(t, *row * width + k);
            if (!isfinite(*value))
                return true;
        }
    return false;
}

static bool finite_outputs(const plan_layer *l, size_t rows)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < l->units; c++)
            if (!isfinite(l->y[r * l->ld + c]))
                return false;
    return true;
}

static const char *text_of(double value)
{
    return isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

void blame_batch(const model *m, const model_data *data, const batch *b, buf *out)
{
    uint32_t row;
    double value;
    bool x = find_in(data->x, b, &row, &value);
    if (x || find_in(data->y, b, &row, &value)) {
        buf_fmt(out, "row %u of %s holds %s", row, x ? "x" : "y", text_of(value));
        return;
    }
    for (size_t i = 0; i < m->plan->n; i++) {
        const plan_layer *l = &m->plan->layer[i];
        if (finite_outputs(l, b->n))
            continue;
        const layer_spec *spec = &m->layer[l->spec];
        AUTO_BUF text = {0};
        layer_text(spec, &text);
        buf_fmt(out,
            "the outputs of %s (%s) are the first that are not finite. Try a smaller learning "
            "rate, or inputs of a smaller scale; the weights are of no use from here on",
            spec->name, buf_cstr(&text));
        return;
    }
    buf_str(out, "all outputs are finite, but the loss of them is not");
}
