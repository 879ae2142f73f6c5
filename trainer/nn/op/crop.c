// SPDX-License-Identifier: MIT
// Layers that take a part of a picture (height, width, channels), or mirror it:
//
//   RandomFlip  upside down, left to right, or both, each with probability 1/2
//   RandomCrop  a window of (height, width) somewhere in the picture
//   CenterCrop  the window in the middle, ⌊difference/2⌋ from the top and from the left
//
//   y[i, j] = x[top + i, left + j], or x[height - 1 - i, …] of what is flipped;  dx is dy there,
//   else 0
//
// What a picture gets is a function of the step's noise and its row, so each has its own, on each
// rank, for any number of threads. When nothing is trained nothing is flipped, and RandomCrop is
// CenterCrop (Keras resizes there instead).
#include "trainer/data/order.h"
#include "trainer/nn/layer/layers.h"
#include "trainer/nn/layer/onnx.h"
#include "trainer/nn/layer/op.h"

#include <string.h>

enum { HEIGHT, WIDTH };

static const size_t *size_of(const layer_spec *l)
{
    return ((const crop_layer *)l->own)->size;
}

static flip_mode mode_of(const layer_spec *l)
{
    return ((const flip_layer *)l->own)->mode;
}

static int infer(const layer_spec *l, size_t n, const row_shape *in, row_shape *out, err *e)
{
    AUTO_BUF have = {0};
    if (op_expect_picture(in, e))
        return -1;
    shape_text(in->dims, in->size, &have);
    *out = *in;
    if (l->kind == LAYER_RANDOM_FLIP)
        return 0;
    for (int i = HEIGHT; i <= WIDTH; i++) {
        out->size[i] = size_of(l)[i];
        if (!size_of(l)[i] || size_of(l)[i] > in->size[i])
            return err_set(e, ERR_USAGE, "takes windows of %zux%zu, its input %s is smaller",
                size_of(l)[HEIGHT], size_of(l)[WIDTH], buf_cstr(&have));
    }
    return 0;
}

static void reserve(const op_work *w, op_need *need)
{
    need->forward[0] = need->backward[0] = op_by_rows(w);
}

// Where the output's first pixel lies, and which way it goes on.
struct place {
    size_t top, left;
    bool upside_down, mirrored;
};

// A number below n, for row r.
static size_t draw(const op_work *w, size_t r, size_t which, size_t n)
{
    uint64_t z = random_mix(w->noise + (2 * r + which + 1) * 0x9e3779b97f4a7c15u);
    return (size_t)((z >> 32) * n >> 32);
}

static struct place place_of(const op_work *w, size_t r)
{
    const layer_spec *l = w->layer;
    size_t rows = w->in->size[HEIGHT] - w->out.size[HEIGHT];
    size_t columns = w->in->size[WIDTH] - w->out.size[WIDTH];
    struct place p = {.top = rows / 2, .left = columns / 2};
    if (!w->train || l->kind == LAYER_CENTER_CROP)
        return p;
    if (l->kind == LAYER_RANDOM_CROP)
        return (struct place){draw(w, r, HEIGHT, rows + 1), draw(w, r, WIDTH, columns + 1)};
    p.upside_down = mode_of(l) != FLIP_HORIZONTAL && draw(w, r, HEIGHT, 2);
    p.mirrored = mode_of(l) != FLIP_VERTICAL && draw(w, r, WIDTH, 2);
    return p;
}

// The index of the first channel that becomes pixel (i, j).
static size_t from(const op_work *w, const struct place *p, size_t i, size_t j)
{
    size_t row = p->upside_down ? w->in->size[HEIGHT] - 1 - i : p->top + i;
    size_t column = p->mirrored ? w->in->size[WIDTH] - 1 - j : p->left + j;
    return (row * w->in->size[WIDTH] + column) * w->in->size[2];
}

// Rows of pixels that go on in the same way are copied at once.
static void forward(const op_work *w, size_t pass, size_t chunk, float *scratch)
{
    size_t width = w->out.size[WIDTH], channels = w->out.size[2];
    for (size_t r = op_from(w, chunk); r < op_to(w, chunk); r++) {
        struct place p = place_of(w, r);
        const float *x = w->x[0] + r * w->ldx[0];
        size_t run = p.mirrored ? 1 : width;
        for (size_t k = 0; k < w->out.size[HEIGHT] * width; k += run)
            memcpy(w->y + r * w->ldy + k * channels, x + from(w, &p, k / width, k % width),
                run * channels * sizeof *x);
    }
}

static void backward(const op_work *w, size_t pass, size_t chunk, float *scratch)
{
    size_t width = w->out.size[WIDTH], channels = w->out.size[2];
    for (size_t r = op_from(w, chunk); w->dx[0] && r < op_to(w, chunk); r++) {
        struct place p = place_of(w, r);
        float *dx = w->dx[0] + r * w->ldx[0];
        const float *d = w->dy + r * w->ldy;
        if (!w->add[0])
            memset(dx, 0, shape_size(w->in) * sizeof *dx);
        for (size_t k = 0; k < w->out.size[HEIGHT] * width; k++) {
            float *to = dx + from(w, &p, k / width, k % width);
            for (size_t c = 0; c < channels; c++)
                to[c] += d[k * channels + c];
        }
    }
}

