// SPDX-License-Identifier: MIT
// Predictions take turns, and those of one model that wait together are predicted as one: what
// comes while a prediction goes on is the next batch. A thread of its own predicts; any thread may
// add jobs. Its maker frees it when none is left.
//
//   thread ─┐                                     ┌─> done
//   thread ─┼─> queue ─> batch ─> its own thread ─┼─> done
//   thread ─┘                                     └─> done
#pragma once
#include "trainer/serve/counts.h"
#include "trainer/serve/infer.h"

struct batch_options {
    size_t rows; // the most of a batch, unless one request has more; 1: none are put together
    int64_t latency_ns; // so long the first one waits for others; 0: not at all
    counts *counts;     // borrowed
};

struct batch_job {
    size_t number; // of the model, for the counts
    model *m;
    infer_request *q; // is predicted, perhaps with others; NULL: `run` has a turn alone
    int (*run)(struct batch_job *j, const atomic_bool *stop, err *e);
    void (*done)(struct batch_job *j); // on the thread that predicts
    // What became of it. Stopped: ERR_CANCELLED.
    int status;
    err e;
    struct batch_job *next; // the batcher's
};

typedef struct batcher batcher;
batcher *batch_new(const struct batch_options *o, err *e);
void batch_free(batcher *b); // NULL is fine
void batch_add(batcher *b, struct batch_job *j);
// From now on jobs are done at once with ERR_CANCELLED, and the prediction that goes on ends.
void batch_stop(batcher *b);
const atomic_bool *batch_stopped(const batcher *b);
