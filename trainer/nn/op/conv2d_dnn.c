// SPDX-License-Identifier: MIT
// The passes of a convolution by oneDNN. Weights lie in panels of 64 filters, as own kernels take
// them; oneDNN has orders of its own.
//
//   forward   panels → packed │ y = f(x·W + b), by pieces of rows
//   backward  panels → packed │ dz = dy·f'(z) in place, then dx, by pieces of rows
//                             │ dW and db of each part of the rows │ their sums, panel by panel
//
// With dtype "mixed_bfloat16" what a product reads is rounded to bf16: x (kept so for backward, so
// that nobody keeps the floats), W as it is packed, and dz. Sums and all results are floats.
//
// Pieces and parts are cut by shapes alone, so any number of threads gives the same bits.
#include "trainer/nn/op/conv2d_dnn.h"

#include "trainer/dnn/dnn.h"
#include "trainer/nn/op/window.h"

#include <string.h>

enum {
    KERNEL,
    BIAS,
    PIXELS = 400, // of a piece at least: a product of fewer lines leaves a kernel's registers idle
    PIECE_MOST = 4,
    LARGE = 1 << 20, // weights whose partial sums do not fit in a cache: few parts
    MIDDLE = 1 << 18,
    LARGE_PARTS = 2,
    MIDDLE_PARTS = 4,
    SMALL_PARTS = 8,
};

struct piece {
    size_t from, rows;
};

static size_t weights_of(const op_work *w)
{
    const layer_spec *l = w->layer;
    return l->window[0] * l->window[1] * w->in->size[2] * l->units;
}

// Rows of a piece. Where rows have gaps between them, a piece is one row.
static size_t piece_rows(const op_work *w)
{
    size_t pixels = w->out.size[0] * w->out.size[1], rows = (PIXELS + pixels - 1) / pixels;
    bool dense = shape_size(w->in) % 16 == 0 && shape_size(&w->out) % 16 == 0;
    return !dense ? 1 : rows < PIECE_MOST ? rows : PIECE_MOST;
}

static size_t pieces(const op_work *w)
{
    return (w->rows + piece_rows(w) - 1) / piece_rows(w);
}

static struct piece piece_at(const op_work *w, size_t i)
{
    size_t from = i * piece_rows(w), left = w->rows - from;
    return (struct piece){from, left < piece_rows(w) ? left : piece_rows(w)};
}

static size_t parts(const op_work *w)
{
    size_t n = weights_of(w), most = n > LARGE    ? LARGE_PARTS
                                     : n > MIDDLE ? MIDDLE_PARTS
                                                  : SMALL_PARTS;
    return w->rows < most ? w->rows : most;
}

static struct piece part_at(const op_work *w, size_t i)
{
    size_t n = parts(w), from = w->rows * i / n;
    return (struct piece){from, w->rows * (i + 1) / n - from};
}

static bool is_dense(const op_work *w)
{
    return shape_size(w->in) % 16 == 0 && shape_size(&w->out) % 16 == 0;
}

// Where the CPU cannot multiply bf16 the layer computes in floats.
static bool is_half(const op_work *w)
{
    return w->layer->half && w->dnn->has_half();
}

static const dnn_conv *conv_of(const op_work *w, dnn_way way, size_t rows)
{
    window v = window_of(w->layer, w->in);
    dnn_conv_spec s;
    memset(&s, 0, sizeof s); // it is compared byte by byte
    s.way = way;
    s.rows = rows;
    s.channels = v.channels;
    s.filters = w->layer->units;
    memcpy(s.in, v.in, sizeof s.in);
    memcpy(s.out, v.out, sizeof s.out);
    memcpy(s.size, v.size, sizeof s.size);
    memcpy(s.stride, v.stride, sizeof s.stride);
    memcpy(s.dilation, v.dilation, sizeof s.dilation);
    memcpy(s.before, v.before, sizeof s.before);
    s.bias = !w->layer->no_bias && way != DNN_BACK_DATA;
    s.half = is_half(w);
    s.relu = w->f == ACTIVATION_RELU && way == DNN_FORWARD;
    return w->dnn->conv(&s);
}