static void flip_to_onnx(const op_work *w, onnx *o)
{
    onnx_layout layout = onnx_given(o);
    onnx_give(o, onnx_take(o, 0, layout), layout);
}

static void crop_to_onnx(const op_work *w, onnx *o)
{
    onnx_layout layout = onnx_given(o);
    struct place p = place_of(w, 0); // w->train is not set
    int64_t axes[2], start[] = {(int64_t)p.top, (int64_t)p.left}, end[2];
    for (int i = HEIGHT; i <= WIDTH; i++) {
        axes[i] = i + (layout == ONNX_FIRST ? 2 : 1);
        end[i] = start[i] + (int64_t)w->out.size[i];
    }
    onnx_value x = onnx_take(o, 0, layout), from_ = onnx_list(o, "starts", 2, start);
    onnx_value to = onnx_list(o, "ends", 2, end), along = onnx_list(o, "axes", 2, axes);
    onnx_give(o, ONNX_NODE(o, "Slice", x, from_, to, along), layout);
}

static const char *const modes[] = {"horizontal", "vertical", "horizontal_and_vertical", NULL};

static const attribute flips[] = {
    {"mode", ATTRIBUTE_CHOICE, offsetof(flip_layer, mode), .otherwise = FLIP_BOTH, .choices = modes,
        .meaning = "In which directions pictures are mirrored."},
    {0}};

const op op_random_flip = {
    .kind = LAYER_RANDOM_FLIP,
    .is = {.name = "RandomFlip",
        .size = sizeof(flip_layer),
        .attributes = flips,
        .places = "mode",
        .about = "While training, mirrors each picture with probability 1/2: horizontal, vertical "
                 "or both.",
        .formula = "in training each picture is mirrored with probability 1/2: `mode` "
                   "\"horizontal\", \"vertical\", \"horizontal_and_vertical\"",
        .source = "Krizhevsky and others 2012",
        .example = "model = nn.Sequential { nn.Input { 28, 28, 1 }, nn.RandomFlip { \"horizontal\" "
                   "}, nn.Flatten {}, nn.Dense { 1 } }\n"
                   "print(model:count_params()) --> 785"},
    .least = 1,
    .most = 1,
    .infer = infer,
    .reserve = reserve,
    .forward = forward,
    .backward = backward,
    .onnx = flip_to_onnx,
};

static const attribute crops[] = {
    {"height", ATTRIBUTE_SIZE, offsetof(crop_layer, size[HEIGHT]), .least = 1, .most = SIZE_MOST,
        .required = true, .shown = true, .meaning = "Rows of pixels."},
    {"width", ATTRIBUTE_SIZE, offsetof(crop_layer, size[WIDTH]), .least = 1, .most = SIZE_MOST,
        .required = true, .shown = true, .meaning = "Columns of pixels."},
    {0}};

const op op_random_crop = {
    .kind = LAYER_RANDOM_CROP,
    .is = {.name = "RandomCrop",
        .size = sizeof(crop_layer),
        .attributes = crops,
        .places = "height width",
        .ask = "of which height and width? nn.RandomCrop { 224, 224 }",
        .about = "While training, a window of each picture; else its middle.",
        .formula = "in training a window of (`height`, `width`) anywhere in each picture, else its "
                   "middle. Keras resizes where RandomCrop does not train",
        .source = "Krizhevsky and others 2012",
        .example = "model = nn.Sequential { nn.Input { 28, 28, 1 }, nn.RandomCrop { 24, 24 }, "
                   "nn.Flatten {}, nn.Dense { 1 } }\n"
                   "print(model:count_params()) --> 577"},
    .least = 1,
    .most = 1,
    .infer = infer,
    .reserve = reserve,
    .forward = forward,
    .backward = backward,
    .onnx = crop_to_onnx,
};

const op op_center_crop = {
    .kind = LAYER_CENTER_CROP,
    .is = {.name = "CenterCrop",
        .size = sizeof(crop_layer),
        .attributes = crops,
        .places = "height width",
        .ask = "of which height and width? nn.CenterCrop { 224, 224 }",
        .about = "The middle of each picture.",
        .formula = "the middle (`height`, `width`) of each picture",
        .source = "Keras 3",
        .example = "model = nn.Sequential { nn.Input { 28, 28, 1 }, nn.CenterCrop { 20, 24 }, "
                   "nn.Flatten {}, nn.Dense { 1 } }\n"
                   "print(model:count_params()) --> 481"},
    .least = 1,
    .most = 1,
    .infer = infer,
    .reserve = reserve,
    .forward = forward,
    .backward = backward,
    .onnx = crop_to_onnx,
};
