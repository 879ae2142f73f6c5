// SPDX-License-Identifier: MIT
// Embedding: y[i] = E[x[i]]    x (n, …) indices from 0 to input_dim - 1, E (input_dim, output_dim)
//
//   dE[e] = Σ of dy[i] over all i with x[i] = e, in the order of i; 0 for all other e, which an
//   optimizer may pass over when it does nothing for a gradient of 0
//
// Indices are floats here, which hold them exactly: a table has at most 2^24 entries. One outside
// of the table gives nan, so that the loss shows it.
#include "trainer/nn/layer/layers.h"
#include "trainer/nn/layer/op.h"

#include "trainer/nn/layer/onnx.h"

#include <math.h>
#include <string.h>

enum { PARTS_MAX = 16, PART = 64 };

static const embedding_layer *own(const layer_spec *l)
{
    return l->own;
}

// The table in parts, each with a chunk of its own, which looks at all indices.
static size_t parts_of(const layer_spec *l)
{
    size_t n = own(l)->entries / PART;
    return n < 1 ? 1 : n > PARTS_MAX ? PARTS_MAX : n;
}

static int infer(const layer_spec *l, size_t n, const row_shape *in, row_shape *out, err *e)
{
    if (!own(l)->entries || !own(l)->units)
        return err_set(e, ERR_USAGE, "must have an input_dim and an output_dim from 1 to 16777216");
    if (in->dims == TENSOR_MAX_DIMS)
        return err_set(e, ERR_USAGE, "expects rows of fewer dimensions");
    *out = *in;
    out->size[out->dims++] = own(l)->units;
    return 0;
}

static size_t parameters(const layer_spec *l, const row_shape *in, op_parameter *out)
{
    out[0] = (op_parameter){.name = "embeddings",
        .dims = 2,
        .shape = {own(l)->entries, own(l)->units},
        .start = START_SMALL,
        .table = true};
    return 1;
}

static void reserve(const op_work *w, op_need *need)
{
    need->forward[0] = op_by_rows(w);
    need->backward[0].chunks = w->fixed[0] ? 0 : parts_of(w->layer);
    need->reads_x = !w->fixed[0];
}

static void forward(const op_work *w, size_t pass, size_t chunk, float *scratch)
{
    size_t n = shape_size(w->in), units = own(w->layer)->units;
    for (size_t r = op_from(w, chunk); r < op_to(w, chunk); r++)
        for (size_t i = 0; i < n; i++) {
            float x = w->x[0][r * w->ldx[0] + i], *y = w->y + r * w->ldy + i * units;
            if (x >= 0 && x < (float)own(w->layer)->entries)
                memcpy(y, w->w + w->at[0] + (size_t)x * units, units * sizeof *y);
            else
                for (size_t c = 0; c < units; c++)
                    y[c] = NAN;
        }
}

// Sets rows [from, to) of the gradient to 0; those that no batch has touched are so already.
static void clear(const op_work *w, float *g, size_t from, size_t to)
{
    size_t units = own(w->layer)->units;
    if (!w->touched)
        memset(g + from * units, 0, (to - from) * units * sizeof *g);
    for (uint8_t *at = w->touched ? w->touched + from : NULL; at;) {
        size_t left = (size_t)(w->touched + to - at);
        if (!(at = memchr(at, 1, left)))
            break;
        memset(g + (size_t)(at - w->touched) * units, 0, units * sizeof *g);
        *at++ = 0;
    }
}

static void backward(const op_work *w, size_t pass, size_t chunk, float *scratch)
{
    size_t n = shape_size(w->in), units = own(w->layer)->units, entries = own(w->layer)->entries;
    size_t parts = parts_of(w->layer);
    size_t from = entries * chunk / parts, to = entries * (chunk + 1) / parts;
    float *g = w->g + w->at[0];
    clear(w, g, from, to);
    for (size_t r = 0; r < w->rows; r++)
        for (size_t i = 0; i < n; i++) {
            float x = w->x[0][r * w->ldx[0] + i];
            if (!(x >= (float)from && x < (float)to))
                continue;
            const float *d = w->dy + r * w->ldy + i * units;
            if (w->touched)
                w->touched[(size_t)x] = 1;
            for (size_t c = 0; c < units; c++)
                g[(size_t)x * units + c] += d[c];
        }
}

// Gather refuses an index outside of the table, where this gives nan.
static void to_onnx(const op_work *w, onnx *o)
{
    onnx_value table = onnx_weight(o, 0, NULL);
    onnx_give(o, ONNX_NODE(o, "Gather", table, onnx_indices(o, 0)), ONNX_LAST);
}

static const attribute attributes[] = {
    {"input_dim", ATTRIBUTE_SIZE, offsetof(embedding_layer, entries), .least = 1, .most = SIZE_MOST,
        .required = true, .shown = true, .meaning = "How many entries the table has."},
    {"output_dim", ATTRIBUTE_SIZE, offsetof(embedding_layer, units), .least = 1, .most = SIZE_MOST,
        .required = true, .shown = true, .meaning = "How many numbers an entry has."},
    {0}};

const op op_embedding = {
    .kind = LAYER_EMBEDDING,
    .is = {.name = "Embedding",
        .size = sizeof(embedding_layer),
        .attributes = attributes,
        .places = "input_dim output_dim embeddings_initializer",
        .ask = "how many entries, of how many numbers? nn.Embedding { 1000, 16 }",
        .about = "Numbers for each index from 0 to input_dim - 1.",
        .formula = "E[x], x indices from 0 to input_dim - 1, at most 2^24; E uniform in ±0.05",
        .source = "Bengio and others 2003",
        .example = "x = nn.Input { 2 }\n"
                   "print(nn.Model({ inputs = x, outputs = nn.Dense { 1 } (nn.Flatten {} "
                   "(nn.Embedding { 10, 3 } (x))) }):count_params()) --> 37"},
    .least = 1,
    .most = 1,
    .infer = infer,
    .parameters = parameters,
    .reserve = reserve,
    .forward = forward,
    .backward = backward,
    .weight = {{"embeddings", "embeddings"}},
    .onnx = to_onnx,
    .indices = true,
};
