// SPDX-License-Identifier: MIT
// The passes of a convolution by oneDNN. Weights lie in panels of 64 filters, as own kernels take
// them, with groups all filters side by side; oneDNN has orders of its own.
//
//   forward   panels → packed │ y = f(x·W + b), by pieces of rows
//   backward  panels → packed │ dz = dy·f'(z) in place, then dx, by pieces of rows
//                             │ dW and db of each part of the rows │ their sums, panel by panel
//
// Where pictures are bf16 (w->half), W is rounded as it is packed. Sums, and the gradients of
// weights, are floats.
//
// A BatchNormalization behind it goes into the weights as they are packed, and into the bias; what
// is added is where oneDNN adds to it, in y.
//
// Pieces and parts are cut by shapes alone, so any number of threads gives the same bits.
#include "trainer/nn/op/conv2d_dnn.h"

#include "trainer/dnn/dnn.h"
#include "trainer/nn/op/conv2d_weights.h"
#include "trainer/nn/op/normalization.h"
#include "trainer/nn/op/window.h"

#include <math.h>
#include <string.h>

enum {
    KERNEL,
    BIAS,
    PIXELS = 392, // of a piece at least: a product of fewer lines leaves a kernel's registers idle
    PIECE_MOST = 4,
    POINTS_MOST = 32, // of pictures of one pixel
    LARGE = 1 << 20,  // weights whose partial sums do not fit in a cache: few parts
    MIDDLE = 1 << 18,
    LARGE_PARTS = 2,
    MIDDLE_PARTS = 4,
    SMALL_PARTS = 8,
    PART_PIXELS = 1024, // of a part at least, where there are two: its sums are written once more
};

struct piece {
    size_t from, rows;
};

static size_t groups(const op_work *w)
{
    size_t told = conv2d_own(w)->groups;
    return w->layer->kind == LAYER_DEPTHWISE_CONV2D ? w->in->size[2] : told > 1 ? told : 1;
}

static size_t filters(const op_work *w)
{
    return op_last(&w->out);
}

// Numbers that each filter has.
static size_t lines(const op_work *w)
{
    return conv2d_own(w)->window[0] * conv2d_own(w)->window[1] * w->in->size[2] / groups(w);
}

static size_t weights_of(const op_work *w)
{
    return lines(w) * filters(w);
}

