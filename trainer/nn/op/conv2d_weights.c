// SPDX-License-Identifier: MIT
// dW = Σ over pixels of patchᵀ·dz, block by block, whose numbers are copied side by side: the power
// of two that lies between two pixels would let them push each other out of the cache.
//
//                 48 lines of the patches          all filters, in panels of 64
//    96 pixels    X  [pixel][48]                   D  [panel][pixel][64]
//
//    for each block of pixels:  dz → D;  for each 48 lines: picture → X;  dW[line][panel] += Xᵀ·D
//
// X and one panel of D stay in the L1 cache. Where pictures are bf16 they are widened as they are
// copied.
#include "trainer/nn/op/conv2d_weights.h"

#include "trainer/dnn/dnn.h"
#include "trainer/nn/op/conv2d_dnn.h"
#include "trainer/nn/op/window.h"

#include <string.h>

enum { PIXELS = 96, LINES = 48 };

// A block of output pixels, and where they begin in the pictures.
struct block {
    const op_work *w;
    window v;
    size_t n;
    bool inside; // no window has a tap in the padding
    const char *dz[PIXELS], *x[PIXELS];
    size_t row[PIXELS], column[PIXELS]; // of the window's corner; beyond the sizes: in the padding
    float *lines, *filters;             // X, D
};

static size_t filters_of(const op_work *w)
{
    return op_last(&w->out);
}

static size_t panels(const op_work *w)
{
    return (filters_of(w) + PANEL - 1) / PANEL;
}

static size_t width_of(const op_work *w, size_t panel)
{
    size_t left = filters_of(w) - panel * PANEL;
    return left < PANEL ? left : PANEL;
}

static size_t lines_of(const window *v)
{
    return v->size[0] * v->size[1] * v->channels;
}

// oneDNN is as quick for long sums of windows that lie beside each other, and quicker where many
// channels become few filters: there the copies of X cost more than they save.
static bool is_slow_by_dnn(const op_work *w)
{
    const window_layer *l = conv2d_own(w);
    size_t channels = op_last(w->in);
    if (l->window[0] == 1 && l->window[1] == 1)
        return filters_of(w) >= 256 || channels <= 64;
    return l->stride[0] > 1 || l->stride[1] > 1 || channels <= 64;
}

bool conv2d_weights_own(const op_work *w)
{
    return w->layer->kind != LAYER_DEPTHWISE_CONV2D && conv2d_own(w)->groups < 2 &&
           op_last(w->in) % 16 == 0 && (!w->half || w->dnn->widens()) && is_slow_by_dnn(w);
}

size_t conv2d_weights_scratch(const op_work *w)
{
    return PIXELS * (LINES + panels(w) * PANEL);
}

static bool never_in_padding(const window *v)
{
    for (int i = 0; i < 2; i++)
        if (v->before[i] ||
            (v->out[i] - 1) * v->stride[i] + (v->size[i] - 1) * v->dilation[i] >= v->in[i])
            return false;
    return true;
}

// Pixels from p on; they are counted over all rows.
static void find_pixels(struct block *b, size_t p)
{
    const op_work *w = b->w;
    const window *v = &b->v;
    size_t pixels = v->out[0] * v->out[1], filters = filters_of(w);
    size_t r = p / pixels, y = p % pixels / v->out[1], x = p % v->out[1];
    for (size_t i = 0; i < b->n; i++) {
        b->row[i] = y * v->stride[0] - v->before[0];
        b->column[i] = x * v->stride[1] - v->before[1];
        b->x[i] = op_at(w, w->x[0], w->ldx[0], r);
        b->dz[i] =
            (const char *)op_at(w, w->dy, w->ldy, r) + op_bytes(w, (y * v->out[1] + x) * filters);
        if (b->inside)
            b->x[i] += op_bytes(w, (b->row[i] * v->in[1] + b->column[i]) * v->channels);
        if (++x < v->out[1])
            continue;
        x = 0;
        if (++y < v->out[0])
            continue;
        y = 0;
        r++;
    }
}

// Channels [c, c + n) of tap (i, j) of all pixels, to X's lines from `to` on.
static void take_tap(struct block *b, size_t i, size_t j, size_t c, size_t n, float *to)
{
    const op_work *w = b->w;
    const window *v = &b->v;
    const void *at[PIXELS];
    i *= v->dilation[0], j *= v->dilation[1];
    for (size_t p = 0; p < b->n && b->inside; p++)
        at[p] = b->x[p] + op_bytes(w, (i * v->in[1] + j) * v->channels + c);
    for (size_t p = 0; p < b->n && !b->inside; p++) {
        size_t row = b->row[p] + i, column = b->column[p] + j;
        at[p] = row < v->in[0] && column < v->in[1]
                    ? b->x[p] + op_bytes(w, (row * v->in[1] + column) * v->channels + c)
                    : NULL;
    }
    w->cpu->copy_lines(to, LINES, at, b->n, n, w->half);
}

// Lines [from, from + n) of the patches.
static void take_lines(struct block *b, size_t from, size_t n)
{
    size_t channels = b->v.channels;
    for (size_t k = 0, run; k < n; k += run) {
        size_t tap = (from + k) / channels, c = (from + k) % channels;
        run = channels - c < n - k ? channels - c : n - k;
        take_tap(b, tap / b->v.size[1], tap % b->v.size[1], c, run, b->lines + k);
    }
}

static const update add_up = {.rule = UPDATE_ADD};

static void take_filters(struct block *b, float *bias)
{
    const op_work *w = b->w;
    for (size_t f = 0; f < panels(w); f++) {
        const void *at[PIXELS];
        float *to = b->filters + f * PIXELS * PANEL;
        size_t width = width_of(w, f);
        for (size_t p = 0; p < b->n; p++)
            at[p] = b->dz[p] + op_bytes(w, f * PANEL);
        w->cpu->copy_lines(to, width, at, b->n, width, w->half);
        w->cpu->train_bias(&add_up, (params){.g = bias + f * PANEL}, to, width, b->n, width);
    }
}

static void train_block(struct block *b, float *kernel)
{
    const op_work *w = b->w;
    size_t all = lines_of(&b->v);
    for (size_t k = 0; k < all; k += LINES) {
        size_t n = all - k < LINES ? all - k : LINES;
        take_lines(b, k, n);
        for (size_t f = 0; f < panels(w); f++)
            w->cpu->train(&(gradient){.to = {.g = kernel + f * PANEL * all + k * width_of(w, f)},
                .x = b->lines,
                .ldx = LINES,
                .d = b->filters + f * PIXELS * PANEL,
                .ldd = width_of(w, f),
                .rows = b->n,
                .inputs = n,
                .width = width_of(w, f),
                .rule = &add_up});
    }
}

void conv2d_weights_train(
    const op_work *w, size_t from, size_t rows, float *kernel, float *bias, float *scratch)
{
    struct block b = {.w = w, .v = window_of(w->layer, w->in)};
    size_t pixels = b.v.out[0] * b.v.out[1], end = (from + rows) * pixels;
    b.inside = never_in_padding(&b.v);
    b.lines = scratch;
    b.filters = scratch + PIXELS * LINES;
    memset(kernel, 0, lines_of(&b.v) * filters_of(w) * sizeof *kernel);
    memset(bias, 0, filters_of(w) * sizeof *bias);
    for (size_t p = from * pixels; p < end; p += PIXELS) {
        b.n = end - p < PIXELS ? end - p : PIXELS;
        find_pixels(&b, p);
        take_filters(&b, bias);
        train_block(&b, kernel);
    }
}