bool conv2d_by_dnn(const op_work *w)
{
    return w->dnn && w->layer->units % 16 == 0 && activation_is_of_output(w->f) && is_dense(w) &&
           conv_of(w, DNN_FORWARD, 1) && conv_of(w, DNN_BACK_DATA, 1) &&
           conv_of(w, DNN_BACK_WEIGHTS, 1) && conv_of(w, DNN_FORWARD, piece_rows(w)) &&
           conv_of(w, DNN_BACK_DATA, piece_rows(w)) &&
           conv_of(w, DNN_BACK_WEIGHTS, part_at(w, 0).rows) &&
           conv_of(w, DNN_BACK_WEIGHTS, part_at(w, parts(w) - 1).rows);
}

static size_t floats(size_t bytes)
{
    return op_round((bytes + sizeof(float) - 1) / sizeof(float), 16);
}

static size_t panels(const op_work *w)
{
    return (w->layer->units + PANEL - 1) / PANEL;
}

static size_t panel_width(const op_work *w, size_t panel)
{
    size_t left = w->layer->units - panel * PANEL;
    return left < PANEL ? left : PANEL;
}

static size_t panel_at(const op_work *w, size_t panel)
{
    return w->at[KERNEL] + panel * PANEL * (weights_of(w) / w->layer->units);
}

static size_t most(size_t a, size_t b)
{
    return a > b ? a : b;
}

static size_t packed_floats(const op_work *w, dnn_way way, size_t rows)
{
    return floats(w->dnn->packed_bytes(conv_of(w, way, rows)));
}

static size_t scratch_floats(const op_work *w, dnn_way way, size_t rows)
{
    return floats(w->dnn->scratch_bytes(conv_of(w, way, rows)));
}

// Room for dW of one part, and behind it for db.
static size_t part_floats(const op_work *w)
{
    return packed_floats(w, DNN_BACK_WEIGHTS, 1) + w->layer->units;
}

// The scratch of pieces and parts, and of the shorter ones at the end.
static size_t scratch_of(const op_work *w)
{
    size_t most_of = 0;
    for (size_t i = 0; i<pieces(w); i += pieces(w)> 1 ? pieces(w) - 1 : 1) {
        struct piece p = piece_at(w, i);
        most_of = most(most_of, scratch_floats(w, DNN_FORWARD, p.rows));
        if (w->dx && w->dx[0])
            most_of = most(most_of, scratch_floats(w, DNN_BACK_DATA, p.rows));
    }
    for (size_t i = 0; i < parts(w); i++)
        most_of = most(most_of, scratch_floats(w, DNN_BACK_WEIGHTS, part_at(w, i).rows));
    return most_of;
}

// Floats in whose place so many bf16 fit.
static size_t half_floats(size_t n)
{
    return op_round((n + 1) / 2, 16);
}

// Tells of a call that failed.
static void note(const op_work *w, int status)
{
    if (status < 0)
        atomic_store(w->failed, true);
}

static void pack(const op_work *w, dnn_way way, void *packed, size_t panel)
{
    size_t width = panel_width(w, panel);
    note(w, w->dnn->pack(conv_of(w, way, 1), packed, w->w + panel_at(w, panel), width,
                panel * PANEL, width));
}

void conv2d_dnn_reserve(const op_work *w, op_need *need)
{
    bool back = w->dx && w->dx[0];
    size_t n = 0, panel = weights_of(w) / w->layer->units * PANEL;
    need->forward[0].chunks = panels(w);
    need->forward[1].chunks = pieces(w);
    if (back)
        need->backward[n++].chunks = panels(w);
    need->backward[n++].chunks = pieces(w);
    need->backward[n++].chunks = parts(w);
    need->backward[n].chunks = panels(w);
    need->reads_x = !is_half(w);
    need->kept = is_half(w) ? half_floats(w->rows * w->ldx[0]) : 0;
    need->reads_y = w->f != ACTIVATION_LINEAR;
    need->forward_only = packed_floats(w, DNN_FORWARD, 1);
    need->backward_only = parts(w) * part_floats(w) +
                          (back ? packed_floats(w, DNN_BACK_DATA, 1) : 0) +
                          (is_half(w) ? half_floats(w->rows * w->ldy) : 0);
    need->scratch = most(scratch_of(w) + piece_rows(w) * w->ldx[0], panel);
}

static float *bias_of(const op_work *w)
{
    return w->layer->no_bias ? NULL : w->w + w->at[BIAS];
}

