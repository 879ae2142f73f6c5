// SPDX-License-Identifier: MIT
#include "trainer/nn/op/normalization.h"

#include <math.h>
#include <string.h>

float norm_epsilon(const layer_spec *l)
{
    return (float)norm_own(l)->epsilon;
}

int norm_dims(const layer_spec *l)
{
    return norm_own(l)->axis.n ? (int)norm_own(l)->axis.n : 1;
}

size_t norm_size(const layer_spec *l, const row_shape *in)
{
    size_t n = 1;
    for (int d = in->dims - norm_dims(l); d < in->dims; d++)
        n *= in->size[d];
    return n;
}

int norm_infer(const layer_spec *l, size_t n, const row_shape *in, row_shape *out, err *e)
{
    int dims = norm_dims(l), axis = norm_own(l)->axis.first;
    int first = axis < 0 ? axis + in->dims : axis - 1;
    *out = *in;
    if (in->dims < 1)
        return err_set(e, ERR_USAGE, "expects rows of at least one dimension");
    if (dims > OP_DIMS || dims > in->dims || (axis && first != in->dims - dims))
        return err_set(e, ERR_USAGE,
            "normalises the last dimension%s of its input, which has %d: axis must be -1%s",
            l->kind == LAYER_LAYER_NORMALIZATION ? "s" : "", in->dims,
            l->kind == LAYER_LAYER_NORMALIZATION ? ", or list dimensions up to the last" : "");
    return 0;
}

size_t norm_parameters(const layer_spec *l, const row_shape *in, op_parameter *out)
{
    op_parameter own = {.name = "gamma", .dims = norm_dims(l), .start = START_ONES};
    size_t n = 0, bytes = (size_t)own.dims * sizeof *own.shape;
    memcpy(own.shape, in->size + in->dims - own.dims, bytes);
    if (!norm_own(l)->no_scale)
        out[n++] = own;
    own.name = "beta";
    own.start = START_ZEROS;
    if (!norm_own(l)->no_center)
        out[n++] = own;
    return n;
}

// The number of the parameter among those that the layer has; -1: it has none.
static int number_of(const layer_spec *l, int which)
{
    bool missing[] = {norm_own(l)->no_scale, norm_own(l)->no_center, false, false};
    int i = 0;
    for (int k = 0; k < which; k++)
        i += !missing[k];
    return missing[which] ? -1 : i;
}

float *norm_at(const op_work *w, float *run, int which)
{
    int i = number_of(w->layer, which);
    return i < 0 ? NULL : run + w->at[i];
}

bool norm_trains(const op_work *w, int which)
{
    int i = number_of(w->layer, which);
    return i >= 0 && !w->fixed[i];
}

float *norm_slope(const op_work *w, int which)
{
    return norm_trains(w, which) ? norm_at(w, w->g, which) : NULL;
}

void norm_fold(const op_work *w, size_t from, size_t n, float *scale, float *shift)
{
    op_work norm = *w;
    norm.layer = w->norm;
    memcpy(norm.at, w->norm_at, sizeof norm.at);
    const float *gamma = norm_at(&norm, w->w, NORM_GAMMA), *beta = norm_at(&norm, w->w, NORM_BETA);
    const float *mean = norm_at(&norm, w->w, NORM_MEAN);
    const float *variance = norm_at(&norm, w->w, NORM_VARIANCE);
    for (size_t c = 0; c < n; c++) {
        scale[c] = 1 / sqrtf(variance[from + c] + norm_epsilon(w->norm));
        scale[c] *= gamma ? gamma[from + c] : 1;
        shift[c] = (beta ? beta[from + c] : 0) - mean[from + c] * scale[c];
    }
}

onnx_value norm_to_onnx(const op_work *w, onnx *o, int which)
{
    int i = number_of(w->layer, which);
    bool ones = which == NORM_GAMMA;
    return i < 0 ? onnx_filled(o, ones ? "ones" : "zeros", op_last(w->in), ones)
                 : onnx_weight(o, (size_t)i, NULL);
}
