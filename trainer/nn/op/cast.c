// SPDX-License-Identifier: MIT
// Floats become bf16, or the other way: between a node that can have bf16 and one that cannot
// (nn/fuse.h puts it there). y has what w->half says, x the other; so have dy and dx.
#include "trainer/nn/layer/op.h"

#include <string.h>

static void reserve(const op_work *w, op_need *need)
{
    need->forward[0] = need->backward[0] = op_by_rows(w);
}

static void forward(const op_work *w, size_t pass, size_t chunk, float *scratch)
{
    size_t n = shape_size(&w->out);
    for (size_t r = op_from(w, chunk); r < op_to(w, chunk); r++)
        if (w->half)
            w->cpu->halve(op_at(w, w->y, w->ldy, r), w->x[0] + r * w->ldx[0], n);
        else
            w->cpu->widen(
                w->y + r * w->ldy, (const uint16_t *)(const void *)w->x[0] + r * w->ldx[0], n);
}

static void backward(const op_work *w, size_t pass, size_t chunk, float *scratch)
{
    enum { BLOCK = 1024 };
    float block[BLOCK];
    uint16_t halves[BLOCK];
    size_t n = shape_size(&w->out);
    for (size_t r = op_from(w, chunk); w->dx[0] && r < op_to(w, chunk); r++)
        for (size_t i = 0; i < n; i += BLOCK) {
            size_t count = n - i < BLOCK ? n - i : BLOCK, at = r * w->ldx[0] + i;
            const void *from = w->half ? (const void *)block : (const void *)halves;
            if (w->half)
                w->cpu->widen(block, (uint16_t *)op_at(w, w->dy, w->ldy, r) + i, count);
            else
                w->cpu->halve(halves, w->dy + r * w->ldy + i, count);
            void *to =
                w->half ? (void *)(w->dx[0] + at) : (void *)((uint16_t *)(void *)w->dx[0] + at);
            if (w->add[0])
                w->cpu->channels[!w->half]->add_up(to, from, count);
            else
                memcpy(to, from, count * (w->half ? sizeof *block : sizeof *halves));
        }
}

const op op_cast = {
    .kind = LAYER_KIND_COUNT,
    .least = 1,
    .most = 1,
    .reserve = reserve,
    .forward = forward,
    .backward = backward,
};
