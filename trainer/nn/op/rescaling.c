// SPDX-License-Identifier: MIT
// Rescaling: y = x·scale + offset;  dx = dy·scale
//
// Behind a sigmoid it makes an output of any range.
#include "trainer/nn/onnx.h"
#include "trainer/nn/op/op.h"

static void reserve(const op_work *w, op_need *need)
{
    need->forward[0] = need->backward[0] = op_by_rows(w);
}

static void forward(const op_work *w, size_t pass, size_t chunk, float *scratch)
{
    float scale = (float)w->layer->scale, offset = (float)w->layer->offset;
    size_t n = shape_size(&w->out);
    for (size_t r = op_from(w, chunk); r < op_to(w, chunk); r++)
        for (size_t c = 0; c < n; c++)
            w->y[r * w->ldy + c] = w->x[0][r * w->ldx[0] + c] * scale + offset;
}

static void backward(const op_work *w, size_t pass, size_t chunk, float *scratch)
{
    float scale = (float)w->layer->scale;
    size_t n = shape_size(&w->out), from = op_from(w, chunk), to = op_to(w, chunk);
    for (size_t r = from; r < to; r++)
        for (size_t c = 0; c < n; c++)
            w->dy[r * w->ldy + c] *= scale;
    op_give(w, 0, w->dy + from * w->ldy, w->ldy, from, to);
}

static void write(const layer_spec *l, cJSON *j)
{
    json_set(j, "scale", cJSON_CreateNumber(l->scale));
    json_set(j, "offset", cJSON_CreateNumber(l->offset));
}

static int read(layer_spec *l, const cJSON *j, err *e)
{
    if (op_read_number(j, "scale", 1, &l->scale, e) < 0)
        return -1;
    return op_read_number(j, "offset", 0, &l->offset, e);
}

static void to_onnx(const op_work *w, onnx *o)
{
    onnx_layout layout = onnx_given(o);
    onnx_value scale = onnx_constant(o, "scale", (float)w->layer->scale);
    onnx_value offset = onnx_constant(o, "offset", (float)w->layer->offset);
    onnx_value scaled = ONNX_NODE(o, "Mul", onnx_take(o, 0, layout), scale);
    onnx_give(o, ONNX_NODE(o, "Add", scaled, offset), layout);
}

const op op_rescaling = {
    .kind = LAYER_RESCALING,
    .least = 1,
    .most = 1,
    .infer = op_same_shape,
    .reserve = reserve,
    .forward = forward,
    .backward = backward,
    .write = write,
    .read = read,
    .onnx = to_onnx,
};
