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
#include "trainer/nn/onnx.h"
#include "trainer/nn/op/op.h"

#include <string.h>

enum { HEIGHT, WIDTH };

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
        out->size[i] = l->shape[i];
        if (!l->shape[i] || l->shape[i] > in->size[i])
            return err_set(e, ERR_USAGE, "takes windows of %zux%zu, its input %s is smaller",
                l->shape[HEIGHT], l->shape[WIDTH], buf_cstr(&have));
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
    p.upside_down = l->vertical && draw(w, r, HEIGHT, 2);
    p.mirrored = l->horizontal && draw(w, r, WIDTH, 2);
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

static void write_flip(const layer_spec *l, cJSON *j)
{
    json_set_str(j, "mode",
        !l->vertical     ? "horizontal"
        : !l->horizontal ? "vertical"
                         : "horizontal_and_vertical");
}

static int read_flip(layer_spec *l, const cJSON *j, err *e)
{
    const char *mode = json_str_or(j, "mode", "");
    l->horizontal = strncmp(mode, "horizontal", 10) == 0;
    l->vertical = strstr(mode, "vertical") != NULL;
    return l->horizontal || l->vertical ? 0 : err_set(e, ERR_INVALID, "mode is \"%s\"", mode);
}

static void write_crop(const layer_spec *l, cJSON *j)
{
    json_set_int(j, "height", (int64_t)l->shape[HEIGHT]);
    json_set_int(j, "width", (int64_t)l->shape[WIDTH]);
}

static int read_crop(layer_spec *l, const cJSON *j, err *e)
{
    l->shape[HEIGHT] = op_size(j, "height");
    l->shape[WIDTH] = op_size(j, "width");
    return 0;
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

const op op_random_flip = {
    .kind = LAYER_RANDOM_FLIP,
    .least = 1,
    .most = 1,
    .infer = infer,
    .reserve = reserve,
    .forward = forward,
    .backward = backward,
    .write = write_flip,
    .read = read_flip,
    .onnx = flip_to_onnx,
};

const op op_random_crop = {
    .kind = LAYER_RANDOM_CROP,
    .least = 1,
    .most = 1,
    .infer = infer,
    .reserve = reserve,
    .forward = forward,
    .backward = backward,
    .write = write_crop,
    .read = read_crop,
    .onnx = crop_to_onnx,
};

const op op_center_crop = {
    .kind = LAYER_CENTER_CROP,
    .least = 1,
    .most = 1,
    .infer = infer,
    .reserve = reserve,
    .forward = forward,
    .backward = backward,
    .write = write_crop,
    .read = read_crop,
    .onnx = crop_to_onnx,
};
