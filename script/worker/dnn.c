// SPDX-License-Identifier: MIT
// Gives models with convolutions oneDNN, whose plug-in is loaded when the first such model is made.
#include "script/worker/state.h"

#include "trainer/dnn/dnn.h"

#include <stdio.h>

static void tell_missing(const worker *w, const err *e)
{
    if (!w->link || w->place.rank == 0)
        fprintf(stderr, "firesteel-worker: convolutions run by own kernels, which are slower: %s\n",
            e->text);
}

void worker_give_dnn(worker *w, model *m)
{
    err e;
    if (!w->options.dnn || !model_wants_dnn(m))
        return;
    if (!w->dnn && !w->dnn_failed && !(w->dnn = dnn_load(w->options.dnn, &e))) {
        w->dnn_failed = true;
        tell_missing(w, &e);
    }
    model_set_dnn(m, w->dnn);
}
