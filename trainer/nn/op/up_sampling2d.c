// SPDX-License-Identifier: MIT
// UpSampling2D: a picture (height, width, channels) becomes `size` times as high and as wide.
//
//   nearest   y[i, j] = x[⌊i/s⌋, ⌊j/t⌋]
//   bilinear  y[i, j] = Σ over two rows and two columns of weight·x: the middles of the pixels of
//             both pictures lie over each other, so that y[i] sees x at (i + 1/2)/s - 1/2; beyond
//             the edge x is as at the edge
//
//   dx: each dy[i, j] is given back to the pixels that it came from, by the same weights
#include "trainer/nn/layer/onnx.h"
#include "trainer/nn/layer/op.h"

#include <string.h>

enum { SIZE_LARGEST = 4096 };

typedef enum interpolation { NEAREST, BILINEAR } interpolation;

typedef struct up_sampling_layer {
    size_t size[2]; // rows, columns that a pixel becomes
    interpolation interpolation;
} up_sampling_layer;

static const up_sampling_layer *own(const layer_spec *l)
{
    return l->own;
}

static int infer(const layer_spec *l, size_t n, const row_shape *in, row_shape *out, err *e)
{
    if (op_expect_picture(in, e))
        return -1;
    *out = *in;
    for (int d = 0; d < 2; d++) {
        if (own(l)->size[d] < 1 || own(l)->size[d] > SIZE_LARGEST)
            return err_set(e, ERR_USAGE, "must have a size from 1 to %d", SIZE_LARGEST);
        if (__builtin_mul_overflow(in->size[d], own(l)->size[d], &out->size[d]))
            return err_set(e, ERR_LIMIT, "would be too large");
    }
    return 0;
}

static void reserve(const op_work *w, op_need *need)
{
    need->forward[0] = need->backward[0] = op_by_rows(w);
}

// Where line i of the output, or column i, comes from: two of the input, and how much of each.
struct source {
    size_t at[2];
    float part[2];
};

static struct source source_of(const op_work *w, int dimension, size_t i)
{
    size_t size = own(w->layer)->size[dimension], last = w->in->size[dimension] - 1;
    if (own(w->layer)->interpolation == NEAREST)
        return (struct source){{i / size, i / size}, {1, 0}};
    float at = ((float)i + 0.5f) / (float)size - 0.5f;
    at = at < 0 ? 0 : at;
    size_t first = (size_t)at < last ? (size_t)at : last;
    float second = first < last ? at - (float)first : 0;
    return (struct source){{first, first < last ? first + 1 : last}, {1 - second, second}};
}

// For each number that output (i, j) comes from: where its channels begin in the picture, and its
// weight; how many there are.
static int taps_of(const op_work *w, const struct source *row, const struct source *column,
    size_t *at, float *part)
{
    int n = 0;
    for (int a = 0; a < 2; a++)
        for (int b = 0; b < 2; b++) {
            float weight = row->part[a] * column->part[b];
            if (!(weight > 0))
                continue;
            at[n] = (row->at[a] * w->in->size[1] + column->at[b]) * w->in->size[2];
            part[n++] = weight;
        }
    return n;
}

static void forward(const op_work *w, size_t pass, size_t chunk, float *scratch)
{
    size_t channels = w->in->size[2], at[4] = {0};
    float part[4] = {0};
    for (size_t r = op_from(w, chunk); r < op_to(w, chunk); r++) {
        const float *x = w->x[0] + r * w->ldx[0];
        float *y = w->y + r * w->ldy;
        for (size_t i = 0; i < w->out.size[0]; i++) {
            struct source row = source_of(w, 0, i);
            for (size_t j = 0; j < w->out.size[1]; j++, y += channels) {
                struct source column = source_of(w, 1, j);
                int n = taps_of(w, &row, &column, at, part);
                for (size_t c = 0; c < channels; c++)
                    y[c] = x[at[0] + c] * part[0];
                for (int k = 1; k < n; k++)
                    for (size_t c = 0; c < channels; c++)
                        y[c] += x[at[k] + c] * part[k];
            }
        }
    }
}

static void backward(const op_work *w, size_t pass, size_t chunk, float *scratch)
{
    size_t channels = w->in->size[2], at[4] = {0};
    float part[4] = {0};
    for (size_t r = op_from(w, chunk); w->dx[0] && r < op_to(w, chunk); r++) {
        float *dx = w->dx[0] + r * w->ldx[0];
        const float *d = w->dy + r * w->ldy;
        if (!w->add[0])
            memset(dx, 0, shape_size(w->in) * sizeof *dx);
        for (size_t i = 0; i < w->out.size[0]; i++) {
            struct source row = source_of(w, 0, i);
            for (size_t j = 0; j < w->out.size[1]; j++, d += channels) {
                struct source column = source_of(w, 1, j);
                int n = taps_of(w, &row, &column, at, part);
                for (int k = 0; k < n; k++)
                    for (size_t c = 0; c < channels; c++)
                        dx[at[k] + c] += d[c] * part[k];
            }
        }
    }
}

// Resize's own defaults are what is done here: "half_pixel", and "round_prefer_floor" of the
// nearest.
static void to_onnx(const op_work *w, onnx *o)
{
    const up_sampling_layer *l = own(w->layer);
    const float by[] = {1, 1, (float)l->size[0], (float)l->size[1]};
    onnx_value x = onnx_take(o, 0, ONNX_FIRST), region = onnx_floats(o, "roi", 0, NULL);
    onnx_value y = ONNX_NODE(o, "Resize", x, region, onnx_floats(o, "scales", 4, by));
    if (l->interpolation == BILINEAR)
        onnx_set_text(o, "mode", "linear");
    onnx_give(o, y, ONNX_FIRST);
}

static const char *const interpolations[] = {"nearest", "bilinear", NULL};

static const attribute attributes[] = {
    {"size", ATTRIBUTE_PAIR, offsetof(up_sampling_layer, size), .otherwise = 2, .least = 1,
        .most = SIZE_LARGEST, .shown = true,
        .meaning = "How many times as large it becomes: one number, or {rows, columns}."},
    {"interpolation", ATTRIBUTE_CHOICE, offsetof(up_sampling_layer, interpolation),
        .choices = interpolations,
        .meaning = "\"nearest\" repeats each pixel, \"bilinear\" goes over from one to the next."},
    {0}};

const op op_up_sampling2d = {
    .kind = LAYER_UP_SAMPLING2D,
    .is = {.name = "UpSampling2D",
        .size = sizeof(up_sampling_layer),
        .attributes = attributes,
        .places = "size",
        .about = "Pictures become so many times as high and as wide.",
        .formula =
            "(height, width, channels) → (height·`size`[1], width·size[2], channels): each "
            "pixel again and again, or with `interpolation` \"bilinear\" between the middles "
            "of the nearest two rows and two columns",
        .source = "Keras 3",
        .example = "model = nn.Sequential { nn.Input { 7, 7, 4 }, nn.UpSampling2D { 2, "
                   "interpolation = \"bilinear\" }, nn.Flatten {}, nn.Dense { 1 } }\n"
                   "print(model:count_params()) --> 785"},
    .least = 1,
    .most = 1,
    .infer = infer,
    .reserve = reserve,
    .forward = forward,
    .backward = backward,
    .onnx = to_onnx,
};
