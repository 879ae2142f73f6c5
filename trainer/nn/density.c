// SPDX-License-Identifier: MIT
#include "trainer/nn/density.h"

#include "base/clock.h"
#include "base/mem.h"
#include "trainer/tensor/memory.h"

#include <string.h>

enum { ROWS = TILE, INPUTS = 256, TRIES = 5, PANELS_MOST = 8 };

// One batch, and room for what is computed of it.
struct bench {
    const density_probe *probe;
    void *data, *turned;
    const void *row[ROWS];
    float value[256], *x, *y, *d, *w;
    uint8_t seen[INPUTS];
    update rule;
};

// Time of this thread alone: on a busy machine others run in between.
static double now(void)
{
    return (double)clock_thread() / CLOCK_SEC;
}

// Numbers other than 0 at random places, as many as the share says.
static void fill(struct bench *b, double share)
{
    uint32_t state = 1;
    for (size_t i = 0; i < (size_t)ROWS * INPUTS; i++) {
        state = state * 1664525 + 1013904223;
        bool zero = (double)(state >> 8) >= share * (1 << 24);
        if (b->probe->bytes)
            ((uint8_t *)b->data)[i] = zero ? 0 : 200;
        else
            ((float *)b->data)[i] = zero ? 0 : 0.5f;
    }
}

static gradient gradient_of(struct bench *b)
{
    return (gradient){.to = {.w = b->w},
        .x = b->x,
        .d = b->d,
        .ldx = INPUTS,
        .ldd = PANEL,
        .rows = ROWS,
        .inputs = INPUTS,
        .width = b->probe->width,
        .rule = &b->rule,
        .seen = b->seen};
}

static product product_of(struct bench *b)
{
    static const float bias[PANEL] __attribute__((aligned(64)));
    return (product){.y = b->y,
        .x = b->x,
        .w = b->w,
        .bias = bias,
        .ldy = PANEL,
        .ldx = INPUTS,
        .rows = ROWS,
        .inputs = INPUTS,
        .width = b->probe->width};
}

static void run_dense(struct bench *b)
{
    const cpu_ops *cpu = b->probe->cpu;
    product p = product_of(b);
    gradient g = gradient_of(b);
    for (size_t r = 0; r < ROWS; r++)
        if (b->probe->bytes)
            cpu->expand(b->x + r * INPUTS, b->row[r], INPUTS, 1 / 255.0f);
        else
            memcpy(b->x + r * INPUTS, b->row[r], INPUTS * sizeof *b->x);
    for (size_t i = 0; i < b->probe->panels; i++) {
        cpu->multiply(&p);
        cpu->train(&g);
    }
}

static void run_sparse(struct bench *b)
{
    const cpu_ops *cpu = b->probe->cpu;
    product p[] = {product_of(b), product_of(b)};
    gradient g[] = {gradient_of(b), gradient_of(b)};
    sparse_rows x = {.row = b->row,
        .value = b->value,
        .bytes = b->probe->bytes,
        .inputs = INPUTS,
        .turned = b->turned};
    if (b->probe->bytes)
        cpu->turn_u8(b->turned, (const uint8_t *const *)b->row, ROWS, INPUTS);
    else
        turn_f32(b->turned, (const float *const *)b->row, ROWS, INPUTS);
    for (size_t i = 0, n; i < b->probe->panels; i += n) {
        n = i + 1 < b->probe->panels ? 2 : 1;
        cpu->multiply_sparse(p, n, &x);
        cpu->train_sparse(g, n, &x);
    }
}

static void time_of(struct bench *b, void (*run)(struct bench *), double *least)
{
    double began = now();
    run(b);
    double took = now() - began;
    *least = took < *least ? took : *least;
}

double density_meet(double dense, double few, double many)
{
    if (!(dense > 0 && few > 0 && many > 0)) // a clock of coarse steps
        return DENSITY_USUAL;
    if (many <= few)
        return dense < few ? 0 : 1;
    double meet = DENSITY_FEW + (DENSITY_MANY - DENSITY_FEW) * (dense - few) / (many - few);
    return meet < 0 ? 0 : meet > 1 ? 1 : meet;
}

// The least of several times, taken in turn, is the one nobody disturbed.
static double measure(struct bench *b)
{
    double dense = 1e9, few = 1e9, many = 1e9;
    for (int i = 0; i < TRIES; i++) {
        fill(b, DENSITY_FEW);
        time_of(b, run_dense, &dense);
        time_of(b, run_sparse, &few);
        fill(b, DENSITY_MANY);
        time_of(b, run_sparse, &many);
    }
    return density_meet(dense, few, many);
}

double density_break_even(const density_probe *probe)
{
    density_probe own = *probe;
    own.panels = own.panels < PANELS_MOST ? own.panels : PANELS_MOST;
    struct bench b = {.probe = &own, .rule = {.rule = UPDATE_SGD}};
    size_t each = own.bytes ? 1 : sizeof(float);
    AUTO_FREE void *data = memory_array((size_t)ROWS * INPUTS, each);
    AUTO_FREE void *turned = memory_array((size_t)ROWS * INPUTS, each);
    AUTO_FREE float *numbers =
        memory_array((size_t)ROWS * INPUTS + 2 * ROWS * PANEL + INPUTS * PANEL, sizeof(float));
    if (!data || !turned || !numbers)
        return DENSITY_USUAL;
    b.data = data;
    b.turned = turned;
    b.x = numbers;
    b.y = b.x + (size_t)ROWS * INPUTS;
    b.d = b.y + (size_t)ROWS * PANEL;
    b.w = b.d + (size_t)ROWS * PANEL;
    memset(b.seen, 1, sizeof b.seen);
    for (size_t r = 0; r < ROWS; r++)
        b.row[r] = (char *)data + r * INPUTS * each;
    for (size_t i = 0; i < 256; i++)
        b.value[i] = (float)i / 255;
    for (size_t i = 0; i < (size_t)ROWS * PANEL; i++)
        b.d[i] = 0.01f;
    return measure(&b);
}
