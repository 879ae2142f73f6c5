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
            if (!isfinite(l->y[c / PANEL * l->step + r * l->ld + c % PANEL]))
                return false;
    return true;
}

static long first_not_finite(const plan *p, size_t rows)
{
    for (size_t i = 0; i < p->n; i++)
        if (!finite_outputs(&p->layer[i], rows))
            return (long)p->layer[i].spec;
    return -1;
}

static const char *text_of(double value)
{
    return isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

bool blame_batch(const model *m, const model_data *data, const batch *b, buf *out)
{
    uint32_t row;
    double value;
    bool x = find_in(data->x, b, &row, &value);
    for (size_t k = 1; !x && data->xs && k < model_input_count(m); k++)
        x = find_in(data->xs[k], b, &row, &value);
    if (x || find_in(data->y, b, &row, &value)) {
        buf_fmt(out, "row %u of %s holds %s", row, x ? "x" : "y", text_of(value));
        return true;
    }
    long culprit = m->flow ? m->blamed : first_not_finite(m->plan, b->n);
    if (culprit >= 0) {
        AUTO_BUF text = {0};
        layer_text(&m->layer[culprit], &text);
        buf_fmt(out,
            "the outputs of %s (%s) are the first that are not finite. Try a smaller learning "
            "rate, or inputs of a smaller scale; the weights are of no use from here on",
            m->layer[culprit].name, buf_cstr(&text));
        return false;
    }
    buf_str(out, "all outputs are finite, but the loss of them is not");
    return false;
}