// What products read of these rows: bf16 or floats.
static void *x_at(const op_work *w, struct piece p)
{
    size_t at = p.from * w->ldx[0];
    return is_half(w) ? (void *)((uint16_t *)(void *)w->kept + at) : (void *)(w->x[0] + at);
}

static void *dz_at(const op_work *w, struct piece p)
{
    size_t at = p.from * w->ldy;
    uint16_t *half = (uint16_t *)(void *)(w->backward_only + parts(w) * part_floats(w));
    return is_half(w) ? (void *)(half + at) : (void *)(w->dy + at);
}

static void forward_piece(const op_work *w, struct piece p, float *scratch)
{
    float *y = w->y + p.from * w->ldy;
    void *x = x_at(w, p);
    if (is_half(w))
        w->cpu->halve(x, w->x[0] + p.from * w->ldx[0], p.rows * w->ldx[0]);
    note(w,
        w->dnn->run(conv_of(w, DNN_FORWARD, p.rows), x, w->forward_only, bias_of(w), y, scratch));
    if (w->f != ACTIVATION_RELU)
        op_activate(w, y, NULL, w->ldy, p.rows, shape_size(&w->out));
}

void conv2d_dnn_forward(const op_work *w, size_t pass, size_t chunk, float *scratch)
{
    if (pass == 0)
        pack(w, DNN_FORWARD, w->forward_only, chunk);
    else
        forward_piece(w, piece_at(w, chunk), scratch);
}

static float *packed_back(const op_work *w)
{
    return w->backward_only + parts(w) * part_floats(w) +
           (is_half(w) ? half_floats(w->rows * w->ldy) : 0);
}

static void back_to_input(const op_work *w, struct piece p, float *scratch)
{
    size_t at = p.from * w->ldy;
    op_derive(w, w->dy + at, w->y + at, NULL, w->ldy, p.rows, shape_size(&w->out));
    if (is_half(w))
        w->cpu->halve(dz_at(w, p), w->dy + at, p.rows * w->ldy);
    if (!w->dx[0])
        return;
    float *dx = w->add[0] ? scratch : w->dx[0] + p.from * w->ldx[0];
    note(w, w->dnn->run(conv_of(w, DNN_BACK_DATA, p.rows), dx, packed_back(w), NULL, dz_at(w, p),
                scratch + (w->add[0] ? piece_rows(w) * w->ldx[0] : 0)));
    if (w->add[0])
        op_give(w, 0, scratch, w->ldx[0], p.from, p.from + p.rows);
}

static void train_part(const op_work *w, size_t part, float *scratch)
{
    struct piece p = part_at(w, part);
    float *kernel = w->backward_only + part * part_floats(w);
    float *bias = kernel + packed_floats(w, DNN_BACK_WEIGHTS, 1);
    note(w, w->dnn->run(conv_of(w, DNN_BACK_WEIGHTS, p.rows), x_at(w, p), kernel, bias, dz_at(w, p),
                scratch));
}

// The gradient of one panel: the sum over the parts, in their order.
static void sum_panel(const op_work *w, size_t panel, float *scratch)
{
    size_t width = panel_width(w, panel), n = weights_of(w) / w->layer->units * width;
    float *g = w->g + panel_at(w, panel);
    for (size_t i = 0; i < parts(w); i++) {
        const float *kernel = w->backward_only + i * part_floats(w);
        const float *bias = kernel + packed_floats(w, DNN_BACK_WEIGHTS, 1) + panel * PANEL;
        float *db = w->layer->no_bias ? NULL : w->g + w->at[BIAS] + panel * PANEL;
        note(w, w->dnn->unpack(conv_of(w, DNN_BACK_WEIGHTS, part_at(w, i).rows), i ? scratch : g,
                    kernel, width, panel * PANEL, width));
        for (size_t k = 0; i && k < n; k++)
            g[k] += scratch[k];
        for (size_t c = 0; db && c < width; c++)
            db[c] = (i ? db[c] : 0) + bias[c];
    }
}

void conv2d_dnn_backward(const op_work *w, size_t pass, size_t chunk, float *scratch)
{
    pass += !w->dx[0];
    if (pass == 0)
        pack(w, DNN_BACK_DATA, packed_back(w), chunk);
    else if (pass == 1)
        back_to_input(w, piece_at(w, chunk), scratch);
    else if (pass == 2)
        train_part(w, chunk, scratch);
    else
        sum_panel(w, chunk, scratch);
}
