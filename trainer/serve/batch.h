// SPDX-License-Identifier: MIT
// Predictions take turns, and waiting ones of one model are predicted as one batch: what arrives
// during a prediction is the next batch. A thread of its own predicts; any thread may add jobs. The
// owner frees it when no jobs are left.
//   thread ─┐                                     ┌─> done
//   thread ─┼─> queue ─> batch ─> its own thread ─┼─> done
//   thread ─┘                                     └─> done
#pragma once
#include "trainer/serve/counts.h"
#include "trainer/serve/infer.h"

struct batch_options {
    size_t rows;        // the most rows of a batch, unless one request has more; 1: no batching
    int64_t latency_ns; // how long the first job waits for others; 0: not at all
    counts *counts;     // borrowed
};

struct batch_job {
    size_t number; // of the model, for the counts
    model *m;
    infer_request *q; // predicted, perhaps with others; NULL: only calls `run`, alone
    int (*run)(struct batch_job *j, const atomic_bool *stop, err *e);
    void (*done)(struct batch_job *j); // on the thread that predicts
    // The job's result. If stopped: ERR_CANCELLED.
    int status;
    err e;
    struct batch_job *next; // the batcher's
};

typedef struct batcher batcher;
batcher *batch_new(const struct batch_options *o, err *e);
void batch_free(batcher *b); // NULL is fine
void batch_add(batcher *b, struct batch_job *j);
// From now on jobs end at once with ERR_CANCELLED, and so does the prediction in progress.
void batch_stop(batcher *b);
const atomic_bool *batch_stopped(const batcher *b);
