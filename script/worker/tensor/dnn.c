// SPDX-License-Identifier: MIT
// Gives models with convolutions oneDNN, whose plug-in is loaded when the first such model is made.
#include "script/worker/core/state.h"

#include "trainer/dnn/dnn.h"

#include <stdio.h>

void dnn_tell_missing(const err *e)
{
    fprintf(stderr, "firesteel-worker: convolutions run by own kernels, which are slower: %s\n",
        e->text);
}

static bool has_half(const worker *w)
{
    return w->dnn && w->dnn->has_half();
}

const char *worker_half(const worker *w)
{
    return !w->half           ? NULL
           : !has_half(w)     ? "mixed_bfloat16 in float32"
           : w->dnn->widens() ? "bf16 multiplied as float32"
                              : "bf16 multiplied as bf16";
}

// mixed_bfloat16 is a wish: where it cannot be, the model trains in float32.
static void tell_no_half(worker *w, const model *m)
{
    bool wants = false;
    for (size_t i = 0; i < model_layer_count(m); i++)
        wants |= model_layer(m, i)->half;
    w->half |= wants;
    if (!wants || w->half_reported || has_half(w))
        return;
    w->half_reported = true;
    if (!w->link || w->place.rank == 0)
        fprintf(stderr, "firesteel-worker: mixed_bfloat16 layers compute in float32: %s\n",
            w->dnn ? "this CPU has no bf16 (AVX512_BF16 or AMX)" : "bf16 needs oneDNN");
}

void worker_give_dnn(worker *w, model *m)
{
    err e;
    if (model_wants_dnn(m) && w->options.dnn && !w->dnn && !w->dnn_failed &&
        !(w->dnn = dnn_load(w->options.dnn, &e))) {
        w->dnn_failed = true;
        if (!w->link || w->place.rank == 0)
            dnn_tell_missing(&e);
    }
    tell_no_half(w, m);
    if (model_wants_dnn(m))
        model_set_dnn(m, w->dnn);
}