// Rows of a piece. Where rows have gaps between them, a piece is one row.
static size_t piece_rows(const op_work *w)
{
    size_t pixels = w->out.size[0] * w->out.size[1], rows = (PIXELS + pixels - 1) / pixels;
    bool dense = shape_size(w->in) % 16 == 0 && shape_size(&w->out) % 16 == 0;
    size_t most = pixels > 1 ? PIECE_MOST : POINTS_MOST;
    return !dense ? 1 : rows < most ? rows : most;
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
    size_t worth = w->rows * w->out.size[0] * w->out.size[1] / PART_PIXELS;
    worth = worth < LARGE_PARTS ? LARGE_PARTS : worth < most ? worth : most;
    return w->rows < worth ? w->rows : worth;
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

// With a stride a window of one pixel passes over most of the picture: what it sees is copied
// together, and is a picture without a stride. oneDNN's own strides are many times slower back.
static bool is_thin(const op_work *w)
{
    const window_layer *l = conv2d_own(w);
    return l->window[0] == 1 && l->window[1] == 1 && (l->stride[0] > 1 || l->stride[1] > 1);
}

static size_t thin_row(const op_work *w)
{
    return w->out.size[0] * w->out.size[1] * w->in->size[2];
}

static const dnn_conv *conv_of(const op_work *w, dnn_way way, size_t rows)
{
    window v = window_of(w->layer, w->in);
    dnn_conv_spec s;
    memset(&s, 0, sizeof s); // it is compared byte by byte
    s.way = way;
    s.rows = rows;
    s.channels = v.channels;
    s.filters = filters(w);
    s.groups = groups(w);
    memcpy(s.in, v.in, sizeof s.in);
    memcpy(s.out, v.out, sizeof s.out);
    memcpy(s.size, v.size, sizeof s.size);
    memcpy(s.stride, v.stride, sizeof s.stride);
    memcpy(s.dilation, v.dilation, sizeof s.dilation);
    memcpy(s.before, v.before, sizeof s.before);
    if (is_thin(w)) {
        memcpy(s.in, v.out, sizeof s.in);
        s.stride[0] = s.stride[1] = 1;
    }
    s.bias = (!conv2d_own(w)->no_bias || w->norm) && way != DNN_BACK_DATA;
    s.half = w->half;
    s.widened = w->half && w->dnn->widens();
    if (way == DNN_FORWARD) {
        s.sum = w->inputs > 1;
        s.clip = w->clip || w->f == ACTIVATION_RELU;
        s.most = w->clip ? w->most : s.clip ? INFINITY : 0;
    }
    return w->dnn->conv(&s);
}

bool conv2d_by_dnn(const op_work *w)
{
    return w->dnn && filters(w) % 16 == 0 && activation_is_of_output(w->f) && is_dense(w) &&
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

// Filters of a panel: with groups all of them are one.
static size_t panel_most(const op_work *w)
{
    return groups(w) > 1 ? filters(w) : PANEL;
}

static size_t panels(const op_work *w)
{
    return (filters(w) + panel_most(w) - 1) / panel_most(w);
}

static size_t panel_width(const op_work *w, size_t panel)
{
    size_t left = filters(w) - panel * panel_most(w);
    return left < panel_most(w) ? left : panel_most(w);
}

static size_t panel_at(const op_work *w, size_t panel)
{
    return w->at[KERNEL] + panel * panel_most(w) * lines(w);
}

static size_t most(size_t a, size_t b)
{
    return a > b ? a : b;
}

// Of so many rows, how many oneDNN takes at once: the last piece of a batch, and the parts of a
// batch that is smaller than the one for which it was chosen, may be of a size without a kernel.
static size_t at_once(const op_work *w, dnn_way way, size_t rows)
{
    return conv_of(w, way, rows) ? rows : 1;
}

static size_t packed_floats(const op_work *w, dnn_way way, size_t rows)
{
    return floats(w->dnn->packed_bytes(conv_of(w, way, rows)));
}

static size_t scratch_floats(const op_work *w, dnn_way way, size_t rows)
{
    return floats(w->dnn->scratch_bytes(conv_of(w, way, at_once(w, way, rows))));
}

// At the beginning of scratch: what a window of one pixel sees of a piece or a part.
static size_t thin_floats(const op_work *w)
{
    size_t rows = most(piece_rows(w), part_at(w, parts(w) - 1).rows);
    return is_thin(w) ? op_round(rows * thin_row(w), 16) : 0;
}

// Room for dW of one part: as it stays, or as oneDNN packs it.
static size_t kernel_floats(const op_work *w)
{
    return conv2d_weights_own(w) ? weights_of(w) : packed_floats(w, DNN_BACK_WEIGHTS, 1);
}

// And behind it for db.
static size_t part_floats(const op_work *w)
{
    return kernel_floats(w) + filters(w);
}

// Of all parts, which come as one: one of the two is computed in vain where only the other trains.
static size_t sums_floats(const op_work *w)
{
    return conv2d_trains(w) ? parts(w) * part_floats(w) : 0;
}

// The gradients of one row of a part whose rows go one by one.
static size_t row_floats(const op_work *w, size_t rows)
{
    return at_once(w, DNN_BACK_WEIGHTS, rows) < rows ? part_floats(w) : 0;
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
    if (conv2d_weights_own(w))
        return conv2d_trains(w) ? most(most_of, conv2d_weights_scratch(w)) : most_of;
    for (size_t i = 0; conv2d_trains(w) && i < parts(w); i++) {
        size_t rows = part_at(w, i).rows;
        most_of = most(most_of, scratch_floats(w, DNN_BACK_WEIGHTS, rows) + row_floats(w, rows));
    }
    return most_of;
}

// Tells of a call that failed.
static void note(const op_work *w, int status)
{
    if (status < 0)
        atomic_store(w->failed, true);
}

// The bias of a layer with a normalisation, behind the packed weights.
static float *folded_bias(const op_work *w)
{
    return w->forward_only + packed_floats(w, DNN_FORWARD, 1);
}

// A panel whose columns are scaled as the normalisation says; sets its part of the bias.
static const float *fold(const op_work *w, size_t panel, float *scratch)
{
    size_t width = panel_width(w, panel), first = panel * panel_most(w), n = lines(w);
    const float *from = w->w + panel_at(w, panel);
    const float *own = conv2d_own(w)->no_bias ? NULL : w->w + w->at[BIAS] + first;
    float *scale = scratch + n * width, *bias = folded_bias(w) + first;
    norm_fold(w, first, width, scale, bias);
    for (size_t c = 0; own && c < width; c++)
        bias[c] += own[c] * scale[c];
    for (size_t k = 0; k < n; k++)
        for (size_t c = 0; c < width; c++)
            scratch[k * width + c] = from[k * width + c] * scale[c];
    return scratch;
}

static void pack(const op_work *w, dnn_way way, void *packed, size_t panel, float *scratch)
{
    size_t width = panel_width(w, panel);
    const float *from = w->norm ? fold(w, panel, scratch) : w->w + panel_at(w, panel);
    note(w, w->dnn->pack(conv_of(w, way, 1), packed, from, width, panel * panel_most(w), width));
}

void conv2d_dnn_reserve(const op_work *w, op_need *need)
{
    bool back = w->dx && w->dx[0];
    size_t n = 0, panel = (lines(w) + 1) * panel_most(w);
    need->forward[0].chunks = panels(w);
    need->forward[1].chunks = pieces(w);
    if (back)
        need->backward[n++].chunks = panels(w);
    need->backward[n++].chunks = pieces(w);
    need->backward[n++].chunks = conv2d_trains(w) ? parts(w) : 0;
    need->backward[n].chunks = conv2d_trains(w) ? panels(w) : 0;
    need->reads_x = conv2d_trains(w);
    need->reads_y = w->f != ACTIVATION_LINEAR;
    need->packs = true;
    need->forward_only = packed_floats(w, DNN_FORWARD, 1) + (w->norm ? filters(w) : 0);
    need->backward_only = sums_floats(w) + (back ? packed_floats(w, DNN_BACK_DATA, 1) : 0);
    need->scratch = most(scratch_of(w) + thin_floats(w) + piece_rows(w) * w->ldx[0], panel);
}

// What the convolution reads of the rows; from scratch on where it must be copied together.
static void *x_of(const op_work *w, struct piece p, float *scratch)
{
    window v = window_of(w->layer, w->in);
    char *to = (char *)scratch;
    size_t pixel = op_bytes(w, v.channels);
    if (!is_thin(w))
        return op_at(w, w->x[0], w->ldx[0], p.from);
    for (size_t r = p.from; r < p.from + p.rows; r++) {
        const char *x = op_at(w, w->x[0], w->ldx[0], r);
        for (size_t i = 0; i < v.out[0] * v.out[1]; i++, to += pixel)
            memcpy(to, x + op_bytes(w, window_at(&v, i / v.out[1], i % v.out[1], 0, 0)), pixel);
    }
    return scratch;
}

// And its way back: what no window saw gets nothing.
static void give_thin(const op_work *w, struct piece p, const float *dx)
{
    window v = window_of(w->layer, w->in);
    const char *from = (const char *)dx;
    size_t pixel = op_bytes(w, v.channels);
    for (size_t r = p.from; r < p.from + p.rows; r++) {
        char *x = op_at(w, w->dx[0], w->ldx[0], r);
        if (!w->add[0])
            memset(x, 0, op_bytes(w, shape_size(w->in)));
        for (size_t i = 0; i < v.out[0] * v.out[1]; i++, from += pixel) {
            char *to = x + op_bytes(w, window_at(&v, i / v.out[1], i % v.out[1], 0, 0));
            if (w->add[0])
                op_channels(w)->add_up(to, from, v.channels);
            else
                memcpy(to, from, pixel);
        }
    }
}

static float *bias_of(const op_work *w)
{
    return w->norm ? folded_bias(w) : conv2d_own(w)->no_bias ? NULL : w->w + w->at[BIAS];
}

static void forward_rows(const op_work *w, struct piece p, float *scratch)
{
    void *y = op_at(w, w->y, w->ldy, p.from);
    if (w->inputs > 1)
        memcpy(y, op_at(w, w->x[1], w->ldx[1], p.from), op_bytes(w, p.rows * w->ldy));
    note(w, w->dnn->run(conv_of(w, DNN_FORWARD, p.rows), x_of(w, p, scratch), w->forward_only,
                bias_of(w), y, scratch + thin_floats(w)));
    if (w->f != ACTIVATION_RELU)
        op_activate(w, y, NULL, w->ldy, p.rows, shape_size(&w->out));
}

static void forward_piece(const op_work *w, struct piece p, float *scratch)
{
    size_t n = at_once(w, DNN_FORWARD, p.rows);
    for (size_t i = 0; i < p.rows; i += n)
        forward_rows(w, (struct piece){p.from + i, n}, scratch);
}

void conv2d_dnn_forward(const op_work *w, size_t pass, size_t chunk, float *scratch)
{
    if (pass == 0)
        pack(w, DNN_FORWARD, w->forward_only, chunk, scratch);
    else
        forward_piece(w, piece_at(w, chunk), scratch);
}

static float *packed_back(const op_work *w)
{
    return w->backward_only + sums_floats(w);
}

static void rows_to_input(const op_work *w, struct piece p, float *scratch)
{
    float *dz = op_at(w, w->dy, w->ldy, p.from);
    bool apart = w->add[0] || is_thin(w);
    void *dx = apart ? scratch : op_at(w, w->dx[0], w->ldx[0], p.from);
    note(w, w->dnn->run(conv_of(w, DNN_BACK_DATA, p.rows), dx, packed_back(w), NULL, dz,
                scratch + (apart ? piece_rows(w) * w->ldx[0] : 0)));
    if (is_thin(w))
        give_thin(w, p, scratch);
    else if (w->add[0])
        op_give(w, 0, scratch, w->ldx[0], p.from, p.from + p.rows);
}

static void back_to_input(const op_work *w, struct piece p, float *scratch)
{
    size_t n = at_once(w, DNN_BACK_DATA, p.rows);
    op_derive(w, op_at(w, w->dy, w->ldy, p.from), op_at(w, w->y, w->ldy, p.from), NULL, w->ldy,
        p.rows, shape_size(&w->out));
    for (size_t i = 0; w->dx[0] && i < p.rows; i += n)
        rows_to_input(w, (struct piece){p.from + i, n}, scratch);
}

// dW and db of these rows.
static void train_rows(const op_work *w, struct piece p, float *kernel, float *scratch)
{
    float *bias = kernel + kernel_floats(w);
    note(w, w->dnn->run(conv_of(w, DNN_BACK_WEIGHTS, p.rows), x_of(w, p, scratch), kernel, bias,
                op_at(w, w->dy, w->ldy, p.from), scratch + thin_floats(w)));
}

static void train_part(const op_work *w, size_t part, float *scratch)
{
    struct piece p = part_at(w, part);
    size_t numbers = part_floats(w);
    float *sum = w->backward_only + part * numbers, *room = scratch + row_floats(w, p.rows);
    if (conv2d_weights_own(w)) {
        conv2d_weights_train(w, p.from, p.rows, sum, sum + kernel_floats(w), scratch);
        return;
    }
    size_t n = at_once(w, DNN_BACK_WEIGHTS, p.rows);
    train_rows(w, (struct piece){p.from, n}, sum, room);
    for (size_t i = n; i < p.rows; i += n) {
        train_rows(w, (struct piece){p.from + i, n}, scratch, room);
        for (size_t k = 0; k < numbers; k++)
            sum[k] += scratch[k];
    }
}

// dW of one panel from one part, to `to`; where it lies as the weights do, it is there already.
static const float *panel_of_part(const op_work *w, size_t part, size_t panel, float *to)
{
    const float *kernel = w->backward_only + part * part_floats(w);
    size_t rows = part_at(w, part).rows, width = panel_width(w, panel);
    if (conv2d_weights_own(w))
        return kernel + panel_at(w, panel) - w->at[KERNEL];
    rows = at_once(w, DNN_BACK_WEIGHTS, rows);
    note(w, w->dnn->unpack(conv_of(w, DNN_BACK_WEIGHTS, rows), to, kernel, width,
                panel * panel_most(w), width));
    return to;
}

// The gradient of one panel: the sum over the parts, in their order.
static void sum_panel(const op_work *w, size_t panel, float *scratch)
{
    size_t width = panel_width(w, panel), n = lines(w) * width, first = panel * panel_most(w);
    float *g = w->g + panel_at(w, panel);
    for (size_t i = 0; i < parts(w); i++) {
        const float *bias = w->backward_only + i * part_floats(w) + kernel_floats(w) + first;
        float *db = conv2d_own(w)->no_bias ? NULL : w->g + w->at[BIAS] + first;
        const float *kernel = panel_of_part(w, i, panel, i ? scratch : g);
        if (!i && kernel != g)
            memcpy(g, kernel, n * sizeof *g);
        for (size_t k = 0; i && k < n; k++)
            g[k] += kernel[k];
        for (size_t c = 0; db && c < width; c++)
            db[c] = (i ? db[c] : 0) + bias[c];
    }
}

void conv2d_dnn_backward(const op_work *w, size_t pass, size_t chunk, float *scratch)
{
    pass += !w->dx[0];
    if (pass == 0)
        pack(w, DNN_BACK_DATA, packed_back(w), chunk, scratch);
    else if (pass == 1)
        back_to_input(w, piece_at(w, chunk), scratch);
    else if (pass == 2)
        train_part(w, chunk, scratch);
    else
        sum_panel(w, chunk, scratch);
}
